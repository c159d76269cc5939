/* See kernel_counters.h. */
#include "serve/kernel_counters.h"

#include <string.h>

/* In the order in which they are written: the series of a family stand together. */
enum counter_family {
	FAMILY_FAULTS,
	FAMILY_ALLOCSTALL,
	FAMILY_REFAULTS,
	FAMILY_ACTIVATED,
	FAMILY_SCANNED,
	FAMILY_RECLAIMED,
	FAMILY_SWAPPED,
	FAMILY_KILLS,
	FAMILY_COMPACTION,
	FAMILY_THP,
	FAMILY_HINTS,
	FAMILY_HINTS_LOCAL,
	FAMILY_MIGRATED,
	FAMILIES,
};

static const struct metric families[FAMILIES] = {
	[FAMILY_FAULTS] = {"memwhy_page_faults", METRIC_COUNTER, NULL,
		"Page faults since boot (pgfault and pgmajfault in /proc/vmstat); all includes "
		"major."},
	[FAMILY_ALLOCSTALL] = {"memwhy_allocstall", METRIC_COUNTER, NULL,
		"Direct reclaims since boot (allocstall_* in /proc/vmstat), by the highest zone "
		"allowed."},
	[FAMILY_REFAULTS] = {"memwhy_refaults", METRIC_COUNTER, NULL,
		"Pages faulted back in soon after reclaim evicted them, since boot "
		"(workingset_refault_*)."},
	[FAMILY_ACTIVATED] = {"memwhy_refaults_of_working_set", METRIC_COUNTER, NULL,
		"Refaults of pages from the working set, which went straight to the active list, "
		"since boot (workingset_activate_*)."},
	[FAMILY_SCANNED] = {"memwhy_reclaim_scanned_bytes", METRIC_COUNTER, "bytes",
		"Memory scanned by reclaim since boot (pgscan_*)."},
	[FAMILY_RECLAIMED] = {"memwhy_reclaimed_bytes", METRIC_COUNTER, "bytes",
		"Memory freed by reclaim since boot (pgsteal_*)."},
	[FAMILY_SWAPPED] = {"memwhy_swap_io_bytes", METRIC_COUNTER, "bytes",
		"Memory read from and written to swap since boot (pswpin, pswpout)."},
	[FAMILY_KILLS] = {"memwhy_oom_kills", METRIC_COUNTER, NULL,
		"Processes killed by the kernel's OOM killer since boot (oom_kill)."},
	[FAMILY_COMPACTION] = {"memwhy_compaction_attempts", METRIC_COUNTER, NULL,
		"Direct compactions since boot (compact_stall), and their results "
		"(compact_success, compact_fail)."},
	[FAMILY_THP] = {"memwhy_thp", METRIC_COUNTER, NULL,
		"Transparent huge pages since boot: allocated at a fault, unavailable at a fault, "
		"collapsed by khugepaged, split (thp_*)."},
	[FAMILY_HINTS] = {"memwhy_numa_hint_faults", METRIC_COUNTER, NULL,
		"NUMA hint faults since boot (numa_hint_faults)."},
	[FAMILY_HINTS_LOCAL] = {"memwhy_numa_hint_faults_local", METRIC_COUNTER, NULL,
		"NUMA hint faults on pages local to the faulting CPU's node, since boot "
		"(numa_hint_faults_local)."},
	[FAMILY_MIGRATED] = {"memwhy_numa_migrated_bytes", METRIC_COUNTER, "bytes",
		"Memory migrated by automatic NUMA balancing since boot (numa_pages_migrated)."},
};

static const struct counter {
	const char *name;
	u8 family;
	const char *labels;
	bool pages; /* shown in bytes */
} counters[] = {
	{"pgfault", FAMILY_FAULTS, "kind=\"all\"", false},
	{"pgmajfault", FAMILY_FAULTS, "kind=\"major\"", false},
	{"allocstall_dma", FAMILY_ALLOCSTALL, "zone=\"DMA\"", false},
	{"allocstall_dma32", FAMILY_ALLOCSTALL, "zone=\"DMA32\"", false},
	{"allocstall_normal", FAMILY_ALLOCSTALL, "zone=\"Normal\"", false},
	{"allocstall_movable", FAMILY_ALLOCSTALL, "zone=\"Movable\"", false},
	{"allocstall_device", FAMILY_ALLOCSTALL, "zone=\"Device\"", false},
	{"workingset_refault_anon", FAMILY_REFAULTS, "type=\"anon\"", false},
	{"workingset_refault_file", FAMILY_REFAULTS, "type=\"file\"", false},
	{"workingset_activate_anon", FAMILY_ACTIVATED, "type=\"anon\"", false},
	{"workingset_activate_file", FAMILY_ACTIVATED, "type=\"file\"", false},
	{"pgscan_direct", FAMILY_SCANNED, "by=\"direct\"", true},
	{"pgscan_kswapd", FAMILY_SCANNED, "by=\"kswapd\"", true},
	{"pgscan_khugepaged", FAMILY_SCANNED, "by=\"khugepaged\"", true},
	{"pgscan_proactive", FAMILY_SCANNED, "by=\"proactive\"", true},
	{"pgsteal_direct", FAMILY_RECLAIMED, "by=\"direct\"", true},
	{"pgsteal_kswapd", FAMILY_RECLAIMED, "by=\"kswapd\"", true},
	{"pgsteal_khugepaged", FAMILY_RECLAIMED, "by=\"khugepaged\"", true},
	{"pgsteal_proactive", FAMILY_RECLAIMED, "by=\"proactive\"", true},
	{"pswpin", FAMILY_SWAPPED, "direction=\"in\"", true},
	{"pswpout", FAMILY_SWAPPED, "direction=\"out\"", true},
	{"oom_kill", FAMILY_KILLS, NULL, false},
	{"compact_stall", FAMILY_COMPACTION, "result=\"all\"", false},
	{"compact_success", FAMILY_COMPACTION, "result=\"success\"", false},
	{"compact_fail", FAMILY_COMPACTION, "result=\"fail\"", false},
	{"thp_fault_alloc", FAMILY_THP, "event=\"fault_alloc\"", false},
	{"thp_fault_fallback", FAMILY_THP, "event=\"fault_fallback\"", false},
	{"thp_collapse_alloc", FAMILY_THP, "event=\"collapse_alloc\"", false},
	{"thp_split_page", FAMILY_THP, "event=\"split_page\"", false},
	{"thp_split_pmd", FAMILY_THP, "event=\"split_pmd\"", false},
	{"numa_hint_faults", FAMILY_HINTS, NULL, false},
	{"numa_hint_faults_local", FAMILY_HINTS_LOCAL, NULL, false},
	{"numa_pages_migrated", FAMILY_MIGRATED, NULL, true},
};

_Static_assert(ARRAY_SIZE(counters) <= VMSTAT_SERIES_MAX, "room for the kernel's counters");

int sums_vmstat_index(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (!strcmp(counters[i].name, name))
			return (int)i;
	return -1;
}

/* What this kernel does not count is left out, not shown as 0. */
void kernel_counters_expose(const struct sums *s, struct exposition *e)
{
	int family = -1;

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		u64 by = counters[i].pages ? s->host.page_bytes : 1;

		if (!s->vmstat_known[i] || !by)
			continue;
		if (family != counters[i].family)
			exposition_family(e, &families[counters[i].family]);
		family = counters[i].family;
		exposition_u64(e, counters[i].labels, s->vmstat[i] * by);
	}
}
