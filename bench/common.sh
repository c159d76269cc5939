# shellcheck shell=sh
# What the questions share: headings, medians, why a tool failed, and the table of a load with and
# without each tool. Sourced by run, which sets build, memwhy, measure, loads, rounds and tmp.

# BCC compiles against kernel headers. Where those of the running kernel are missing it gets those
# of another one (Debian splits them in two; BCC wants one tree): tracepoint tools work with them.
bcc_headers() {
	bcc_from="the running kernel's headers"
	[ -d "/lib/modules/$(uname -r)/build" ] || [ -e /sys/kernel/kheaders.tar.xz ] && return
	set -- /usr/src/linux-headers-*-common
	bcc_from='no kernel headers (apt-get install linux-headers-amd64 gives it some)'
	[ -d "$1" ] || return
	common=$1
	set -- "${common%-common}"-*64
	[ -d "$1" ] || return
	mkdir -p "$tmp/headers/include" "$tmp/headers/arch/x86/include"
	for d in "$common"/include/* "$1"/include/*; do ln -sfn "$d" "$tmp/headers/include/"; done
	for d in "$common"/arch/x86/include/* "$1"/arch/x86/include/*; do
		ln -sfn "$d" "$tmp/headers/arch/x86/include/"
	done
	BCC_KERNEL_SOURCE=$tmp/headers
	export BCC_KERNEL_SOURCE
	bcc_from="headers of another kernel, $(basename "$1")"
}

# MEDIAN LOWEST HIGHEST of the numbers on stdin.
spread() {
	sort -g | awk '{ v[NR] = $1 } END {
		if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }'
}

# Why a tool failed: what its log says, in one line.
why() {
	line=$(grep -aiE 'error|fail|unable|not found|no such|not permitted|not supported|unknown' "$1" |
		grep -avE '^ERROR: Unknown error -1|modprobe|^Traceback' | head -n 1)
	[ "$line" ] || line=$(grep -a . "$1" | tail -n 1)
	printf '%.110s' "${line:-no message}" | tr '\t' ' '
}

heading() {
	printf '\n%s\n' "$1"
	shift
	[ $# -eq 0 ] || printf '  %s\n' "$@"
}

json_number() { # $1: key, of a number
	grep -ao "\"$1\": *[0-9.e+-]*" "$tmp/json" | tail -n 1 | sed 's/.*: *//'
}

# The number of a probe below "events" or "lost", in json and jsonl.
json_probe() {
	tr -d '\n ' <"$tmp/json" | grep -ao "\"$1\":{\"faults\":[0-9]*" | tail -n 1 | sed 's/.*://'
}

# The faults of questions 2 to 4.
pages=2048
usual=80 # rounds of `pages` faults each
few=10	 # where a tool makes a fault ten times as slow
storm_rounds=150

during() {
	"$measure" during "$tmp/log.tool" "$@" 2>&1
	cat "$tmp/log.tool" >&2
}

# ns a fault, from the workload's "FAULTS NS" among whatever else is printed.
ns_of() {
	awk 'NF == 2 && $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+[.][0-9]$/ { print $2; exit }' "$1"
}

# $1: index, $2: workload, $3: command. Appends "RATIO EXTRA BARE".
cost_once() {
	eval "$2" >"$tmp/bare"
	cmd=${3%@*}$2${3##*@} # the last @: those of bpftrace are its own
	eval "$cmd" >"$tmp/out" 2>"$tmp/log" </dev/null
	bare=$(ns_of "$tmp/bare") ns=$(ns_of "$tmp/out")
	if [ -z "$ns" ]; then
		cat "$tmp/out" >>"$tmp/log"
		cp "$tmp/log" "$tmp/cost.failed.$1"
		return
	fi
	awk -v b="$bare" -v t="$ns" 'BEGIN { print t / b, t - b, b }' >>"$tmp/cost.$1"
}

# Of the list on stdin, LABEL | N | command: $1 is the workload, in which N stands for that number.
cost_table() {
	cat >"$tmp/costs"
	rm -f "$tmp"/cost.*
	round=0
	while [ $round -lt "$rounds" ]; do
		i=0
		while IFS='|' read -r _ n cmd; do
			i=$((i + 1))
			[ -e "$tmp/cost.failed.$i" ] ||
				cost_once $i "$(echo "$1" | sed "s/\\bN\\b/$n/")" "$cmd"
		done <"$tmp/costs"
		round=$((round + 1))
	done
	printf '\n  %-28s %7s %17s %10s %10s\n' tool 'x bare' '' '+ns' 'bare ns'
	i=0
	while IFS='|' read -r label _; do
		i=$((i + 1))
		if [ -e "$tmp/cost.failed.$i" ]; then
			printf '  %-28s fails: %s\n' "$label" "$(why "$tmp/cost.failed.$i")"
			continue
		fi
		for column in 1 2 3; do
			cut -d' ' -f$column "$tmp/cost.$i" | spread
		done | tr '\n' ' ' | awk -v label="$label" '{
			printf "  %-28s %7.2f %17s %10.0f %10.0f\n", label, $1,
				sprintf("(%.2f..%.2f)", $2, $3), $4, $7 }'
	done <"$tmp/costs"
}
