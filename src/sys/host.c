/* See host.h. */
#include "sys/host.h"

#include <string.h>
#include <sys/utsname.h>

#include "sys/keyvals.h"
#include "sys/memory/pagetypeinfo.h"
#include "sys/root.h"
#include "sys/scan.h"

/* Of 4 KiB pages and 2 MiB huge pages. */
#define PAGEBLOCK_ORDER_DEFAULT 9

static void release_read(struct host *h)
{
	_cleanup_str_ struct str text = {};
	struct utsname name;
	struct scan s;
	const char *p;

	/* The file follows sys_root(), uname() does not. */
	if (!sys_read(&text, "/proc/sys/kernel/osrelease")) {
		p = str_get(&text);
		if (scan_line(&p, &s) && scan_copy(&s, h->release, sizeof(h->release)))
			return;
	}
	if (!uname(&name))
		snprintf(h->release, sizeof(h->release), "%s", name.release);
}

/* Leaves set as it is when the file cannot be read or lists nothing. */
static void idset_read(const char *path, struct idset *set)
{
	_cleanup_str_ struct str text = {};
	struct idset found;

	if (!sys_read(&text, "%s", path) && !idset_parse(str_get(&text), &found) &&
		idset_count(&found))
		*set = found;
}

static void cpus_read(struct host *h)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	for (u32 id = 0; id < (n > 0 ? MIN((u32)n, (u32)IDSET_MAX) : 1); id++)
		h->cpus_online.bits[id / 64] |= 1ULL << (id % 64);
	idset_read("/sys/devices/system/cpu/online", &h->cpus_online);
	h->cpus = idset_count(&h->cpus_online);
}

static void nodes_read(struct host *h)
{
	h->nodes_online.bits[0] = 1;
	idset_read("/sys/devices/system/node/online", &h->nodes_online);
	h->nodes = idset_count(&h->nodes_online);
	for (u32 node = idset_next(&h->nodes_online, 0); node < NODES_MAX;
		node = idset_next(&h->nodes_online, node + 1)) {
		struct idset cpus = {};
		char path[64];

		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
		idset_read(path, &cpus);
		for (u32 cpu = idset_next(&cpus, 0); cpu < IDSET_MAX;
			cpu = idset_next(&cpus, cpu + 1))
			h->cpu_node[cpu] = (u16)node;
	}
}

/* /proc/pagetypeinfo knows it too, but to print that file the kernel walks all free lists with
 * their zone locked: milliseconds here, more on larger machines. */
static void pageblock_read(struct host *h)
{
	_cleanup_pagetypeinfo_ struct pagetypeinfo info = {};
	u64 pmd_bytes;

	h->pageblock_derived = true;
	h->pageblock_order = PAGEBLOCK_ORDER_DEFAULT;
	if (!sys_read_u64(&pmd_bytes, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") &&
		pmd_bytes >= h->page_bytes)
		h->pageblock_order = (u32)__builtin_ctzll(pmd_bytes / h->page_bytes);
	else if (!pagetypeinfo_read(&info) && info.pageblock_order >= 0) {
		h->pageblock_order = (u32)info.pageblock_order;
		h->pageblock_derived = false;
	}
}

void host_read(struct host *ret)
{
	_cleanup_keyvals_ struct keyvals meminfo = {};
	_cleanup_str_ struct str lockdown = {};
	struct host *h = ret;

	*h = (struct host){.page_bytes = (u64)sysconf(_SC_PAGESIZE)};
	release_read(h);
	cpus_read(h);
	nodes_read(h);
	pageblock_read(h);
	if (!keyvals_read("/proc/meminfo", &meminfo))
		h->mem_total_bytes = keyvals_get_or(&meminfo, "MemTotal", 0);
	h->has_btf = !sys_exists("/sys/kernel/btf/vmlinux");
	if (!sys_read(&lockdown, "/sys/kernel/security/lockdown"))
		scan_choice(str_get(&lockdown), h->lockdown, sizeof(h->lockdown));
}
