# The zoo's own parts, for tests/zoo/run and tests/native/zoo.bats: what a program says of itself,
# starting and stopping it, and the score of a report. Expects $scratch, a directory.
MEMWHY=${MEMWHY:-build/memwhy}
BUILD=${BUILD:-build}
zoo_ignore=
zoo_memory=/sys/fs/cgroup/memory

zoo_files() {
	ls tests/zoo/*.c tests/zoo/*.py tests/zoo/*.sh 2>/dev/null | sort
}

zoo_name() { # FILE
	local name=${1##*/}

	echo "${name%.*}"
}

zoo_is_held() { # NAME
	[ $(($(printf %s "$1" | cksum | cut -d' ' -f1) % 3)) -eq 0 ]
}

# A line "@KEY VALUE" of the program's first comment.
zoo_says() { # FILE KEY
	sed -n "1,40s/^[ #*\/]*@$2 \(.*\)\$/\1/p" "$1" | head -n 1
}

# What it needs and is not here: a word, or nothing.
zoo_lacks() { # FILE
	local need

	for need in $(zoo_says "$1" needs); do
		case $need in
		swap) [ "$(wc -l </proc/swaps)" -gt 1 ] || echo swap ;;
		nodes) [ -d /sys/devices/system/node/node1 ] || echo nodes ;;
		v1) [ -e $zoo_memory/memory.limit_in_bytes ] || echo v1 ;;
		/*) [ -e "$need" ] || echo "$need" ;;
		*) command -v "$need" >/dev/null || echo "$need" ;;
		esac
	done
}

# The command that runs it, in zoo_command.
zoo_make() { # FILE
	local out=$BUILD/zoo/$(zoo_name "$1")

	case $1 in
	*.py) zoo_command=(python3 "$1") ;;
	*.sh) zoo_command=(bash "$1") ;;
	*.c)
		mkdir -p "$BUILD/zoo"
		if [ ! "$out" -nt "$1" ] || [ ! "$out" -nt tests/zoo/zoo.h ]; then
			gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fno-omit-frame-pointer \
				-o "$out" "$1" -lpthread || return 1
		fi
		zoo_command=("$out")
		;;
	esac
}

# Makes a memory group with this limit, in zoo_cgroup.
zoo_limit() { # LIMIT NAME
	zoo_cgroup=$zoo_memory/zoo-$2-$$
	mkdir "$zoo_cgroup" && echo "$1" >"$zoo_cgroup/memory.limit_in_bytes"
}

# Starts it and waits until it says that it is ready; its process is zoo_pid.
zoo_start() { # FILE
	local limit i name
	name=$(zoo_name "$1") limit=$(zoo_says "$1" limit) zoo_cgroup= zoo_pid=

	zoo_make "$1" || return 1
	if [ -n "$limit" ]; then
		zoo_limit "$limit" "$name" || return 1
	fi
	mkdir -p "$scratch/work"
	: >"$scratch/says"
	ZOO_GROUP=$zoo_cgroup ZOO_WORK=$scratch/work setsid bash -c \
		'[ -z "$ZOO_GROUP" ] || echo $$ >"$ZOO_GROUP/cgroup.procs"; exec "$@"' - \
		"${zoo_command[@]}" >"$scratch/says" 2>"$scratch/errors" 3>&- </dev/null &
	zoo_pid=$!
	for ((i = 0; i < 600; i++)); do
		grep -q '^ready$' "$scratch/says" && return 0
		kill -0 $zoo_pid 2>/dev/null || break
		sleep 0.1
	done
	sed 's/^/# /' "$scratch/errors" >&2
	return 1
}

# Ends it and all it started. A program that has more to undo than the end of its processes does does
# it at SIGTERM.
zoo_stop() {
	local i

	if [ -n "$zoo_pid" ]; then
		kill -TERM $zoo_pid 2>/dev/null || true
		for ((i = 0; i < 50; i++)); do
			kill -0 $zoo_pid 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL -- -$zoo_pid 2>/dev/null || true
		wait $zoo_pid 2>/dev/null || true
		zoo_pid=
	fi
	for ((i = 0; i < 50; i++)); do
		[ -n "$zoo_cgroup" ] && [ -d "$zoo_cgroup" ] || break
		while read -r pid; do kill -KILL "$pid"; done <"$zoo_cgroup/cgroup.procs" 2>/dev/null
		find "$zoo_cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
		[ ! -d "$zoo_cgroup" ] || sleep 0.1
	done
	zoo_cgroup=
	rm -rf "$scratch/work"
}

# The rank of the first finding that has both who and cause, and whether a forbidden cause is among the
# first two. Where "PID" stands in who it is the program's process. Of two troubles the second is to
# be found too: the rank is that of the later one.
zoo_score() { # WHO CAUSE NOT WHO2 CAUSE2
	jq -r --arg ignore "$zoo_ignore" --arg who "${1//PID/$zoo_pid}" --arg cause "$2" --arg not "$3" \
		--arg who2 "${4//PID/$zoo_pid}" --arg cause2 "$5" '
		def text: [.title, .why // "", .evidence[]?] | join("\n");
		def place($who; $cause): [range(length) as $i | select((.[$i] | text | test($who; "i")) and
			(.[$i] | text | test($cause; "i"))) | $i + 1] | first // 0;
		[.findings[]? | select($ignore == "" or (.title | test($ignore) | not))] as $f |
		($f | place($who; $cause)) as $one |
		(if $cause2 == "" then $one else ($f | place($who2; $cause2)) end) as $two |
		(if $one == 0 or $two == 0 then 0 else [$one, $two] | max end) as $rank |
		(($not != "") and any($f[0:2][]; .level != "note" and (.title | test($not; "i")))) as $bad |
		([$f[] | select(.level != "note")] | length) as $alarms |
		"\($rank) \($bad) \($alarms) \($f[0] | if . then "\(.level): \(.title)" else "-" end)"
	' "$scratch/report"
}

zoo_judge() { # FILE
	local bad alarms

	read -r zoo_rank bad alarms zoo_first <<<"$(zoo_score "$(zoo_says "$1" who)" \
		"$(zoo_says "$1" cause)" "$(zoo_says "$1" not)" "$(zoo_says "$1" who2)" \
		"$(zoo_says "$1" cause2)")"
	if [ "$zoo_state" = healthy ]; then
		zoo_rank=$alarms
		[ "$alarms" -eq 0 ] && zoo_result=quiet || zoo_result=alarm
	elif [ "$bad" = true ]; then
		zoo_result=wrong
	elif [ "$zoo_rank" -eq 0 ]; then
		zoo_result=missed
	elif [ "$zoo_rank" -gt 2 ]; then
		zoo_result=low
	else
		zoo_result=named
	fi
}

# Runs one program under check, and tells in zoo_result, zoo_rank, zoo_first, zoo_state, zoo_group.
zoo_run() { # FILE
	local seconds lacks lock=

	zoo_state=$(zoo_says "$1" state) zoo_group=$(zoo_says "$1" group)
	zoo_result=broken zoo_rank=- zoo_first=
	seconds=$(zoo_says "$1" check)
	rm -f "$scratch/report"
	lacks=$(zoo_lacks "$1" | head -n 1)
	if [ -n "$lacks" ]; then
		zoo_result=skipped zoo_first="needs $lacks"
		return
	fi
	if [ "$(zoo_says "$1" big)" ]; then
		exec {lock}>/tmp/zoo.lock
		flock "$lock"
	fi
	if ! zoo_start "$1"; then
		zoo_first="did not get ready"
	elif ! timeout 120 "$MEMWHY" check -q --for "${ZOO_SECONDS:-${seconds:-8}}s" -o json --out "$scratch/report" \
		2>"$scratch/errors" 3>&-; then
		zoo_first="check failed: $(head -n 1 "$scratch/errors")"
	else
		zoo_judge "$1"
	fi
	zoo_stop
	[ -z "$lock" ] || exec {lock}>&-
}
