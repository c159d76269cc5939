/*
 * The events of one process on their way into a recording: which block of all so far an address is,
 * and chunks of code of what happened, as news. Told of each event as the account is, behind it.
 */
#ifndef MEMWHY_PROBES_HEAP_EVENTS_EVENT_WRITER_H
#define MEMWHY_PROBES_HEAP_EVENTS_EVENT_WRITER_H

#include "probes/heap/events/event_code.h"
#include "probes/heap/account/process.h"

struct event_writer;

/* process, program: as the news are to say. */
int event_writer_open(u32 process, u32 program, struct event_writer **ret);
void event_writer_close(struct event_writer *w);
/* There is one more thread: as account_thread(). */
int event_writer_thread(struct event_writer *w, u32 tid);
/* As account_alloc(). */
int event_writer_alloc(struct event_writer *w, u32 thread, u64 address, u64 size, u64 slack,
	u32 stack, bool moved, u64 now_ms);
/* As account_free(). move: it may be undone. */
int event_writer_free(struct event_writer *w, u32 thread, u64 address, bool move, u64 now_ms);
/* As account_restore(), of the thread's last free that may be undone. */
int event_writer_restore(struct event_writer *w, u32 thread, u64 now_ms);
/* The event of this address is about to come. */
void event_writer_prefetch(const struct event_writer *w, u64 address);

/* Hands on the chunks that are complete; all: what there is of the last one too. Behind the head of
 * each: how many events were in those before, its bytes, and these. -ENOMEM */
int event_writer_flush(struct event_writer *w, bool all, news_buffer *news);

#endif
