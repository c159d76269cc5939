#!/usr/bin/env bats
# The image as the DaemonSet runs it, in a real container: nothing but the static binary on a read-only
# root, the capabilities that are listed there, no privilege that could be regained.
# bats file_tags=host
. "$BATS_TEST_DIRNAME/incidents.bash"

# bundle ARGS...: a container of the image with these arguments, in $BATS_TEST_TMPDIR/bundle. The root of
# some hosts lacks a capability, which no container can have then.
bundle() {
	local bundle=$BATS_TEST_TMPDIR/bundle file
	mkdir -p "$bundle/rootfs/proc" "$bundle/rootfs/sys" "$bundle/rootfs/dev" "$bundle/rootfs/incidents" "$dir"
	file=$(sed -n 's/^COPY \([^ ]*\) \/memwhy$/\1/p' packaging/Containerfile)
	cp "${BUILD:-build}/${file#build/}" "$bundle/rootfs/memwhy"
	has=$(capsh --decode="$(awk '/^CapBnd/ { print $2 }' /proc/self/status)")
	listed=$(sed -n 's/^ *add: \(\[.*\]\)$/\1/p' packaging/kubernetes/daemonset.yaml)
	printf '%s\n' "$@" | jq -nR --argjson listed "$listed" --arg has "$has" --arg dir "$dir" '
		def binds(path; from; options): {destination: path, source: from, type: "bind", options: (["rbind"] + options)};
		[$listed[] | "CAP_" + . | select(ascii_downcase as $c | $has | test($c + "(,|$)"))] as $caps |
		{ociVersion: "1.0.2", root: {path: "rootfs", readonly: true}, process: {cwd: "/", noNewPrivileges: true,
			user: {uid: 0, gid: 0}, args: (["/memwhy"] + [inputs]),
			capabilities: {bounding: $caps, effective: $caps, permitted: $caps}},
		mounts: [{destination: "/proc", type: "proc", source: "proc"},
			{destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755", "size=64k"]},
			{destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"]},
			binds("/sys/fs/cgroup"; "/sys/fs/cgroup"; ["ro"]), binds("/incidents"; $dir; [])],
		linux: {namespaces: [{type: "mount"}, {type: "ipc"}, {type: "uts"}, {type: "network"}, {type: "cgroup"}],
			maskedPaths: ["/proc/kcore", "/proc/keys", "/sys/firmware"], readonlyPaths: ["/proc/sys"]}}' \
		>"$bundle/config.json"
}

contained() {
	runc --root "$BATS_TEST_TMPDIR/runc" run --bundle "$BATS_TEST_TMPDIR/bundle" "$name"
}

needs_runc() {
	command -v runc >/dev/null && command -v capsh >/dev/null || skip "no runc or capsh (tools/deps engines)"
}

@test "image: the service in a container sees the host's processes, and an OOM kill with the kernel's report" {
	needs_runc
	status=0
	bundle serve -i 1s --listen unix:/incidents/s --incidents /incidents
	contained >"$lines" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	service=$!
	wait_for 'grep -q "\"ready\"" "$lines" || ! kill -0 $service 2>/dev/null'
	tools/with-cgroup "$name" 67108864 "$WORKLOADS/oom_grow" -s 8 >"$BATS_TEST_TMPDIR/grow" 2>/dev/null || status=$?
	[ "$status" -ne 3 ] || skip "no memory controller"
	[ "$status" -eq 137 ]
	grown=$(awk '/ready/ { print $2; exit }' "$BATS_TEST_TMPDIR/grow")
	wait_for '[ "$(file "oom_grow \\\\($grown\\\\)")" != null ]'
	[ "$(curl -sS --unix-socket "$dir/s" http://localhost/metrics | awk '$1 == "memwhy_oom_kills_seen_total" { print $2 }')" -ge 1 ]
	runc --root "$BATS_TEST_TMPDIR/runc" kill "$name" TERM
	wait "$service"
	recording=$dir/$(basename "$(file "oom_grow \\\\($grown\\\\)")")
	"$MEMWHY" oom --input "$recording" -o json >"$BATS_TEST_TMPDIR/oom"
	jq -c '.methods.oom' "$BATS_TEST_TMPDIR/oom"
	jq -e --argjson pid "$grown" --arg name "$name" '
		any(.rows[]; .table == "kills" and .pid == $pid and (.cgroup | endswith($name))) and
		([.rows[] | select(.table == "ledger" and .source == "kernel'"'"'s report") | .bytes] | add >= 60e6)' "$BATS_TEST_TMPDIR/oom"
}
