/*
 * One executed program and its forks: reads the file that the preload library writes
 * (tracker/ring.h) into the accounts of its processes. The file may contain anything if the program
 * has gone wild: at worst that spoils its own account.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_TRACKED_PROGRAM_H
#define MEMWHY_PROBES_HEAP_COLLECT_TRACKED_PROGRAM_H

#include "base/vec.h"
#include "event/wire.h"
#include "probes/heap/account/process.h"
#include "probes/heap/residence/residence.h"
#include "probes/heap/collect/rings.h"
#include "tracker/ring.h"

struct filters;     /* filters.h */
struct ring_reader; /* reads one ring */

struct tracked_program {
	u32 id;
	pid_t pid; /* of who asked for it */
	u64 cgroup;
	u32 before; /* as in heap_process */
	char comm[COMM_LEN];
	struct filters *filters; /* borrowed; NULL: nobody says who has a seccomp filter */
	u64 filters_key;         /* as filters_add() said */
	struct residence *residence; /* of its first process, until that is found */
	struct track_head *head;
	struct heap_process *processes[TRACK_PROCESSES]; /* by index in the file; NULL: none */
	struct heap_process *last[TRACK_PROCESSES]; /* as processes, and the last where it ended */
	struct ring_reader *readers[TRACK_SLOTS];
	u32 n_slots; /* of these that were ever used */
	u32 n_readers;
	struct rings rings;
	int file;    /* of the same memory, see image_is_unused() */
	u32 n_alive; /* processes */
	u32 n_ever;
	bool over; /* the last one ended just now */
	u64 open_ns;
	u64 active_ms; /* when one was last seen */
	bool pressed;  /* a ring was well filled when it was last read */
	bool held;     /* read only up to `until`, in units of the tracker … */
	bool waiting;  /* … and there was more, when it was last read */
	bool settled;  /* its rings are found by who asks (access_lookup.h): what is asked of the
			* past of  a process comes before anything of it is read */
	u64 until;
	u64 until_ms; /* the same: what is read is not booked later, as it is asked about */
	/* Makes what a new process of this program is; NULL: no memory. */
	struct heap_process *(*found)(struct tracked_program *program, u32 index, void *arg);
	void *arg;
};

/* Makes the file; *ret_file is its descriptor, to be handed to the program and closed. held: it is
 * read up to `until` only, so its first thread begins with a ring that has room for what waits. */
int tracked_open(
	u32 id, pid_t pid, u32 wait_ms, bool held, struct tracked_program **ret, int *ret_file);
/* Rings that were taken since the last look. */
int tracked_find(struct tracked_program *program);
/* Reads what is there. Returns how many words, or -errno. */
s64 tracked_read(struct tracked_program *program, u64 now_ms, news_buffer *news);
/* The process is over: reads all there is of it, also behind events that were never finished, and
 * gives its place in the file back. */
int tracked_end(
	struct tracked_program *program, struct heap_process *p, u64 now_ms, news_buffer *news);
/* Threads that are over give their rings back; to be called now and then. */
int tracked_sweep(struct tracked_program *program, u64 now_ms, news_buffer *news);
/* Nobody has the file any more, mapped or open: no program, no fork that has told nothing yet. What
 * these wrote last is there to be found. */
bool tracked_is_unused(const struct tracked_program *program);
/* Has this process mapped it? Yes, where that is not ours to see. */
bool tracked_is_of(const struct tracked_program *program, u32 pid);
/* What is written from now on is read by nobody. */
void tracked_close(struct tracked_program *program);

#endif
