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
void scope_free(struct capture_options *opt);

#endif
