# Shared by the tests that run under other kernels.
bats_require_minimum_version 1.5.0
cd "$BATS_TEST_DIRNAME/../.." || exit 1
RUN_VM=tests/vm/run-vm

# Skips the test where there is no QEMU, or where the kernel is not there and cannot be fetched.
needs_kernel() { # KERNEL
	command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64"
	run tests/vm/fetch-kernels "$1"
	[ "$status" -eq 0 ] || skip "kernel $1 cannot be had: ${lines[-1]}"
}

# guest KERNEL [run-vm options] -- COMMAND...: its output in $output, its status in $status.
guest() {
	local kernel=$1
	shift
	needs_kernel "$kernel"
	run "$RUN_VM" -k "$kernel" -t "${GUEST_SECONDS:-400}" "$@"
	echo "$output"
}

# Each command once, then the native tests, inside a guest, as far as they depend on the kernel
# (tests/vm/run-native): all pass, and some ran. Each file of tests/native is taken that is there. Their
# TAP is kept as it comes, in build/vm/NAME.tap.
guest_native() { # NAME KERNEL FILTER [run-vm options]
	local tap=${BUILD:-build}/vm/$1.tap kernel=$2 filter=$3
	shift 3
	needs_kernel "$kernel"
	mkdir -p "${tap%/*}"
	"$RUN_VM" -k "$kernel" -t "${GUEST_SECONDS:-400}" "$@" -- \
		env MEMWHY="$MEMWHY" BUILD="$BUILD" tests/vm/run-native -f "$filter" tests/vm/commands.bats tests/native/*.bats \
		>"$tap" 2>&1 ||
		{ grep -v '^ok' "$tap"; return 1; }
	[ "$(grep -c '^ok' "$tap")" -gt "$(grep -c '^ok.*# skip' "$tap")" ]
}
