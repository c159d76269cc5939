/*
 * Private to the processes probe: which code path makes a process grow, or fault all the time. One
 * after the other is looked at for a second, by stacks that need no frame pointers. Owns who is
 * looked at when; sends records of it.
 */
#ifndef MEMWHY_PROBES_PROCESSES_PATHS_H
#define MEMWHY_PROBES_PROCESSES_PATHS_H

#include "base/groups.h"
#include "capture/unwind/stack_samples.h"
#include "probes/processes/processes_table.h"

struct processes_paths {
	struct groups done;     /* struct path_of -> u8 */
	u64 next_ns, reader_ns; /* tables cost the readers CPU time: then there is a pause */
	struct path_of {
		u32 pid, reserved;
		u64 start_ticks;
	} now; /* whose samples these are */
	bool grows;
	u64 until_ns;
	struct stack_samples *samples; /* NULL: nobody is looked at */
};

/* Before rights are given up. */
int processes_paths_open(struct processes_paths *p, struct capture *c);
/* To be called at each sample. chosen: who stands out has just been read anew. */
int processes_paths_step(struct processes_paths *p, struct capture *c,
	const struct processes_table *t, bool chosen, u64 now_ns);
void processes_paths_free(struct processes_paths *p);

#endif
