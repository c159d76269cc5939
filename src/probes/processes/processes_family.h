/*
 * Groups processes of one program, such as the workers of a server: each may be small or
 * short-lived, so the sum is reported. Owns who belongs together. Private to the processes probe.
 */
#ifndef MEMWHY_PROBES_PROCESSES_FAMILY_H
#define MEMWHY_PROBES_PROCESSES_FAMILY_H

#include "base/groups.h"
#include "probes/processes/processes_table.h"

#define FAMILIES_SENT 8

struct family_key {
	char comm[COMM_LEN];
	u32 leader; /* the first of them, or the parent that has another name */
	u32 reserved;
};

struct family {
	u32 processes, first_processes;
	u64 anon_bytes, first_anon_bytes, rss_bytes;
	u64 first_ns;
	u64 oldest_ns; /* start of the oldest, of CLOCK_MONOTONIC; 0: not known */
	u32 biggest;   /* pid */
	u64 biggest_bytes;
	bool seen; /* in an earlier scan, too */
	bool sends;
};

/* To be initialised before its first use. */
struct processes_families {
	struct groups all; /* struct family_key -> struct family */
};

void processes_families_init(struct processes_families *f);
/* Sums up the processes of a table that was just scanned. */
int processes_families_sum(
	struct processes_families *f, const struct processes_table *t, u64 now_ns);
/* Sends those that grow most; names them. */
int processes_families_send(struct processes_families *f, struct capture *c);
void processes_families_free(struct processes_families *f);

#endif
