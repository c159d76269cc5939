/* See thread.h. */
#include "tracker/thread.h"

#include <sys/mman.h>

#include "tracker/join.h"
#include "tracker/forbid.h"
#include "tracker/own_stack.h"
#include "tracker/real.h"
#include "tracker/sample.h"
#include "tracker/stack.h"

__thread struct thread thread
	__attribute__((tls_model("initial-exec"))) = {.epoch = NO_EPOCH, .plain = NO_EPOCH};

static struct self self_none;
struct self *self = &self_none;
struct track_head *track;

static u32 epochs;            /* of this process and those it is a fork of */
static u32 nested;            /* in another pid namespace than the program began in */
static u32 given_up;          /* the file: it is not asked for again */
static u32 process_of_parent; /* index plus one: what self->process was before it was wiped */

#define PAGE 4096
#define NSEC 1000000000LL

static s64 now_ns(void)
{
	struct {
		s64 sec, nsec;
	} t = {};

	may_call(SYS_clock_gettime, 1, &t);
	return t.sec * NSEC + t.nsec;
}

#define NAP_NS 50000
#define NAP_DOUBLES 6 /* so often at most: many that wait take no time from who reads */

void thread_nap(u32 naps)
{
	struct {
		s64 sec, nsec;
	} t = {0, NAP_NS << (naps < NAP_DOUBLES ? naps : NAP_DOUBLES)};

	may_call(SYS_nanosleep, &t, 0);
}

#define SPINS (1U << 20) /* some ten milliseconds */

/* Waits for words to be read, without a call. Not once more where nothing was read since. */
static int spin(struct thread *t, u64 tail)
{
	u32 i = 0;

	if (tail == t->stuck)
		return 0;
	while (__atomic_load_n(&t->slot->tail, __ATOMIC_ACQUIRE) == tail && i++ < SPINS)
		__builtin_ia32_pause();
	t->stuck = i < SPINS ? ~0ULL : tail;
	return i < SPINS;
}

static int self_make(void)
{
	long page =
		call(SYS_mmap, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page < 0)
		return 0;
	if (call(SYS_madvise, page, PAGE, MADV_WIPEONFORK)) {
		call(SYS_munmap, page, PAGE);
		return 0;
	}
	self = (struct self *)page;
	return 1;
}

/* Of a fork that may not ask who it is libc may know. */
static void ids_take(struct track_process *p)
{
	if (calls_are_forbidden()) {
		p->pid = self->pid = fork_id();
		p->ppid = 0;
	} else {
		p->pid = self->pid = (u32)call(SYS_getpid);
		p->ppid = (u32)may_call(SYS_getppid);
		nested |= process_of_parent && !p->ppid; /* its parent is outside */
	}
	p->nested = nested;
}

