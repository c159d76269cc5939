/* -p, -c, -g, -C, --stacks and their like, checked and turned into what a session takes. */
#ifndef MEMWHY_CMD_SCOPE_H
#define MEMWHY_CMD_SCOPE_H

#include "capture/capture.h"
#include "cmd/options.h"

struct scope_words {
	char text[200];      /* "pid 12, comm sort" */
	char container[100]; /* its short name; "" without -C */
};

/* -EINVAL with the cause. ret's lists are to be freed by scope_free. */
int scope_from_options(const struct options *o, struct capture_options *ret,
	struct scope_words *ret_words, struct err *err);
/* Is there a command, and can something be preloaded into it? */
bool scope_is_tracked(const struct options *o);
/* Why nothing can be preloaded into the command; NULL: it can, or there is none. */
const char *scope_untracked_why(const struct options *o);
void scope_free(struct capture_options *opt);

/* Of `leak`: whose memory? A recording says itself what it is of. */
int scope_check_memory(const struct options *o, struct err *err);

#endif
