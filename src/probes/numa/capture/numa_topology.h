/*
 * The nodes and CPUs of a machine as records: of this one from sysfs, or of another from a file
 * (--topology). Pure parsing apart from reading. Knows no samples.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_TOPOLOGY_H
#define MEMWHY_PROBES_NUMA_CAPTURE_TOPOLOGY_H

#include "base/err.h"
#include "capture/capture.h"
#include "probes/numa/numa.h"
#include "sys/idset.h"

struct numa_topology {
	struct numa_node nodes[NUMA_NODES];
	u64 known; /* a bit a node */
	VEC(struct numa_cpu) cpus;
	struct idset placed; /* the same CPUs: each is on one node */
};

void numa_topology_free(struct numa_topology *t);
/*
 * A text with a line a node, '#' begins a comment:
 *	node 0 cpus 0-7,16-23 bytes 16G distances 10,21 tier 4
 * Only `node N` and `cpus LIST` are needed; `cpus -` for a node without. -EINVAL says which line.
 */
int numa_topology_parse(const char *text, struct numa_topology *ret, struct err *err);
/* The topology of this machine. What sysfs does not show is not known. */
int numa_topology_read(struct numa_topology *ret);
int numa_topology_send(struct capture *c, const struct numa_topology *t);

#endif
