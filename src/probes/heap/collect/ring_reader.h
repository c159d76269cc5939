/*
 * Reads the rings of one process into its account. Each ring is in order by itself, so the events
 * of several threads are merged by time. Times may be slightly early; but allocations and frees of
 * one address alternate, so an unexpected event waits for its predecessor, which is a little
 * further on in another ring. Events from after the clock reading that starts a merge wait for the
 * next merge; so no free is processed before its allocation, in whatever ring that is.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_RING_READER_H
#define MEMWHY_PROBES_HEAP_COLLECT_RING_READER_H

#include "probes/heap/collect/tracked_program.h"
#include "probes/heap/collect/block_lookup.h"

/* What was seen behind an event that is not finished. */
struct ring_gap {
	u64 at; /* its place, a tail */
	u64 since_ms;
	u32 behind; /* words; 0: nothing was seen */
	u32 grew;   /* how often it was more than before */
};

struct ring_reader {
	u64 *ring;
	u64 mask;
	u64 tail;
	u64 time_high; /* of the events that follow, see TRACK_TIME */
	u64 size;      /* of the next allocation, see TRACK_SIZE; 0: none was told */
	u64 slack;     /* the same, see TRACK_SLACK */
	u64 swept;     /* tail at the last sweep */
	u64 read;      /* tail at the last turn */
	u64 quiet_ms;  /* when it was first seen empty, or looked at since; 0: it was not */
	struct ring_gap gap;
	u64 name_ms;   /* when its thread's name is to be read again */
	u64 name_wait_ms;
	struct track_slot *slot;
	struct heap_process *process;
	u32 index;  /* of its slot */
	u32 grown;  /* its ring, as in track_slot */
	u32 given;  /* to go on in; 0: none */
	u32 left;   /* of which nobody writes any more; 0: none, or the first one */
	u32 full;   /* what track_slot's was */
	bool stays; /* it does not go to another one */
	u32 thread; /* in the account */
	u32 tid;
	bool moving; /* a realloc began */
	bool taking; /* its event waits for another's */
	struct account_moved moved;
	struct mapping_taken taken; /* by the last unmap or move of a mapping */
	u32 node;                   /* plus one; 0: not known */
	VEC(struct touch) misses;   /* of its accesses, see block_lookup.h */
};

/* grown: the ring that the slot began with. */
int ring_reader_open(struct track_head *head, u32 slot, u32 grown, struct heap_process *p,
	struct ring_reader **ret);
void ring_reader_close(struct ring_reader *c);
#define CURSOR_NO_LIMIT UINT64_MAX
/* Reads until there is nothing, or what is there is later than the limit, or a lap was read. */
int ring_reader_run(struct ring_reader *c, u64 limit, u64 now_ms, news_buffer *news);
/* The time of the next event; CURSOR_NO_LIMIT: there is none. */
u64 ring_reader_time(const struct ring_reader *c);
/* Where nothing came for long, an event may have begun here that is never finished. */
void ring_reader_unblock(struct ring_reader *c, bool at_once);
/*
 * Reads from all rings what has no time, or a time up to `until`, in the tracker's units. Returns
 * the words read, or -ENOMEM. now_ms: the time they are booked at, never before that of what was
 * read earlier.
 */
s64 ring_readers_read_until(
	struct ring_reader *const *readers, size_t n, u64 until, u64 now_ms, news_buffer *news);
/* Everything there is, when nobody writes any more. */
int ring_readers_finish(
	struct ring_reader *const *readers, size_t n, u64 now_ms, news_buffer *news);
/* Did it have to wait for room since the last call? held: or would it soon? No, where it was given
 * another ring, or all there is. */
bool ring_reader_wants(struct ring_reader *c, bool held);
/* It may go on in this ring, which is empty; 0: there is none. */
void ring_reader_give(struct ring_reader *c, u32 grown);
/* Has it gone on there, or will it never? */
void ring_reader_turn(struct ring_reader *c);
/* Was a good part of the ring read since the last call? Then there is no time to wait. */
bool ring_reader_was_pressed(struct ring_reader *c);
/* Was anything read since the last call? */
bool ring_reader_was_busy(struct ring_reader *c);
/* Is there anything to read; is half of the ring full? */
bool ring_reader_waits(const struct ring_reader *c);
bool ring_reader_is_full(const struct ring_reader *c);

#endif
