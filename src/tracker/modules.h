/* Which file the code at an address is from: told once for each, so that stacks have names also
 * when the program is gone. */
#ifndef MEMWHY_TRACKER_MODULES_H
#define MEMWHY_TRACKER_MODULES_H

#include "tracker/thread.h"

struct link_map;

/* A file that is loaded. */
struct loaded {
	u64 start; /* where its head is */
	u64 end;
	const void *eh_frame_header; /* NULL: it has none */
	const struct link_map *map;
};

/* 0: the place is in no file that the loader knows. */
int loaded_find(u64 place, struct loaded *ret);
void loaded_tell(struct thread *t, const struct loaded *o);
void loaded_forget(void);

#endif
