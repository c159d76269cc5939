/* See counts.h. */
#include "sys/memory/counts.h"

#include <errno.h>
#include <string.h>

#include "sys/root.h"
#include "sys/scan.h"

#define DENTRIES "/proc/sys/fs/dentry-state"
#define INODES "/proc/sys/fs/inode-nr"
#define SOCKETS "/proc/net/sockstat"
#define KSM "/sys/kernel/mm/ksm/"
#define HUGE_2M "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define HUGE_1G "/sys/kernel/mm/hugepages/hugepages-1048576kB/"

const struct count_spec counts[] = {
	{"dentry/total", DENTRIES, NULL, NULL, 0, false},
	{"dentry/unused", DENTRIES, NULL, NULL, 1, false},
	{"dentry/negative", DENTRIES, NULL, NULL, 4, false}, /* since 5.0, before always 0 */
	{"inode/total", INODES, NULL, NULL, 0, false},
	{"inode/free", INODES, NULL, NULL, 1, false},
	{"file/open", "/proc/sys/fs/file-nr", NULL, NULL, 0, false},
	{"task/threads", "/proc/loadavg", NULL, NULL, 7, false},
	{"socket/used", SOCKETS, "sockets:", "used", 0, false},
	{"tcp/inuse", SOCKETS, "TCP:", "inuse", 0, false},
	{"tcp/orphan", SOCKETS, "TCP:", "orphan", 0, false},
	{"tcp/mem", SOCKETS, "TCP:", "mem", 0, true},
	{"udp/mem", SOCKETS, "UDP:", "mem", 0, true},
	{"tcp/mem_pressure", "/proc/sys/net/ipv4/tcp_mem", NULL, NULL, 1, true},
	{"cgroup/memory", "/proc/cgroups", "memory", NULL, 1, false},
	{"ksm/pages_shared", KSM "pages_shared", NULL, NULL, 0, true},
	{"ksm/pages_sharing", KSM "pages_sharing", NULL, NULL, 0, true},
	{"ksm/pages_unshared", KSM "pages_unshared", NULL, NULL, 0, true},
	{"ksm/full_scans", KSM "full_scans", NULL, NULL, 0, false},
	{"ksm/pages_to_scan", KSM "pages_to_scan", NULL, NULL, 0, false},
	{"ksm/sleep_millisecs", KSM "sleep_millisecs", NULL, NULL, 0, false},
	{"hugepages/2M/nr", HUGE_2M "nr_hugepages", NULL, NULL, 0, false},
	{"hugepages/2M/free", HUGE_2M "free_hugepages", NULL, NULL, 0, false},
	{"hugepages/2M/resv", HUGE_2M "resv_hugepages", NULL, NULL, 0, false},
	{"hugepages/1G/nr", HUGE_1G "nr_hugepages", NULL, NULL, 0, false},
	{"hugepages/1G/free", HUGE_1G "free_hugepages", NULL, NULL, 0, false},
	{"hugepages/1G/resv", HUGE_1G "resv_hugepages", NULL, NULL, 0, false},
	{},
};

/* Behind the words of its place, or false. */
static bool place_find(const char *text, const struct count_spec *spec, struct scan *ret)
{
	struct scan line, word;

	while (scan_line(&text, &line)) {
		struct scan s = line;

		if (spec->line && (!scan_word(&s, &word) || !scan_is(&word, spec->line)))
			continue;
		while (spec->word && scan_word(&s, &word))
			if (scan_is(&word, spec->word))
				break;
		*ret = s;
		return !scan_done(&s);
	}
	return false;
}

bool count_parse(const char *text, const struct count_spec *spec, u64 *ret)
{
	struct scan s;
	u64 v;

	if (!place_find(text, spec, &s))
		return false;
	for (u32 i = 0;; i++) {
		while (!scan_done(&s) && (*s.p < '0' || *s.p > '9'))
			s.p++;
		if (scan_done(&s) || !scan_u64(&s, &v))
			return false;
		if (i == spec->at)
			break;
	}
	*ret = v;
	return true;
}

int count_read(const char *name, u64 *ret)
{
	_cleanup_str_ struct str text = {};
	const struct count_spec *spec = counts;
	int rc;

	while (spec->name && strcmp(spec->name, name))
		spec++;
	if (!spec->name)
		return -ENOENT;
	rc = sys_read(&text, "%s", spec->path);
	if (rc)
		return rc;
	return count_parse(str_get(&text), spec, ret) ? 0 : -ENOENT;
}
