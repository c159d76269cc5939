# Shared by the tests that run under other kernels.
bats_require_minimum_version 1.5.0
cd "$BATS_TEST_DIRNAME/../.." || exit 1
RUN_VM=tests/vm/run-vm

# guest KERNEL [run-vm options] -- COMMAND...: its output in $output, its status in $status. The
# kernel is fetched when it is not there; where that fails the test is skipped with the reason.
guest() {
	local kernel=$1
	shift
	command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64"
	run tests/vm/fetch-kernels "$kernel"
	[ "$status" -eq 0 ] || skip "kernel $kernel cannot be had: ${lines[-1]}"
	run "$RUN_VM" -k "$kernel" -t "${GUEST_SECONDS:-400}" "$@"
	echo "$output"
}

# The native tests (tests/native) inside a guest: all pass, and some ran. Only files with such a test:
# bats reads each file it is given, which takes a guest seconds.
guest_native() { # KERNEL FILTER [run-vm options]
	local kernel=$1 filter=$2 file files=()
	shift 2
	for file in tests/native/*.bats; do
		if sed -n 's/^@test "\(.*\)" {$/\1/p' "$file" | grep -qE -- "$filter"; then
			files+=("$file")
		fi
	done
	guest "$kernel" "$@" -- env MEMWHY="$MEMWHY" BUILD="$BUILD" bats --tap -f "$filter" "${files[@]}"
	[ "$status" -eq 0 ]
	[ "$(grep -c '^ok' <<<"$output")" -gt "$(grep -c '^ok.*# skip' <<<"$output")" ]
	! grep -q '^not ok' <<<"$output" || false
}
