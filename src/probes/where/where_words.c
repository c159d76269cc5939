/* See where_words.h. */
#include "probes/where/where_words.h"

#define DROP_PRICE "the kernel reads it from disk again when it is needed; there is no undo"

static const struct where_words rest = {
	"rest", "memwhy where --taken --for 30s; memwhy leak --kernel --for 60s", NULL, NULL, true};

static const struct where_words machine[WHERE_ROWS] = {
	[WHERE_FREE] = {"free", "memwhy frag", NULL, NULL, true},
	[WHERE_FREE_CPU] = {"per_cpu_free", "memwhy pages --for 10s",
		"sysctl -w vm.percpu_pagelist_high_fraction=100",
		"allocations take the zone's lock more often; undo: "
		"sysctl -w vm.percpu_pagelist_high_fraction=0",
		true},
	[WHERE_ANON] = {"anonymous", "memwhy where -p PID; memwhy heap -p PID --for 30s",
		"restart its owner, or add swap", "restarting it loses its state", true},
	[WHERE_SWAP_CACHE] = {"swap_cache", "memwhy swap --for 10s", NULL,
		"the kernel drops it as soon as it needs the memory", false},
	[WHERE_CACHE] = {"page_cache", "memwhy where --files; memwhy reclaim --for 10s",
		"sync; sysctl -w vm.drop_caches=1", DROP_PRICE, true},
	[WHERE_TMPFS] = {"tmpfs", "memwhy where --files; du -xhd2 MOUNT", "rm FILES",
		"their contents are lost", true},
	[WHERE_SHARED] = {"shared_memory", "memwhy where --files; ipcs -mp",
		"ipcrm -m ID for a segment that no process has attached; close the memfd",
		"its contents are lost", true},
	[WHERE_HUGETLB] = {"hugetlb", "grep -H . /sys/kernel/mm/hugepages/*/*_hugepages",
		"sysctl -w vm.nr_hugepages=NUMBER-IN-USE",
		"undo: the old number, which may fail once memory is fragmented", true},
	[WHERE_SLAB] = {"slab", "memwhy slab --for 10s", "sysctl -w vm.drop_caches=2",
		"dentries and inodes are looked up again; there is no undo", true},
	[WHERE_KERNEL_MISC] = {"kernel_reclaimable", "memwhy reclaim --for 10s",
		"sysctl -w vm.drop_caches=2", DROP_PRICE, false},
	[WHERE_PAGE_TABLES] = {"page_tables", "memwhy where --table owners; memwhy maps --for 10s",
		"restart its owner, or use huge pages", "restarting it loses its state", true},
	[WHERE_SECONDARY] = {"secondary_page_tables", "ls /sys/kernel/debug/kvm", NULL, NULL,
		false},
	[WHERE_STACKS] = {"kernel_stacks", "ps -eo nlwp,pid,comm --sort=-nlwp",
		"end unneeded threads", NULL, true},
	[WHERE_PERCPU] = {"percpu", "cat /sys/kernel/debug/percpu_stats",
		"remove unneeded control groups and BPF maps", NULL, true},
	[WHERE_VMALLOC] = {"vmalloc", "memwhy where --table owners; cat /proc/vmallocinfo",
		"unload unneeded modules and BPF programs", NULL, true},
	[WHERE_COMPRESSED] = {"compressed_swap", "memwhy swap --for 10s",
		"swapoff DEVICE, if memory has room for what it holds; for a zram disk fstrim "
		"MOUNT, or umount and zramctl -r DEVICE",
		"undo: swapon DEVICE; resetting a disk loses its contents", false},
	[WHERE_SOCKETS] = {"sockets", "ss -amnp", "have its owner read what is waiting", NULL,
		true},
	[WHERE_PIPES] = {"pipes", "memwhy where --table owners",
		"have its owner read what is waiting", NULL, true},
	[WHERE_PAGE_ARRAY] = {"page_array", "grep memmap /proc/vmstat", NULL, NULL, false},
	[WHERE_BOUNCE] = {"bounce", NULL, NULL, NULL, false},
	[WHERE_FUSE] = {"fuse_writeback", "grep WritebackTmp /proc/meminfo", NULL, NULL, false},
	[WHERE_CORRUPTED] = {"hardware_corrupted", "ras-mc-ctl --errors", NULL,
		"it is lost until the memory module is replaced", false},
	[WHERE_BALLOON] = {"balloon", "grep balloon /proc/vmstat",
		"deflate it on the host of this virtual machine", NULL, false},
	[WHERE_GPU] = {"gpu", "cat /sys/kernel/debug/dri/*/clients", NULL, NULL, false},
};

