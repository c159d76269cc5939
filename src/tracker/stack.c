/*
 * See stack.h. Stacks are told apart by a 64-bit hash of their return addresses.
 *
 * Two stacks of a thread that follow each other mostly have their outer frames in common. So the
 * walk compares each frame with those of the last stack: where instruction and stack pointer are
 * the same, and all that the rest of the walk would read has not changed, the rest would come out
 * the same. It reads return addresses; the frame pointer, and the places where it was saved, only
 * if some frame further out is found by it: most code keeps other things in that register. It reads
 * them where they lie, so only frames on the thread's own stack are compared, and only by a walk
 * that began there, further down (frames.h).
 */
#include "tracker/stack.h"

#include <sys/mman.h>

#include "tracker/forbid.h"
#include "tracker/frames.h"
#include "tracker/modules.h"
#include "tracker/own_stack.h"

struct memo_frame {
	u64 ip; /* one more where a signal came, as if it were a return address */
	u64 sp, bp;
	u64 bp_at; /* as in frame_regs; 0 also where bp is not needed */
	u64 hash;  /* of this frame and all outside of it */
	u32 rule;  /* of the step to the next frame */
	u8 needs;  /* that step, or one further out, reads this frame's bp */
};

/* Code of a file. */
struct memo_file {
	u64 start, end;
};

#define FILES 64 /* of those that fall out is told again */

/* Outermost frame first. New ones are collected at the end of the room, in the same order. */
struct memo {
	struct own_walk walk; /* the memo is used by a walk: a signal handler has to do without */
	u32 n;
	u32 own; /* so many are on the thread's own stack, and all that memo_holds() reads of them
		  */
	u32 files_n; /* that the ring was told of, ever since it was begun or code went */
	struct memo_file files[FILES];
	struct frame_copy copy;
	struct memo_frame frames[2 * TRACK_DEPTH];
};

struct known {
	u64 hash; /* 0: free */
	u32 number;
	u32 reserved;
};

struct table {
	u64 mask;
	u64 bytes;
	struct known v[];
};

#define TABLE_FIRST 4096
#define TABLE_MAX (1ULL << 23)

static struct table *table; /* an old one is left to those that may be reading it */
static u32 table_used;
static u32 table_lock;
static struct memo *memos[TRACK_SLOTS];