/* A place in the file for this process. */
static int process_take(void)
{
	u32 n = calls_are_forbidden() && !fork_id() ? 0 : TRACK_PROCESSES;

	for (u32 i = 0; i < n; i++) {
		struct track_process *p = &track->processes[i];
		u32 unused = TRACK_UNUSED;

		if (p->state != TRACK_UNUSED)
			continue;
		if (!__atomic_compare_exchange_n(&p->state, &unused, TRACK_TAKING, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		ids_take(p);
		p->parent = process_of_parent;
		p->missed = 0;
		p->leaving = TRACK_STAYS;
		__atomic_store_n(&p->state, TRACK_TAKEN, __ATOMIC_RELEASE);
		self->process = i;
		process_of_parent = i + 1;
		return 1;
	}
	__atomic_add_fetch(&track->missed_processes, 1, __ATOMIC_RELAXED);
	return 0;
}

/* At the first event of a program, or of a forked child. */
static void process_enter(void)
{
	int ok;

	if (self == &self_none && (calls_are_forbidden() || !attach_prepare() || !self_make())) {
		self_none.epoch = SELF_OFF;
		return;
	}
	if (__atomic_exchange_n(&self->lock, 1, __ATOMIC_ACQUIRE))
		return; /* another thread is at it, or we are and were interrupted */
	if (!self->epoch) {
		if (!track && !given_up && !calls_are_forbidden() && (track = attach_file())) {
			sample_begin(track->sample_bytes, track->least_bytes);
			clock_look();
			real_stack();
			thread_id_find();
		}
		ok = track && !track->off && !(clock_forbidden && track->timed) && process_take();
		self->many = ok && track->timed ? MANY_EXACT : 0;
		epochs++;
		own_stacks_fork();
		__atomic_store_n(&self->epoch, ok ? epochs : SELF_OFF, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&self->lock, 0, __ATOMIC_RELEASE);
}

/* The child of vfork() is its parent, for a while, but for its ids. */
static u32 tid_now(void)
{
	if (calls_are_forbidden())
		return thread_id();
	return (u32)may_call(SYS_getpid) == self->pid ? (u32)may_call(SYS_gettid) : 0;
}

static struct track_slot *slot_take(u32 *ret_index)
{
	for (u32 i = 0; i < TRACK_SLOTS; i++) {
		struct track_slot *s = &track->slot[i];
		u32 unused = TRACK_UNUSED, used = track->slots;

		if (s->state != TRACK_UNUSED)
			continue;
		if (!__atomic_compare_exchange_n(&s->state, &unused, TRACK_TAKING, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		s->process = self->process;
		s->tid = thread.tid = tid_now();
		__atomic_store_n(&s->state, TRACK_TAKEN, __ATOMIC_RELEASE);
		while (used <= i && !__atomic_compare_exchange_n(&track->slots, &used, i + 1, 0,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		*ret_index = i;
		return s;
	}
	return NULL;
}

/* The events of its threads could not be put in order: it tells of nothing any more. */
static void process_stop(void)
{
	__atomic_add_fetch(&track->processes[self->process].missed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&self->epoch, SELF_OFF, __ATOMIC_RELEASE);
}

int thread_give_up(void)
{
	struct track_head *file = track;

	if (!file || calls_are_forbidden() || !self->epoch || self->threads > 1)
		return 0;
	if (self->epoch != SELF_OFF)
		process_stop();
	given_up = 1;
	track = NULL;
	call(SYS_munmap, file, TRACK_FILE_BYTES);
	return 1;
}

void thread_clock_gone(void)
{
	if (self->epoch && self->epoch != SELF_OFF && self->many)
		process_stop();
}

/* The slot's ring of this kind. */
static void ring_set(struct thread *t, u32 grown)
{
	u32 slot = (u32)(t->slot - track->slot);

	t->grown = grown;
	t->ring = (u64 *)((char *)track + track_ring_offset(slot, grown));
	t->mask = track_words(slot, grown) - 1;
	__atomic_store_n(&t->slot->turned, grown, __ATOMIC_RELEASE);
}

struct thread *thread_enter(struct thread *t)
{
	struct track_slot *slot;
	u32 index;

	if (self->epoch == SELF_OFF)
		return NULL;
	if (!self->epoch)
		process_enter();
	if (!self->epoch || self->epoch == SELF_OFF)
		return NULL;
	slot = slot_take(&index);
	if (!slot) {
		__atomic_add_fetch(&track->processes[self->process].missed, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	if (__atomic_add_fetch(&self->threads, 1, __ATOMIC_RELAXED) == 2 && !self->many) {
		if (clock_forbidden) {
			process_stop();
			return NULL;
		}
		__atomic_store_n(&self->many, 1, __ATOMIC_RELEASE);
	}
	t->slot = slot;
	t->turning = 0;
	ring_set(t, __atomic_load_n(&slot->grown, __ATOMIC_ACQUIRE));
	t->head = slot->tail;
	t->limit = t->head + t->mask + 1;
	t->time = 0;
	t->stuck = ~0ULL;
	t->memo = stack_memo(index);
	own_stack_begin(t, index, (struct own_walk *)t->memo);
	t->random = 0;
	if (sample_mean)
		sample_draw(t);
	t->plain = sample_mean || least_bytes ? NO_EPOCH : self->epoch;
	t->epoch = self->epoch;
	return t;
}

/* What was reserved and cannot be used. Where a signal handler took words behind it, it stays: the
 * reader finds nothing in it. */
static void unreserve(struct thread *t, u64 at, u64 n, u32 events)
{
	u64 end = at + n;

	__asm__ volatile("cmpxchg %2, %1" : "+a"(end), "+m"(t->head) : "r"(at) : "memory", "cc");
	t->slot->dropped += events;
}

#define YIELDS 4
#define TURN_TRIES 16 /* some 20 ms: so long a thread waits for its ring to be read to the end */

/*
 * All that is in the ring was read: goes on in the one that was given, unless a signal handler has
 * put something behind what is ours. One that comes right now finds no room.
 */
static void ring_turn(struct thread *t, u64 at, u64 n, u32 grown)
{
	t->turning = 1;
	t->limit = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->head, __ATOMIC_RELAXED) == at + n)
		ring_set(t, grown);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->limit = at + t->mask + 1;
	t->turning = 0;
}

/* A larger ring was given that could not be gone to: an event that we interrupted is never read. */
static void ring_keep(struct thread *t, u32 grown)
{
	t->grown = grown;
	__atomic_store_n(&t->slot->turned, TRACK_STAYS, __ATOMIC_RELEASE);
}

/* Is there room now? Where a larger ring was given, only there, for some tries. */
static int room_look(struct thread *t, u64 at, u64 n, u32 tries)
{
	u64 tail = __atomic_load_n(&t->slot->tail, __ATOMIC_ACQUIRE);
	u32 grown = __atomic_load_n(&t->slot->grown, __ATOMIC_ACQUIRE);
	int turns = grown != t->grown;

	t->limit = tail + t->mask + 1;
	if (turns && tail == at)
		ring_turn(t, at, n, grown);
	else if (turns && tries < TURN_TRIES)
		return 0;
	else if (turns && track->wait_ms && !calls_are_forbidden())
		ring_keep(t, grown);
	return at + n <= t->limit;
}

int thread_wait(struct thread *t, u64 at, u64 n, u32 events)
{
	u32 beat = 0, tries = 0;
	s64 since = 0;

	while (!t->turning && !room_look(t, at, n, tries)) {
		u32 now = __atomic_load_n(&track->heartbeat, __ATOMIC_RELAXED);

		if (!tries)
			__atomic_add_fetch(&t->slot->full, 1, __ATOMIC_RELEASE);
		if (!track->wait_ms || track->off) {
			t->limit = 0; /* every event asks, as no other does it */
			break;
		}
		if (calls_are_forbidden()) {
			if (spin(t, t->limit - t->mask - 1))
				tries++;
			else if (tries < TURN_TRIES)
				tries = TURN_TRIES;
			else
				break;
			continue;
		}
		if (!since || now != beat) {
			since = now_ns();
			beat = now;
		} else if (now_ns() - since > (s64)track->wait_ms * 1000000) {
			track->off = TRACK_OFF_WAITED;
			self->epoch = SELF_OFF;
			break;
		}
		if (++tries < YIELDS)
			may_call(SYS_sched_yield);
		else
			thread_nap(tries - YIELDS);
	}
	if (!t->turning && at + n <= t->limit)
		return 1;
	if (track->off)
		self->epoch = SELF_OFF;
	unreserve(t, at, n, events);
	return 0;
}

/* Waits for the last look at its memory. Not the child of vfork(), which is its parent for a while.
 */
__attribute__((destructor)) static void process_leave(void)
{
	s64 until;
	u32 *leaving;

	if (!track || !track->looks || !self->epoch || self->epoch == SELF_OFF ||
		(u32)may_call(SYS_getpid) != self->pid)
		return;
	leaving = &track->processes[self->process].leaving;
	until = now_ns() + (s64)track->wait_ms * 1000000;
	__atomic_store_n(leaving, TRACK_LEAVING, __ATOMIC_RELEASE);
	while (__atomic_load_n(leaving, __ATOMIC_ACQUIRE) == TRACK_LEAVING && !track->off &&
		!calls_are_forbidden() && now_ns() < until)
		thread_nap(0);
}

/* The kernel keeps CPU and node in the limit of a segment, for getcpu() without a system call
 * (GDT_ENTRY_CPUNODE of x86/include/asm/segment.h). */
static u64 node_now(void)
{
	u32 cpu_node;

	__asm__("lsl %1, %0" : "=r"(cpu_node) : "r"(0x7bU));
	return cpu_node >> 12;
}

void thread_put_time(struct thread *t, u64 time)
{
	u64 at;

	if (!thread_reserve_aside(t, 1, &at))
		return;
	t->time = time >> TRACK_TIME_LOW;
	thread_put(t, at,
		(node_now() + 1) << TRACK_NODE_SHIFT | t->time << TRACK_ARG_SHIFT | TRACK_TIME);
}
