/* The words of `memwhy diff`: what the two recordings have not in common, and what came of it. */
#ifndef MEMWHY_CMD_DIFF_TELL_H
#define MEMWHY_CMD_DIFF_TELL_H

#include "report/diff.h"

/* Adds the verdict and notes. */
void diff_tell(struct report *r, const struct diff_spec *s, const struct diff_result *res,
	bool regression);

#endif
