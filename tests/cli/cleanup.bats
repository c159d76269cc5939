#!/usr/bin/env bats
# Nothing stays behind, however memwhy ends, and the observed command is not harmed.
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR"
}

# The ids of the BPF programs and maps that a process holds.
bpf_ids() { # PID
	cat "/proc/$1/fdinfo/"* 2>/dev/null | awk '/^(prog|map|link)_id:/ { print $1 $2 }' | sort -u
}

# Those of $ids that are still in the kernel; it frees them a little later. By BPF_PROG_GET_FD_BY_ID and
# its like: bpftool loads programs of its own each time.
bpf_left() {
	python3 - $ids <<-'END'
		import ctypes, os, struct, sys
		libc = ctypes.CDLL(None)
		command = {"prog": 13, "map": 14, "link": 30}
		for name in sys.argv[1:]:
		    kind, number = name.split("_id:")
		    attr = struct.pack("III", int(number), 0, 0)
		    fd = libc.syscall(321, command[kind], attr, len(attr))
		    if fd >= 0:
		        os.close(fd)
		        print(name)
	END
}

none_stays() { # COMMAND
	local c=$1 sig words=()
	[ "$c" != top ] || words=(--for 1m -o json) # else it wants a terminal
	for sig in KILL $([ "$c" = faults ] && echo INT TERM); do
		mw_start "$c" --stacks --follow -p $$ "${words[@]}"
		ids=$(bpf_ids "$memwhy")
		[ -n "$ids" ] && [ -n "$(bpf_left)" ] || try refuse "$c holds no BPF program"
		kill -$sig "$memwhy"
		mw_end
		wait_for '[ -z "$(bpf_left)" ]' || try refuse "$c, SIG$sig: $(bpf_left | xargs)"
	done
}

@test "cleanup: no BPF program, map or link stays, whatever ends memwhy" {
	side_by_side none_stays $(commands_alone | grep -vx where) # it reads files only
	tried
}

@test "cleanup: doctor leaves nothing attached" {
	"$MEMWHY" doctor >/dev/null 3>&- &
	ids=
	while kill -0 $! 2>/dev/null; do
		ids=$(printf '%s\n' $ids $(bpf_ids $!) | sort -u)
	done
	[ -n "$ids" ]
	wait_for '[ -z "$(bpf_left)" ]'
}

@test "cleanup: no file is left but those asked for" {
	export TMPDIR=$PWD/tmp HOME=$PWD/home
	mkdir tmp home work
	cd work
	before=$(ls -A /tmp /dev/shm /var/tmp /run 2>/dev/null | grep -i memwhy || true)
	for sig in INT TERM KILL; do
		mw_start faults --stacks --each --record run.mw
		kill -$sig "$memwhy"
		mw_end
	done
	[ "$(ls -A)" = run.mw ]
	[ -z "$(find ../tmp ../home -mindepth 1)" ]
	[ -z "$(ls -A /sys/fs/bpf 2>/dev/null | grep -i memwhy)" ]
	[ "$(ls -A /tmp /dev/shm /var/tmp /run 2>/dev/null | grep -i memwhy | grep -v memwhy-cli || true)" = "$(grep -v memwhy-cli <<<"$before" || true)" ]
}

@test "cleanup: the kernel's statistics switch is as it was" {
	was=$(cat /proc/sys/kernel/bpf_stats_enabled)
	mw_start faults
	kill -9 "$memwhy"
	mw_end
	[ "$(cat /proc/sys/kernel/bpf_stats_enabled)" = "$was" ]
}

@test "cleanup: the observed command runs on when memwhy is killed" {
	for c in "record run.mw" "faults --stacks --each" "check"; do
		rm -f pid alive
		mw_start $c -- sh -c 'echo $$ >pid; while sleep 0.1; do echo >>alive; done'
		wait_for '[ -s alive ]'
		kill -9 "$memwhy"
		mw_end
		n=$(wc -l <alive)
		wait_for '[ "$(wc -l <alive)" -gt $((n + 2)) ]' || try refuse "$c: the command has stopped"
		kill "$(cat pid)" || try refuse "$c: the command is gone"
	done
	tried
}

@test "cleanup: a command that was held and never released does not stay" {
	mw_error 2 faults -p 4194304
	# As memwhy fails after the fork: with no privilege to load.
	run --separate-stderr as_nobody "$MEMWHY" faults -- sleep 77
	[ "$status" -eq 3 ]
	! pgrep -f '^sleep 77' >/dev/null || false
	! pgrep -fx "$MEMWHY faults -- sleep 77" >/dev/null || false
}

@test "cleanup: memwhy drops the capabilities it no longer needs" {
	mw_start faults
	caps=$(awk '/^CapEff/ { print $2 }' "/proc/$memwhy/status")
	kill "$memwhy"
	mw_end
	# sys_admin, net_admin, sys_module, dac_override
	for bit in 21 12 16 1; do
		[ $((0x$caps >> bit & 1)) -eq 0 ]
	done
}
