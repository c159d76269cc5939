/* `maps` printing as mmapsnoop, brkstack and shmsnoop do. Private to the view. */
#ifndef MEMWHY_PROBES_MAPS_LOOKS_H
#define MEMWHY_PROBES_MAPS_LOOKS_H

#include "base/groups.h"
#include "probes/maps/maps.h"
#include "report/report.h"

extern const char mmapsnoop_head[], shmsnoop_head[];

/* A line for one call that the tool would print, or nothing. */
void mmapsnoop_line(const struct maps_event *e, struct str *out);
void shmsnoop_line(const struct maps_event *e, struct str *out);

struct brkstack_key {
	char comm[COMM_LEN];
	u64 stack;
};

/* All that brkstack has counted (struct brkstack_key -> u64 calls), fewest calls first. */
void brkstack_lines(const struct groups *g, struct report *r, struct str *out);

#endif
