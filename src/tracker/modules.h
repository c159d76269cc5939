/* Which file the code at an address is from: written to each ring before the first stack there that
 * it is in, so that stacks have names also when the program is gone, whichever ring is read first.
 */
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

/* A hash of one word more. */
static inline u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* 0: the place is in no file that the loader knows. */
int loaded_find(u64 place, struct loaded *ret);
/* 0: there was no room, so it is not written. */
int loaded_tell(struct thread *t, const struct loaded *o);
/* Soon no file can be asked for: finds out what is needed to tell of those that are loaded. */
void loaded_prepare(void);
/* For each file that code is looked up in, once after each loaded_forget(). */
void loaded_note(const struct loaded *o);
/* Changes when another file is seen where one was: a stack of the same addresses is another one.
 * With the same files at the same places it has the same value again. */
u64 loaded_others(void);
/* Files may have gone. */
void loaded_forget(void);

#endif
