/* Private to the limit probe: pages of files that the group uses, out of the maps of its programs.
 */
#ifndef MEMWHY_PROBES_LIMIT_FILES_H
#define MEMWHY_PROBES_LIMIT_FILES_H

#include "capture/attach.h"
#include "probes/limit/limit.h"

/* capture.state of this probe. */
struct limit_state {
	u64 uses;
	u32 mask; /* what the map was last cleared by */
};

#define LIMIT_HOOKS 3

extern const struct attach_hook limit_hooks[LIMIT_HOOKS];

/* Adds one page to the sums of a record, as it stands at `now`, in ticks. */
void limit_use_add(const struct limit_use *u, u32 begin, u32 now, struct limit_files *r);

int limit_prepare(struct bpf_object *obj, const struct capture *c);
int limit_settle(
	struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events);
int limit_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks);

#endif