/* Where a row of a process or group has another name, or other commands. */
static const struct where_words process[WHERE_ROWS] = {
	[WHERE_ANON] = {"anonymous", "memwhy heap -p PID --for 30s; memwhy maps -p PID --for 10s",
		NULL, NULL, true},
	[WHERE_SHARED] = {"shared_memory", "memwhy where -p PID --table owners", NULL, NULL, true},
	[WHERE_HEAP] = {"heap", "memwhy heap -p PID --for 30s", NULL, NULL, true},
	[WHERE_HEAP_KEPT] = {"heap_kept", "memwhy where -p PID --table arenas",
		"gdb -p PID -batch -ex 'call (int)malloc_trim(0)'",
		"gdb stops the process while this runs, and before gdb 14 fails on CPUs with AMX; "
		"it faults the pages in again when it allocates",
		true},
	[WHERE_ARENAS] = {"arenas", "memwhy heap -p PID --for 30s", NULL, NULL, true},
	[WHERE_ARENAS_KEPT] = {"arenas_kept", "memwhy where -p PID --table arenas",
		"gdb -p PID -batch -ex 'call (int)malloc_trim(0)'",
		"gdb stops the process while this runs, and before gdb 14 fails on CPUs with AMX; "
		"it faults the pages in again when it allocates",
		true},
	[WHERE_USER_STACKS] = {"stacks", "ls /proc/PID/task", "fewer threads", NULL, true},
	[WHERE_FILE_PRIVATE] = {"file_private", "memwhy where -p PID --table owners", NULL, NULL,
		true},
	[WHERE_FILES] = {"files", "memwhy where -p PID --table owners", NULL,
		"the kernel drops what is clean as soon as it needs the memory", true},
	[WHERE_SPECIAL] = {"special", NULL, NULL, NULL, true},
};

static const struct where_words group[WHERE_ROWS] = {
	[WHERE_ANON] = {"anonymous", "memwhy where -g GROUP --table owners", NULL, NULL, true},
	[WHERE_CACHE] = {"page_cache", "memwhy reclaim -g GROUP --for 10s",
		"echo SIZE >memory.reclaim (version 2, since 5.19)", DROP_PRICE, true},
	[WHERE_SHARED] = {"shared_memory", "memwhy where --table owners", NULL, NULL, true},
	[WHERE_KERNEL] = {"kernel", "memwhy slab -g GROUP --for 10s", NULL, NULL, true},
};

const struct where_words *where_words(u32 scope, u32 row)
{
	const struct where_words *own = scope == WHERE_PROCESS ? process
					: scope == WHERE_GROUP ? group
							       : machine;

	if (row >= WHERE_ROWS)
		return &rest;
	if (own[row].name)
		return &own[row];
	return machine[row].name ? &machine[row] : &rest;
}

static u64 part(const struct where_ledger *l, u32 which)
{
	return l->parts[which];
}

/* What reclaim could take of page cache: what is on its lists, and neither waits for the disk nor
 * is locked. */
static u64 cache_reclaimable(const struct where_ledger *l)
{
	u64 busy = part(l, WHERE_P_DIRTY) + part(l, WHERE_P_WRITEBACK);
	u64 lists = MIN(part(l, WHERE_P_FILE_LRU), l->bytes[WHERE_CACHE]);

	return lists > busy ? lists - busy : 0;
}

bool where_reclaimable(const struct where_ledger *l, u32 row, u64 *ret)
{
	u64 idle = part(l, WHERE_P_HUGE_FREE), promised = part(l, WHERE_P_HUGE_RESERVED);

	if (row >= WHERE_ROWS || !where_knows(l, row))
		return false;
	switch (row) {
	case WHERE_FREE:
	case WHERE_FREE_CPU:
	case WHERE_SWAP_CACHE:
	case WHERE_KERNEL_MISC:
	case WHERE_HEAP_KEPT:
	case WHERE_ARENAS_KEPT:
		*ret = l->bytes[row];
		return true;
	case WHERE_CACHE:
		*ret = cache_reclaimable(l);
		return l->scope != WHERE_PROCESS;
	case WHERE_SLAB:
		*ret = MIN(part(l, WHERE_P_RECLAIMABLE_SLAB), l->bytes[row]);
		return true;
	case WHERE_HUGETLB:
		*ret = MIN(idle > promised ? idle - promised : 0, l->bytes[row]);
		return true;
	case WHERE_ANON:
	case WHERE_TMPFS:
	case WHERE_SHARED:
		*ret = MIN(part(l, WHERE_P_SWAP_FREE), l->bytes[row]);
		return l->scope == WHERE_MACHINE;
	default:
		*ret = 0;
		return true;
	}
}

const char *where_row_name(u32 scope, u32 row)
{
	return where_words(scope, row)->name;
}
