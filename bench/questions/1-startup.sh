# shellcheck shell=sh
# Question 1: how long a tool takes until it counts, and what its whole run costs beside that.

# LABEL | ms it collects | command; the shortest collection a peer can be asked for.
starts() {
	cat <<-LIST
	memwhy faults|200|"$memwhy" faults --for 0.2s -q
	memwhy faults --stacks|200|"$memwhy" faults --stacks --for 0.2s -q
	memwhy reclaim|200|"$memwhy" reclaim --for 0.2s -q
	memwhy frag|200|"$memwhy" frag --for 0.2s -q
	memwhy stalls|200|"$memwhy" stalls --for 0.2s -q
	memwhy compaction|200|"$memwhy" compaction --for 0.2s -q
	memwhy swap|200|"$memwhy" swap --for 0.2s -q
	memwhy thp|200|"$memwhy" thp --for 0.2s -q
	memwhy oom|200|"$memwhy" oom --for 0.2s -q
	memwhy slab|200|"$memwhy" slab --for 0.2s -q
	memwhy pages|200|"$memwhy" pages --for 0.2s -q
	memwhy count kmem:*|200|"$memwhy" count 'kmem:*' --for 0.2s -q
	memwhy check|200|"$memwhy" check --for 0.2s -q
	perf stat: page-faults|200|perf stat -a -e page-faults sleep 0.2
	perf trace: page faults|200|perf trace -a -F all --no-syscalls sleep 0.2
	bpftrace: page faults|200|bpftrace -e 'software:page-faults:1 { @[pid, comm] = count(); } interval:ms:200 { exit(); }'
	bpftrace: faults by ustack|200|bpftrace -e 'software:page-faults:1 { @[pid, ustack] = count(); } interval:ms:200 { exit(); }'
	bpftrace: direct reclaim|200|bpftrace -e 'tracepoint:vmscan:mm_vmscan_direct_reclaim_begin { @s[tid] = nsecs; } tracepoint:vmscan:mm_vmscan_direct_reclaim_end /@s[tid]/ { @ns[comm] = hist(nsecs - @s[tid]); delete(@s[tid]); } interval:ms:200 { exit(); }'
	bpftrace: extfrag events|200|bpftrace -e 'tracepoint:kmem:mm_page_alloc_extfrag { @[comm, kstack] = count(); } interval:ms:200 { exit(); }'
	libbpf-tools drsnoop|1000|drsnoop -d 1
	BCC stackcount: page faults|1000|stackcount-bpfcc -D 1 t:exceptions:page_fault_user
	BCC drsnoop|1000|drsnoop-bpfcc -d 1
	BCC compactsnoop|1000|compactsnoop-bpfcc -d 1
	libbpf-tools numamove|1000|timeout -s INT 1 numamove
	libbpf-tools slabratetop|1000|slabratetop -C 1 1
	libbpf-tools oomkill|1000|timeout -s INT 1 oomkill
	LIST
}

# One measurement. $1: index, $2: ms collected, $3: command. Keeps the log of one that failed.
start_once() {
	eval "\"$measure\" run \"$tmp/log\" $3" >"$tmp/now" 2>>"$tmp/log" || return
	awk -v collected="$2" '{ print $3, $2 - collected, $4 / 1024, $5 }' "$tmp/now" >>"$tmp/start.$1"
	read -r status _ attached _ <"$tmp/now"
	case $status:$attached in
	0:-1* | [!0]*) cp "$tmp/log" "$tmp/start.failed.$1" ;;
	esac
}

question_1() {
	heading "1. START-UP: median (lowest..highest) of $rounds, interleaved" \
		'attached: from exec until the last BPF link or perf event is open' \
		'overhead: whole run (start, collect, report, exit) less the time it collects'
	starts >"$tmp/starts"
	round=0
	while [ $round -lt "$rounds" ]; do
		i=0
		while IFS='|' read -r _ ms cmd; do
			i=$((i + 1))
			[ -e "$tmp/start.failed.$i" ] || start_once $i "$ms" "$cmd" </dev/null
		done <"$tmp/starts"
		round=$((round + 1))
	done
	printf '\n  %-28s %22s %22s %8s %8s\n' tool 'attached ms' 'overhead ms' 'RSS MiB' 'CPU ms'
	i=0
	while IFS='|' read -r label _; do
		i=$((i + 1))
		if [ -e "$tmp/start.failed.$i" ]; then
			printf '  %-28s fails: %s\n' "$label" "$(why "$tmp/start.failed.$i")"
			continue
		fi
		for column in 1 2 3 4; do
			cut -d' ' -f$column "$tmp/start.$i" | spread
		done | tr '\n' ' ' | awk -v label="$label" '{
			printf "  %-28s %8.1f %13s %8.1f %13s %8.1f %8.1f\n", label,
				$1, sprintf("(%.1f..%.1f)", $2, $3), $4, sprintf("(%.1f..%.1f)", $5, $6), $7, $10 }'
	done <"$tmp/starts"
}
