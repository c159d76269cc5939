/* Private to the where probe: huge pages of a process that it hardly uses. */
#ifndef MEMWHY_PROBES_WHERE_HUGE_H
#define MEMWHY_PROBES_WHERE_HUGE_H

#include "probes/where/where.h"
#include "report/report.h"

/* Adds a finding where a good part of a process's memory is unused parts of huge pages. */
void where_huge_advise(const struct where_ledger *l, struct report *r);

#endif
