/*
 * One process whose heap is accounted for, and the news of it: what has to be named, or written
 * into a recording, while its program is there. Knows nothing of how its events come.
 */
#ifndef MEMWHY_PROBES_HEAP_ACCOUNT_PROCESS_H
#define MEMWHY_PROBES_HEAP_ACCOUNT_PROCESS_H

#include "base/vec.h"
#include "event/wire.h"
#include "probes/heap/account/account.h"
#include "probes/heap/account/mappings.h"

struct ring_reader;  /* collect/ring reader.h */
struct block_lookup; /* collect/touched.h */
struct event_writer; /* events/event_writer.h */
struct residence;    /* residence/residence.h */

/* What has to be named before the program is gone, in the order it came: see collector_news(). */
enum news_kind { NEWS_MODULE, NEWS_STACK, NEWS_EVENTS };

struct news {
	u32 kind;
	u32 words; /* that follow */
	u32 process;
	u32 thread; /* in account.threads: who reported it; files are reported before the stacks */
	u32 number; /* of a stack */
	u32 program;
	u64 v[]; /* NEWS_STACK: addresses, innermost first; NEWS_MODULE: as the program sent it;
		  * NEWS_EVENTS: see event_writer_flush() */
};

/* Addresses of struct news. */
typedef VEC(u64) news_buffer;

struct thread_name {
	char comm[COMM_LEN];
};

struct heap_process {
	struct account account;
	struct mappings mappings;
	u32 id;                              /* among all of the session, from 1 on */
	u32 index;                           /* in the program's file */
	u32 parent;                          /* id of what it is a fork of; 0: none */
	const struct heap_process *original; /* the same; NULL: none */
	u32 before;   /* id of what it was before exec, or of who started it; 0: none known */
	u32 program;  /* id of the program */
	u32 pid;      /* as we see it, where that is known */
	int pidfd;    /* -1: none */
	bool foreign; /* in a pid namespace of its own: its pids mean nothing to us */
	bool gone;    /* its end was noticed; it may still be asked about */
	bool ended;
	bool sent;  /* how it stood at its end */
	u64 cgroup; /* 0: not known */
	u64 start_ns, end_ns;
	u64 looked, high_before; /* events and most bytes at the last look, see combined_peak.c */
	u64 dropped;             /* events that found no room in time, or were never finished */
	VEC(struct ring_reader *) readers;
	VEC(struct thread_name) names; /* by index in account.threads */
	char comm[COMM_LEN];
	struct block_lookup *touched; /* NULL: nobody asks which blocks were accessed */
	struct event_writer *events;  /* NULL: they are not recorded */
	u64 ahead;                   /* its events were read up to here, later than was asked for */
	u64 gone_ns;                 /* when that was noticed; 0: not yet */
	u64 program_ns;              /* when its program asked for its file: after its own exec */
	u64 exec_ns;                 /* when it became another program; 0: not known to */
	struct residence *residence; /* NULL: its faults are not counted */
};

/* The ages of its live blocks; old is what is from the first third of its time. */
int heap_process_look(struct heap_process *p, u64 now_ms);

#endif
