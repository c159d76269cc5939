/* A kill in words: who died, who asked, why, and what led to it; and as bcc's oomkill says it. */
#ifndef MEMWHY_PROBES_OOM_STORY_H
#define MEMWHY_PROBES_OOM_STORY_H

#include "probes/oom/oom_kills.h"
#include "report/report.h"

/* Adds it as a finding. */
int oom_story(struct report *r, const struct kills *k, const struct kill *x);

extern const char oomkill_head[];
void oomkill_line(struct report *r, const struct kills *k, const struct kill *x, struct str *out);

#endif
