# shellcheck shell=sh
# Question 16: what a screen costs that is drawn anew each second, with few processes and with many.

screen_processes=5000

# PID and its children.
screen_family() {
	echo "$1"
	pgrep -P "$1"
}

# CPU time of these processes, in clock ticks.
screen_ticks() {
	for p in "$@"; do
		sed 's/.*) //' "/proc/$p/stat" 2>/dev/null
	done | awk '{ s += $12 + $13 } END { print s + 0 }'
}

# FIRST_MS CPU_PERCENT PSS_MIB of a screen ($1), whose lines are there when $2 is.
screen_once() {
	: >"$tmp/screen"
	began=$(date +%s%N)
	TERM=xterm-256color setsid script -qfec "stty rows 40 cols 120; exec $1" "$tmp/screen" <&9 >/dev/null 2>&1 &
	job=$!
	while ! grep -q "$2" "$tmp/screen" && kill -0 $job 2>/dev/null; do sleep 0.01; done
	first=$((($(date +%s%N) - began) / 1000000))
	sleep 3
	# shellcheck disable=SC2046
	set -- $(screen_family "$(pgrep -P $job)")
	before=$(screen_ticks "$@")
	sleep 10
	after=$(screen_ticks "$@")
	pss=$(for p in "$@"; do sed -n 's/^Pss:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$p/smaps_rollup"; done | awk '{ s += $1 } END { print s / 1024 }')
	kill "$1"
	wait $job 2>/dev/null
	job=
	echo "$first $((after - before)) $pss" | awk -v hz="$(getconf CLK_TCK)" '{ printf "%9d %9.1f %9.1f\n", $1, $2 / hz * 10, $3 }'
}

question_16() {
	heading '16. A SCREEN EACH SECOND' 'CPU of all its processes over 10 s, as a share of one CPU; their PSS, which counts a page they share once'
	printf '  %-14s %-12s %9s %9s %9s\n' processes tool 'first ms' 'CPU %' 'PSS MiB'
	mkfifo "$tmp/keys" # nobody presses one
	exec 9<>"$tmp/keys"
	idle=
	for more in 0 $screen_processes; do
		i=0
		while [ $i -lt "$more" ]; do
			sleep 600 &
			idle="$idle $!"
			i=$((i + 1))
		done
		sleep 3 # the machine comes to rest
		for tool in memwhy htop; do
			case $tool in
			memwhy) cmd="$memwhy top" sign=RSS ;;
			htop) cmd='htop -d 10' sign=RES ;;
			esac
			printf '  %-14s %-12s %s\n' "$(find /proc -maxdepth 1 -name '[0-9]*' 2>/dev/null | wc -l)" "$tool" "$(screen_once "$cmd" $sign)"
		done
	done
	# shellcheck disable=SC2086
	kill $idle
	wait 2>/dev/null
	exec 9>&-
}
