/* Whether processes have ended, all of them; one that has not is watched until it does. */
#ifndef MEMWHY_RECORD_ENDING_H
#define MEMWHY_RECORD_ENDING_H

#include "base/util.h"

struct ending {
	u32 pid; /* the one that is watched; 0: none */
	int fd;
};

/* To be polled for POLLIN, and then ending_is_over to be asked. -1: nothing can tell. */
int ending_fd(const struct ending *e);
bool ending_is_over(struct ending *e, const u32 *pids, size_t n);
void ending_close(struct ending *e);

#endif
