/* The table of kills: its columns, and the words for its values. */
#ifndef MEMWHY_PROBES_OOM_TABLES_H
#define MEMWHY_PROBES_OOM_TABLES_H

#include "probes/oom/oom_kills.h"
#include "report/report.h"
#include "report/view.h"

extern const struct view_table oom_kill_tables[];

/* NULL: no memory. */
struct table *oom_tables_kills(struct report *r, bool stacks);
struct table *oom_tables_each(struct report *r); /* --each */
int oom_kill_row(struct table *t, struct report *r, const struct kills *k, const struct kill *x);

/* The group at its limit; NULL where that is none, or not known. */
const char *oom_cgroup_name(struct report *r, const struct kill *x);
/* "GFP_KERNEL", NULL: not known. */
const char *oom_gfp_name(struct report *r, const struct kill *x);
bool oom_order(const struct kill *x, s32 *ret);

/* A kill in words: who died, who asked, why, and what led to it; and as bcc's oomkill says it
 * (oom_story.c). */

/* Adds it as a finding. */
int oom_story(struct report *r, const struct kills *k, const struct kill *x);

extern const char oomkill_head[];
void oomkill_line(struct report *r, const struct kills *k, const struct kill *x, struct str *out);

#endif
