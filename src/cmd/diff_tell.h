/* The words of `memwhy diff`: what the recordings have not in common, and what came of it. */
#ifndef MEMWHY_CMD_DIFF_TELL_H
#define MEMWHY_CMD_DIFF_TELL_H

#include "report/diff.h"

/* Adds the verdict and notes. */
void diff_tell(struct report *r, const struct diff_spec *s, const struct diff_result *res,
	bool judged, bool regression);
/* Adds what a recording beside the first one of its side says that this one does not. */
void diff_tell_other(struct report *r, const struct diff_spec *s, u32 side, const char *name,
	const struct report *of);

#endif
