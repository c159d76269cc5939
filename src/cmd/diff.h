/* The parts of `memwhy diff`: its recordings, what it says of them, and its long texts. */
#ifndef MEMWHY_CMD_DIFF_H
#define MEMWHY_CMD_DIFF_H

#include "cmd/recording.h"
#include "cmd/run_take.h"
#include "report/diff.h"

/* The recordings that it compares: one or several before, one or several after. */
struct diff_input {
	const char *path;
	u32 side; /* 0: before, 1: after */
	int fd;   /* 0: not open */
	bool damaged;
	struct stream facts; /* of one that was read and is gone; names NULL: none */
};

struct diff_inputs {
	VEC(struct diff_input) v; /* those before first */
	size_t first[2];          /* of each side, in v */
};

#define DIFF_INPUTS_MAX 100 /* of a side */

/* From the command line: two operands, or lists of them on both sides of "--". -EINVAL. */
int diff_inputs_name(struct diff_inputs *in, const struct options *o, struct err *err);
/* Is a path (may be NULL) the file of one of them? Returns that path, or NULL. */
const char *diff_inputs_find(const struct diff_inputs *in, const char *path);
/* Opens all of them, and gives up what is not needed to read them: see recording_enter(). */
int diff_inputs_enter(struct diff_inputs *in, const struct probe *of, const struct options *o,
	bool *ret_unfiltered, struct err *err);
void diff_inputs_free(struct diff_inputs *in);

/* What the recordings have not in common, and what came of it. */

/* Adds the verdict and notes. */
void diff_tell(struct report *r, const struct diff_spec *s, const struct diff_result *res,
	bool judged, bool regression);
/* Adds what a recording beside the first one of its side says that this one does not. */
void diff_tell_other(struct report *r, const struct diff_spec *s, u32 side, const char *name,
	const struct report *of);

extern const char diff_details[], diff_output[];

#endif
