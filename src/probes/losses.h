/* Why a probe lost events, and what helps. */
#ifndef MEMWHY_PROBES_LOSSES_H
#define MEMWHY_PROBES_LOSSES_H

#include "bpf/shared.h"

struct capture;

/* What helps where tables are full depends on what makes keys many. */
const char *losses_table_full(const struct capture *c);
/* The reason of most losses. */
const char *losses_reason(const struct capture *c, const struct probe_counts *n);

#endif
