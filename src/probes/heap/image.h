/*
 * One executed program and its forks: the file that the preload library writes to (tracker/ring.h),
 * read into the accounts of its processes. Reads what a program gone wild may have written: the
 * worst it can do is to spoil its own account.
 */
#ifndef MEMWHY_PROBES_HEAP_IMAGE_H
#define MEMWHY_PROBES_HEAP_IMAGE_H

#include "base/vec.h"
#include "event/wire.h"
#include "probes/heap/account.h"
#include "probes/heap/mappings.h"
#include "probes/heap/residence.h"
#include "probes/heap/rings.h"
#include "tracker/ring.h"

/* What has to be named before the program is gone, in the order it came: see collector_news(). */
enum news_kind { NEWS_MODULE, NEWS_STACK, NEWS_EVENTS };

struct news {
	u32 kind;
	u32 words; /* that follow */
	u32 process;
	u32 thread; /* in account.threads: who told of it; files are told of before the stacks */
	u32 number; /* of a stack */
	u32 image;
	u64 v[]; /* NEWS_STACK: addresses, innermost first; NEWS_MODULE: as the program sent it;
		  * NEWS_EVENTS: see event_writer_flush() */
};

/* Of struct news. */
typedef VEC(u64) news_buffer;

struct thread_name {
	char comm[COMM_LEN];
};

struct heap_process {
	struct account account;
	struct mappings mappings;
	u32 id;                              /* among all of the session, from 1 on */
	u32 index;                           /* in the image's file */
	u32 parent;                          /* id of what it is a fork of; 0: none */
	const struct heap_process *original; /* the same; NULL: none */
	u32 before;   /* id of what it was before exec, or of who started it; 0: none known */
	u32 image;    /* id of the program */
	u32 pid;      /* as we see it, where that is known */
	int pidfd;    /* -1: none */
	bool foreign; /* in a pid namespace of its own: its pids mean nothing to us */
	bool gone;    /* its end was noticed; it may still be asked about */
	bool ended;
	bool sent;  /* how it stood at its end */
	u64 cgroup; /* 0: not known */
	u64 start_ns, end_ns;
	u64 looked, high_before; /* events and most bytes at the last look, see together.c */
	u64 dropped;             /* events that found no room in time, or were never finished */
	VEC(struct cursor *) cursors;
	VEC(struct thread_name) names; /* by index in account.threads */
	char comm[COMM_LEN];
	struct touched *touched;     /* NULL: nobody asks which blocks were accessed */
	struct event_writer *events; /* NULL: they are not recorded */
	u64 ahead;                   /* its events were read up to here, later than was asked for */
	u64 gone_ns;                 /* when that was noticed; 0: not yet */
	u64 image_ns;                /* when its program asked for its file: after its own exec */
	u64 exec_ns;                 /* when it became another program; 0: not known to */
	struct residence *residence; /* NULL: its faults are not counted */
};

/* The ages of its live blocks; old is what is from the first third of its time. */
int heap_process_look(struct heap_process *p, u64 now_ms);

struct cursor; /* reads one ring */

struct image {
	u32 id;
	pid_t pid; /* of who asked for it */
	u64 cgroup;
	u32 before; /* as in heap_process */
	char comm[COMM_LEN];
	struct residence *residence; /* of its first process, until that is found */
	struct track_head *head;
	struct heap_process *processes[TRACK_PROCESSES]; /* by index in the file; NULL: none */
	struct heap_process *last[TRACK_PROCESSES]; /* as processes, and the last where it ended */
	struct cursor *cursors[TRACK_SLOTS];
	u32 n_slots; /* of these that were ever used */
	u32 n_cursors;
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
	bool settled;  /* its rings are found by who asks (answers.h): what is asked of the past of
			* a process comes before anything of it is read */
	u64 until;
	u64 until_ms; /* the same: what is read is not booked later, as it is asked about */
	/* Makes what a new process of this image is; NULL: no memory. */
	struct heap_process *(*found)(struct image *image, u32 index, void *arg);
	void *arg;
};

/* Makes the file; *ret_file is its descriptor, to be handed to the program and closed. held: it is
 * read up to `until` only, so its first thread begins with a ring that has room for what waits. */
int image_open(u32 id, pid_t pid, u32 wait_ms, bool held, struct image **ret, int *ret_file);
/* Rings that were taken since the last look. */
int image_find(struct image *image);
/* Reads what is there. Returns how many words, or -errno. */
s64 image_read(struct image *image, u64 now_ms, news_buffer *news);
/* The process is over: reads all there is of it, also behind events that were never finished, and
 * gives its place in the file back. */
int image_end(struct image *image, struct heap_process *p, u64 now_ms, news_buffer *news);
/* Threads that are over give their rings back; to be called now and then. */
int image_sweep(struct image *image, u64 now_ms, news_buffer *news);
/* Nobody has the file any more, mapped or open: no program, no fork that has told nothing yet. What
 * these wrote last is there to be found. */
bool image_is_unused(const struct image *image);
/* Has this process mapped it? Yes, where that is not ours to see. */
bool image_is_of(const struct image *image, u32 pid);
/* What is written from now on is read by nobody. */
void image_close(struct image *image);

#endif
