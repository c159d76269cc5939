/*
 * What a perf.data file says about the machine and the session it was recorded in: its features.
 * Decodes them, each on its own, out of bytes that may hold anything. Strings and arrays belong to
 * the host's arena.
 */
#ifndef MEMWHY_PERFDATA_RECORDED_HOST_H
#define MEMWHY_PERFDATA_RECORDED_HOST_H

#include "base/arena.h"
#include "base/vec.h"
#include "perfdata/format.h"

struct cursor;

#define PERFDATA_NODE_MAX 1024 /* nodes of Linux: 1 << CONFIG_NODES_SHIFT, at most */

struct perfdata_range {
	u64 first, last;
};

/* A node of the machine. */
struct perfdata_node {
	u32 id;
	u64 total_bytes, free_bytes; /* 0: not known */
	VEC(struct perfdata_range) cpus;
};

/* Memory of a node: physical addresses [start, end). */
struct perfdata_memory {
	u64 start, end;
	u32 node;
};

struct perfdata_build_id {
	u32 pid;  /* -1: the host's; of a guest */
	u16 mode; /* enum perfdata_mode */
	u8 len;
	u8 id[20];
	const char *path;
};

/* What the file does not say is NULL or 0. */
struct perfdata_host {
	const char *hostname, *release, *version, *arch, *cpu, *cpuid;
	u32 cpus_online, cpus_present;
	u64 memory_bytes;
	u32 argc;
	const char **argv;     /* the command line of perf */
	u64 first_ns, last_ns; /* times of the first and last sample */
	u64 clock_resolution_ns;
	u32 clockid; /* with wall_ns: this clock said clock_ns at wall_ns */
	u64 wall_ns, clock_ns;
	u32 compression, compression_level, compression_ratio;
	bool directory;                     /* the records are in files beside */
	VEC(struct perfdata_node) nodes;    /* by id */
	VEC(struct perfdata_memory) memory; /* by start */
	VEC(struct perfdata_build_id) build_ids;
	struct arena arena;
};

/* Takes the bytes of a feature. 0, -EBADMSG if they are malformed (nothing is kept of them then),
 * -ENOMEM. EVENT_DESC is not taken here: see events.h. */
int host_take(struct perfdata_host *h, u32 feature, struct cursor *c);
/* A record BUILD_ID of a pipe, or an entry of the feature; the cursor is after the head. */
int host_build_id(struct perfdata_host *h, const struct perfdata_head *head, struct cursor *c);
void host_free(struct perfdata_host *h);

/* A string as perf writes it: its length with padding, then text. NULL if it is malformed. */
const char *host_string(struct cursor *c);

/* -1: the file does not say. */
int perfdata_node_of_cpu(const struct perfdata_host *h, u32 cpu);
int perfdata_node_of_memory(const struct perfdata_host *h, u64 phys_addr);

#endif
