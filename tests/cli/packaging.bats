#!/usr/bin/env bats
# What is packaged: rules and queries for Prometheus, the unit, the package.
# bats file_tags=beside
load common

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
}

@test "packaging: rules, their tests and the configuration pass promtool" {
	cd packaging/prometheus
	promtool check rules memwhy-recording.yml memwhy-alerts.yml
	promtool check config prometheus.yml
	promtool test rules rules_test.yml
}

# Names of metrics in queries, without what histograms and recording rules add.
named() {
	grep -oE '\bmemwhy_[a-z0-9_]+' | sed -E 's/_(bucket|sum|count)$//' | sort -u
}

@test "packaging: rules and the dashboard ask only for metrics that there are" {
	sed -n 's/^| `\(memwhy_[a-z_]*\)` .*/\1/p' docs/serve.md | sort -u >"$BATS_TEST_TMPDIR/there"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/there")" -gt 40 ]
	{
		sed -n 's/^ *expr: //p' packaging/prometheus/memwhy-*.yml | sed 's/instance[a-z_]*:memwhy_[a-z_]*:[a-z0-9_]*//g'
		jq -r '.panels[].targets[].expr, .templating.list[].query' packaging/grafana/memwhy.json
	} | named >"$BATS_TEST_TMPDIR/asked"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/asked")" -ge 15 ]
	run comm -13 "$BATS_TEST_TMPDIR/there" "$BATS_TEST_TMPDIR/asked"
	echo "asked for, and not there: $output"
	[ -z "$output" ]
}

@test "packaging: each alert has its place in the documentation" {
	for anchor in $(sed -n 's/.*runbook: "docs\/serve.md#\(.*\)"/\1/p' packaging/prometheus/memwhy-alerts.yml); do
		grep -qix "### $anchor" docs/serve.md || try refuse "$anchor"
	done
	tried
}

@test "packaging: all settings of the file are options" {
	for word in $(sed -n 's/^# \([a-z-]*\) [^ ]*$/\1/p' packaging/serve.conf); do
		has_option serve "$word" || try refuse "$word"
	done
	tried
}

@test "packaging: the DaemonSet has the capabilities of the unit, and sees no more of its node than it needs" {
	y=packaging/kubernetes/daemonset.yaml
	[ "$(sed -n 's/^CapabilityBoundingSet=//p' packaging/systemd/memwhy.service | wc -w)" -ge 5 ]
	diff <(sed -n 's/^ *add: \[\(.*\)\]$/\1/p' "$y" | tr -d '", ') \
		<(sed -n 's/^CapabilityBoundingSet=//p' packaging/systemd/memwhy.service | sed 's/CAP_//g' | tr -d ' ')
	diff <(sed -n '/^      volumes:/,$ s/^ *path: //p' "$y" | sort) - <<-END
		/sys/fs/cgroup
		/var/lib/memwhy/incidents
		/var/log/containers
		/var/log/pods
	END
	# Each is mounted where it is, but for what memwhy writes.
	for path in /sys/fs/cgroup /var/log/containers /var/log/pods; do
		grep -A1 "mountPath: $path\$" "$y" | grep -q 'readOnly: true'
	done
}