static void *pages(u64 bytes)
{
	long at;

	at = may_call(
		SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at < 0 && at > -4096 ? NULL : (void *)at;
}

struct memo *stack_memo(u32 slot)
{
	struct memo *m = memos[slot];

	if (!m)
		m = memos[slot] = pages(sizeof(*m));
	if (m)
		m->n = m->own = m->files_n = 0;
	return m;
}

void stack_forget(void)
{
	__atomic_add_fetch(&stacks_forgotten, 1, __ATOMIC_RELAXED);
	frame_forget();
}

static struct table *table_new(u64 entries)
{
	u64 bytes = sizeof(struct table) + entries * sizeof(struct known);
	struct table *t = pages(bytes);

	if (t)
		t->mask = entries - 1, t->bytes = bytes;
	return t;
}

static void table_insert(struct table *t, u64 hash, u32 number)
{
	for (u64 i = hash & t->mask;; i = (i + 1) & t->mask) {
		u64 none = 0;

		if (__atomic_compare_exchange_n(
			    &t->v[i].hash, &none, hash, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
			none == hash) {
			__atomic_store_n(&t->v[i].number, number, __ATOMIC_RELEASE);
			return;
		}
	}
}

/* What another thread inserts meanwhile may be missing in the new table: it gets one more number.
 */
static void table_grow(void)
{
	struct table *old = table, *grown;

	if (__atomic_exchange_n(&table_lock, 1, __ATOMIC_ACQUIRE))
		return;
	if (old == table && (!old || old->mask + 1 < TABLE_MAX)) {
		grown = table_new(old ? 4 * (old->mask + 1) : TABLE_FIRST);
		for (u64 i = 0; grown && old && i <= old->mask; i++)
			if (old->v[i].hash && old->v[i].number)
				table_insert(grown, old->v[i].hash, old->v[i].number);
		if (grown)
			__atomic_store_n(&table, grown, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&table_lock, 0, __ATOMIC_RELEASE);
}

void stack_prepare(void)
{
	while (!table || (table->mask + 1 < TABLE_FIRST * 4 && table->mask + 1 < TABLE_MAX) ||
		table_used > table->mask / 16) {
		struct table *old = table;

		table_grow();
		if (table == old)
			break;
	}
}

/* 0: it is not known. */
static inline u32 tracker_stack_table_find(u64 hash)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

	for (u64 i = hash; t; i++) {
		struct known *k = &t->v[i & t->mask];
		u64 h = __atomic_load_n(&k->hash, __ATOMIC_ACQUIRE);

		if (likely(h == hash))
			return __atomic_load_n(&k->number, __ATOMIC_ACQUIRE);
		if (!h)
			break;
	}
	return 0;
}

static void table_add(u64 hash, u32 number)
{
	u64 used = __atomic_add_fetch(&table_used, 1, __ATOMIC_RELAXED);

	if (!table || used > table->mask / 2)
		table_grow();
	if (table && used < table->mask - table->mask / 8)
		table_insert(table, hash, number);
}

static int file_is_in(const struct memo_file *f, u64 place)
{
	return place >= f->start && place < f->end;
}

static int file_is_told(const struct memo *m, u64 place)
{
	u32 n = m->files_n < FILES ? m->files_n : FILES;

	for (u32 i = 0; i < n; i++)
		if (file_is_in(&m->files[i], place))
			return 1;
	return 0;
}

/* Tells of the files that a stack's code is from. m: NULL where it is not to be touched. */
static void files_tell(struct thread *t, struct memo *m, const u64 *ips, long stride, u32 depth)
{
	struct memo_file last = {};

	for (u32 i = 0; i < depth; i++) {
		u64 place = ips[i * stride] - 1;
		struct loaded o;

		if (file_is_in(&last, place) || (m && file_is_told(m, place)))
			continue;
		if (!loaded_find(place, &o) || !loaded_tell(t, &o))
			continue;
		last = (struct memo_file){o.start, o.end};
		if (m)
			m->files[m->files_n++ % FILES] = last;
	}
}

/* Sends a stack that has no number yet. ips: innermost first, each `stride` words after the last
 * (or before it). m: as in files_tell. */
static u32 stack_send(
	struct thread *t, struct memo *m, u64 hash, const u64 *ips, long stride, u32 depth)
{
	u32 number = __atomic_fetch_add(&track->next_stack, 1, __ATOMIC_RELAXED);
	u64 at;

	if (number >> TRACK_STACK_BITS) {
		track->next_stack = 1U << TRACK_STACK_BITS;
		return 0;
	}
	files_tell(t, m, ips, stride, depth);
	if (!thread_reserve_aside(t, depth + 1, &at))
		return 0;
	for (u32 i = 0; i < depth; i++)
		thread_put(t, at + 1 + i, ips[i * stride] << TRACK_ARG_SHIFT);
	thread_put(t, at,
		(u64)number << TRACK_VALUE_SHIFT | (u64)depth << TRACK_ARG_SHIFT | TRACK_STACK);
	table_add(hash, number);
	return number;
}

/* The number of a stack; arguments as of stack_send(). hash: of its return addresses. */
static inline u32 tracker_stack_number_of(
	struct thread *t, struct memo *m, u64 hash, const u64 *ips, long stride, u32 depth)
{
	u32 number;

	hash ^= loaded_others();
	hash = hash ? hash : 1; /* 0 is a free place */
	number = tracker_stack_table_find(hash);
	return likely(number) ? number : stack_send(t, m, hash, ips, stride, depth);
}

/* Too deep for the frames of the memo; or without it (NULL): in a signal handler that interrupted
 * its use. */
static u32 stack_plain(struct thread *t, struct memo *m, const u64 *frame)
{
	u64 ips[TRACK_DEPTH], hash = 0;
	struct frame_regs r;
	u32 n = 0;

	frame_start(t, m ? &m->copy : NULL, frame, &r);
	do
		ips[n++] = r.ip + r.exact;
	while (n < TRACK_DEPTH && frame_step(t, &r));
	for (u32 i = n; i > 0; i--)
		hash = mix(hash, ips[i - 1]);
	return tracker_stack_number_of(t, m, hash, ips, 1, n);
}

/* Would the walk from frame k outwards come out as it did? k is at most m->own. */
static inline int memo_holds(const struct memo *m, u32 k)
{
	for (; k > 0; k--) {
		const struct memo_frame *f = &m->frames[k - 1];

		if (unlikely(*(const u64 *)(f->sp - 8) != f->ip))
			return 0;
		if (f->bp_at &&
			unlikely(f->bp_at == FRAME_BP_UNKNOWN || *(const u64 *)f->bp_at != f->bp))
			return 0;
	}
	return 1;
}

static inline int frame_is_same(const struct memo_frame *f, const struct frame_regs *r)
{
	return f->sp == r->sp && f->ip == r->ip && (!f->needs || f->bp == r->bp) && !r->exact;
}

/* outer: does the next frame need its bp? */
static inline u8 bp_needed(u32 rule, u8 outer)
{
	if (likely((rule & 3) == FRAME_SP))
		return rule & FRAME_SAVED ? 0 : outer;
	return rule != FRAME_END;
}

/* Where a frame's bp was found, if that is to be compared. What a rare rule found is unknown
 * altogether. */
static inline u64 bp_place(u64 bp_at, u8 needs)
{
	return needs || bp_at == FRAME_BP_UNKNOWN ? bp_at : 0;
}

/* Of these frames, from k on: how many are on the thread's own stack, each further down than the
 * ones outside of it? */
static __attribute__((noinline)) u32 memo_own(const struct thread *t, const struct memo *m, u32 k)
{
	for (; k < m->n; k++) {
		const struct memo_frame *f = &m->frames[k];

		if (!frame_is_own(t, f->sp - 8) || (k && f->sp > f[-1].sp))
			break;
		if (f->bp_at && f->bp_at != FRAME_BP_UNKNOWN && !frame_is_own(t, f->bp_at))
			break;
	}
	return k;
}

/* Puts new frames behind the first k, which the walk met with bp from bp_at. */
static inline void memo_extend(struct memo *m, u32 k, u64 bp_at, const struct memo_frame *fresh,
	const struct memo_frame *end)
{
	u64 hash = k ? m->frames[k - 1].hash : 0;
	u8 needs = k ? m->frames[k - 1].needs : 0;

	if (k)
		m->frames[k - 1].bp_at = bp_place(bp_at, needs);
	for (; fresh < end; fresh++, k++) {
		struct memo_frame *f = &m->frames[k];

		hash = mix(hash, fresh->ip);
		needs = bp_needed(fresh->rule, needs);
		*f = (struct memo_frame){fresh->ip, fresh->sp, fresh->bp,
			bp_place(fresh->bp_at, needs), hash, fresh->rule, needs};
	}
	m->n = k;
}

/* Walks to where the last stack goes on in the same way; *ret_k: so many frames of it. Returns the
 * new ones, or NULL if the memo has no room for them. */
static inline struct memo_frame *memo_walk(
	struct thread *t, struct memo *m, struct frame_regs *r, u32 *ret_k)
{
	struct memo_frame *end = m->frames + 2 * TRACK_DEPTH, *fresh = end;
	u32 k = r->page ? 0 : m->own, more;

	do {
		while (k && m->frames[k - 1].sp < r->sp)
			k--;
		if (k && frame_is_same(&m->frames[k - 1], r) && memo_holds(m, k - 1)) {
			*ret_k = k;
			return k + (end - fresh) > TRACK_DEPTH ? NULL : fresh;
		}
		*--fresh = (struct memo_frame){r->ip + r->exact, r->sp, r->bp, r->bp_at, 0, 0, 0};
		more = frame_step(t, r);
		fresh->rule = r->rule;
	} while (more && end - fresh < TRACK_DEPTH);
	if (unlikely(!more && !t->stack_high))
		frame_end(t, r);
	/* It met no frame of the last stack, so nothing is outside of it. */
	*ret_k = 0;
	return more ? NULL : fresh;
}

/* Code is gone, or the own stack may be. */
static __attribute__((noinline)) void memo_void(struct thread *t, struct memo *m)
{
	m->walk.forgotten = stacks_forgotten;
	own_stack_forget(t);
	m->n = m->own = m->files_n = 0;
}

u32 stack_number(struct thread *t, const u64 *frame)
{
	struct memo *m = t->memo;
	struct memo_frame *fresh;
	struct frame_regs r;
	u32 k, number;

	if (unlikely(!m || m->walk.walks & 1)) {
		if (m && m->walk.forgotten != stacks_forgotten)
			own_stack_forget(t);
		return stack_plain(t, NULL, frame);
	}
	__atomic_store_n(&m->walk.walks, m->walk.walks + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(m->walk.forgotten != stacks_forgotten))
		memo_void(t, m);
	frame_start(t, &m->copy, frame, &r);
	fresh = memo_walk(t, m, &r, &k);
	if (likely(fresh)) {
		memo_extend(m, k, r.bp_at, fresh, m->frames + 2 * TRACK_DEPTH);
		m->own = likely(!r.strayed) ? m->n : memo_own(t, m, k ? k - 1 : 0);
		number = tracker_stack_number_of(t, m, m->frames[m->n - 1].hash,
			&m->frames[m->n - 1].ip, -(long)(sizeof(struct memo_frame) / sizeof(u64)),
			m->n);
	} else {
		m->n = m->own = 0;
		number = stack_plain(t, m, frame);
	}
	__atomic_store_n(&m->walk.walks, m->walk.walks + 1, __ATOMIC_RELEASE);
	return number;
}
