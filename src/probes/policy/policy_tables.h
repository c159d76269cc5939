/* The tables of `policy show`: mappings with their policies, nodes, threads. */
#ifndef MEMWHY_PROBES_POLICY_TABLES_H
#define MEMWHY_PROBES_POLICY_TABLES_H

#include "base/groups.h"
#include "base/vec.h"
#include "probes/policy/policy.h"
#include "report/view.h"

#define POLICY_PICTURE 20 /* characters of the picture of a mapping */

/* A mapping as it is kept: its pages by node are `count` pairs from `first` on in `pairs`. */
struct policy_mapped {
	struct policy_mapping m;
	u32 first, count;
	u64 bytes; /* present */
};

struct policy_show {
	VEC(struct policy_mapped) places;
	VEC(u32) pairs;
	VEC(struct policy_thread) threads;
	struct groups nodes; /* node -> struct policy_node */
};

extern const struct view_table policy_show_tables[];

void policy_show_init(struct policy_show *s);
int policy_show_feed(struct policy_show *s, const struct rec *r);
int policy_show_report(struct policy_show *s, struct report *r);
void policy_show_reset(struct policy_show *s);
void policy_show_free(struct policy_show *s);

/* The picture of how pages spread over nodes: each character stands for its share of `total`, and
 * is the node's digit (letters from 10 on, '*' from 36 on). pairs: n of node and pages. */
void policy_picture_add(struct str *out, const u32 *pairs, u32 n);

#endif
