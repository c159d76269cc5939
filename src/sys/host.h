/*
 * The facts of this machine that do not change while memwhy runs, read once. Owns where each is
 * found, and what stands in where a kernel or a container does not show it.
 */
#ifndef MEMWHY_SYS_HOST_H
#define MEMWHY_SYS_HOST_H

#include "sys/idset.h"
#include "sys/memory/zone.h"

#define HOST_WORD_MAX 32

struct host {
	char release[65]; /* as uname -r */
	u64 page_bytes;
	u64 mem_total_bytes; /* MemTotal: what the kernel manages. 0 where it cannot be read */
	u32 cpus;            /* online, at least 1 */
	u32 nodes;           /* online, at least 1 */
	struct idset cpus_online;
	struct idset nodes_online;
	/* The node of each cpu id; 0 for cpus that no node lists. */
	u16 cpu_node[IDSET_MAX];
	u32 pageblock_order;
	/* Worked out from the PMD size, since pagetypeinfo costs other tasks milliseconds: they are
	 * the same on x86-64 but where CONFIG_PAGE_BLOCK_MAX_ORDER (newest kernels) makes it
	 * smaller. */
	bool pageblock_derived;
	bool has_btf; /* /sys/kernel/btf/vmlinux */
	/* "none", "integrity", "confidentiality"; "" where the kernel does not say. */
	char lockdown[HOST_WORD_MAX];
};

/* Never fails: what cannot be read gets the value said above. */
void host_read(struct host *ret);

#endif
