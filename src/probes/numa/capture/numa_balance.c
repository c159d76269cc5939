/* See numa_balance.h. */
#include "probes/numa/capture/numa_balance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "probes/numa/numa_opts.h"
#include "sys/kernel/kernelfs.h"
#include "sys/root.h"
#include "sys/sysctl.h"

#define MODE "/proc/sys/kernel/numa_balancing"

/* Until 5.12 they were sysctls; now they are in debugfs, which lockdown closes. */
static const char *const scans[][2] = {
	{"/sys/kernel/debug/sched/numa_balancing/scan_delay_ms",
		"/proc/sys/kernel/numa_balancing_scan_delay_ms"},
	{"/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
		"/proc/sys/kernel/numa_balancing_scan_period_min_ms"},
	{"/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
		"/proc/sys/kernel/numa_balancing_scan_period_max_ms"},
};

int numa_balancing_mode(void)
{
	u64 mode;
	int rc = sysctl_read_u64("kernel.numa_balancing", &mode);

	return rc ? rc : (int)(mode & 3);
}

static const char *scan_path(size_t i)
{
	return sys_exists("%s", scans[i][1]) ? scans[i][0] : scans[i][1];
}

static size_t list_make(const struct capture *c, struct setting list[SETTINGS_MAX])
{
	int mode = numa_balancing_mode();
	size_t n = 0;

	if (OPTS_OF(struct numa_opts, c->opts)->balancing) { /* also where another memwhy has turned
								it on, and turns it off */
		list[n].path = MODE;
		snprintf(list[n++].value, SETTING_LEN, "%d", MAX(mode, 0) | 1);
	}
	for (size_t i = 0; OPTS_OF(struct numa_opts, c->opts)->scan_ns && i < ARRAY_SIZE(scans);
		i++) {
		list[n].path = scan_path(i);
		snprintf(list[n++].value, SETTING_LEN, "%llu",
			MAX(OPTS_OF(struct numa_opts, c->opts)->scan_ns / NSEC_PER_MSEC, 1ULL));
	}
	return n;
}

/* Why the kernel refused a change. */
static int refused(const struct capture *c, int rc, struct err *err)
{
	char dir[PATH_MAX];
	int mounted = kernelfs_find(KERNELFS_DEBUG, dir);

	if (rc == -ENOENT && mounted != -EPERM)
		return err_hint(err, "the kernel needs CONFIG_NUMA_BALANCING=y");
	if (!OPTS_OF(struct numa_opts, c->opts)->scan_ns || !sys_exists("%s", scans[0][1]))
		return err_hint(err, "as root");
	if (mounted == -EPERM)
		return err_hint(err, "debugfs is not mounted, and mounting it needs CAP_SYS_ADMIN: "
				     "run as root; without --scan the kernel's own rate is used");
	if (geteuid())
		return err_hint(err, "as root; without --scan the kernel's own rate is used");
	return err_hint(err, "the kernel is locked down (man 7 kernel_lockdown) and keeps debugfs "
			     "read-only; without --scan the kernel's own rate is used");
}

int numa_balancing_change(struct capture *c, struct settings **ret, struct err *err)
{
	struct setting list[SETTINGS_MAX] = {};
	size_t n = list_make(c, list);
	int rc = n ? settings_change(list, n, ret, err) : 0;

	if (n && !rc)
		(void)capture_self_add(c, (u32)settings_keeper(*ret));
	if (rc == -ENOENT || rc == -EPERM || rc == -EACCES)
		return refused(c, rc, err);
	for (size_t i = 0; i < n && !rc; i++)
		if (strcmp(list[i].value, list[i].before))
			rc = capture_note(c, NOTE_INFO,
				"%s is %s while memwhy runs; it was %s and will be restored",
				list[i].path, list[i].value, list[i].before);
	return rc;
}
