/* What a run of the rules is, beside the rules: for those who take one by themselves. */
#ifndef MEMWHY_CMD_CHECK_H
#define MEMWHY_CMD_CHECK_H

#include "cmd/options.h"
#include "report/report.h"

/* Turns on what the rules need as input. */
void check_prepare(struct options *o);
/* Adds the verdict, and what to run next. */
void check_conclude(struct report *r);

#endif
