/* See syscalls_flight.h. */
#include "probes/syscalls/syscalls_flight.h"

#include "probes/syscalls/syscalls_opts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/names/names.h"

#define FLIGHT_BYTES (32UL << 20)
#define RINGS_LEAST 8U
#define RINGS_MOST 256U

static u32 rings_of(u32 cpus, u32 calls)
{
	size_t one = (size_t)cpus * 2 * calls * sizeof(struct syscalls_slot);

	size_t rings = MAX((size_t)RINGS_LEAST, FLIGHT_BYTES / one);

	return (u32)MIN(rings, (size_t)RINGS_MOST);
}

int flight_prepare(
	struct bpf_object *obj, const struct syscalls_wish *w, struct syscalls_probe_config *config)
{
	u32 cpus = (u32)MAX(1, libbpf_num_possible_cpus()), rings = rings_of(cpus, w->ring_calls);
	static const char *const by_ring[] = {
		"flight_rings", "flight_free", "flight_owners", "flight_kept"};
	int rc = attach_set_entries(obj, "flight_slots", rings * cpus * 2 * w->ring_calls);

	config->cpus = cpus;
	config->rings = rings;
	config->ring_calls = w->ring_calls;
	for (size_t i = 0; i < ARRAY_SIZE(by_ring) && !rc; i++)
		rc = attach_set_entries(obj, by_ring[i], rings);
	/* what a dump tells must find room when calls are not sent */
	return rc ? rc : attach_set_entries(obj, "ring", 64U << 10);
}

static int slots_map(struct syscalls_state *s, int fd)
{
	void *p;

	s->slots_bytes = (size_t)s->rings * s->cpus * 2 * s->ring_calls * sizeof(*s->slots);
	p = mmap(NULL, s->slots_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	s->slots = p;
	return 0;
}

/* Gives the programs the rings they may take. */
static int rings_give(struct syscalls_state *s, int queue)
{
	struct syscalls_flight state = {.ready = 1};
	u32 zero = 0;

	for (u32 i = 0; i < s->rings; i++)
		if (bpf_map_update_elem(queue, NULL, &i, BPF_ANY))
			return -errno;
	return bpf_map_update_elem(s->state_map, &zero, &state, BPF_ANY) ? -errno : 0;
}

int flight_attach(struct capture *c, struct attached *a, struct err *err)
{
	struct syscalls_state *s = c->state;
	const struct syscalls_opts *o = OPTS_OF(struct syscalls_opts, c->opts);
	struct syscalls_wish w;
	int rc;

	rc = syscalls_wish_parse(
		c->opt.operands, c->opt.n_operands, o->flight, o->dump_on, &w, err);
	if (rc || !w.flight)
		return rc;
	s->cpus = (u32)MAX(1, libbpf_num_possible_cpus());
	s->ring_calls = w.ring_calls;
	s->rings = rings_of(s->cpus, w.ring_calls);
	s->rings_map = attach_map(a, "flight_rings");
	s->kept_map = attach_map(a, "flight_kept");
	s->state_map = attach_map(a, "flight_state");
	s->at_end = !o->dump_on;
	s->by_process = capture_by(c, "process");
	s->kept = calloc(s->cpus, sizeof(*s->kept));
	s->dumped = calloc(s->rings, sizeof(*s->dumped));
	rc = s->kept && s->dumped ? slots_map(s, attach_map(a, "flight_slots")) : -ENOMEM;
	if (!rc)
		rc = rings_give(s, attach_map(a, "flight_free"));
	return rc ? err_errno(err, rc, "syscalls: the rings of --flight") : 0;
}

void flight_close(struct capture *c)
{
	struct syscalls_state *s = c->state;

	if (s->slots)
		munmap((void *)(uintptr_t)s->slots, s->slots_bytes);
	free(s->kept);
	free(s->dumped);
}

typedef VEC(struct syscalls_slot) slots_t;

/* A call that is being written while it is copied is left out: it is not over. */
static int slot_take(const struct syscalls_slot *from, slots_t *to)
{
	struct syscalls_slot s;
	u64 before = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE);

	if (!before)
		return 0;
	s = *(const volatile struct syscalls_slot *)from;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&from->sequence, __ATOMIC_RELAXED) != before)
		return 0;
	return vec_push(to, s);
}

static int slot_compare(const void *a, const void *b)
{
	const struct syscalls_slot *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Of the calls in a ring those of its present owner that had ended by then, in order of time. */
static int ring_read(const struct syscalls_state *s, const struct syscalls_dump *d, slots_t *ret)
{
	size_t n = (size_t)s->cpus * 2 * s->ring_calls;
	const struct syscalls_slot *first = s->slots + (size_t)d->ring * n;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		if (first[i].time_ns <= d->h.time_ns && (!s->by_process || first[i].tgid == d->key))
			rc = slot_take(&first[i], ret);
	if (!rc && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), slot_compare);
	return rc;
}

/* As it goes into a recording: what was copied follows. */
static int slot_send(struct capture *c, const struct syscalls_slot *s, u64 owner, bool by_process)
{
	struct {
		struct syscalls_call call;
		char text[SYSCALLS_FLIGHT_TEXT];
	} r = {};
	struct syscalls_call *e = &r.call;
	char *to = r.text;

	e->h.kind = REC_SYSCALLS_KEPT;
	e->h.time_ns = s->time_ns;
	e->tgid = s->tgid;
	e->tid = s->tid;
	e->ret = s->ret;
	e->ns = s->ns;
	e->cgroup = by_process ? 0 : owner - 1;
	e->nr = s->nr;
	e->abi = s->abi;
	e->flags = s->flags;
	memcpy(e->args, s->args, sizeof(e->args));
	memcpy(e->comm, s->comm, sizeof(e->comm));
	for (u32 i = 0; i < SYSCALLS_COPIES; i++) {
		e->copy[i] = s->copy[i];
		e->copied[i] = (u16)MIN(s->copied[i], SYSCALLS_FLIGHT_ROOM(i));
		memcpy(to, s->text + SYSCALLS_FLIGHT_AT(i), e->copied[i]);
		to += e->copied[i];
	}
	e->h.size = (u32)(sizeof(*e) + ((size_t)(to - r.text) + 7) / 8 * 8);
	return syscalls_call_send(c, e);
}

/* The call that a thread was in as /proc shows it, which says nothing of its ABI: native. What its
 * arguments point to is not looked at. false: in none. */
static bool underway_read(u32 tid, struct syscalls_call *e)
{
	_cleanup_str_ struct str s = {};
	char path[64];
	u64 *a = e->args;

	snprintf(path, sizeof(path), "/proc/%u/syscall", tid);
	return !file_read(path, &s) &&
	       sscanf(str_get(&s), "%u %llx %llx %llx %llx %llx %llx", &e->nr, &a[0], &a[1], &a[2],
		       &a[3], &a[4], &a[5]) == 7;
}

static bool seen_before(const slots_t *slots, size_t first, size_t i)
{
	for (size_t k = first; k < i; k++)
		if (slots->v[k].tid == slots->v[i].tid)
			return true;
	return false;
}

/* The last call of the thread of i. */
static const struct syscalls_slot *syscalls_flight_last_of(const slots_t *slots, size_t i)
{
	const struct syscalls_slot *last = &slots->v[i];

	for (size_t k = i; k < slots->n; k++)
		if (slots->v[k].tid == last->tid)
			last = &slots->v[k];
	return last;
}

/* On its way out, where /proc still shows the call that was its last, which is told already? */
static bool is_ending(const struct syscalls_dump *d, const struct syscalls_slot *last, u32 nr)
{
	bool of_process = d->why == SYSCALLS_WHY_EXIT || d->why == SYSCALLS_WHY_CRASH;

	return (of_process && last->tgid == d->tgid) ||
	       (last->flags & SYSCALLS_NO_END && last->nr == nr);
}

/* What those threads do now that made the calls from `first` on. */
static int underway_send(
	struct capture *c, const struct syscalls_dump *d, const slots_t *slots, size_t first)
{
	int rc = 0;

	for (size_t i = first; i < slots->n && !rc; i++) {
		const struct syscalls_slot *s = syscalls_flight_last_of(slots, i);
		struct syscalls_call e =
			REC_INIT(struct syscalls_call, REC_SYSCALLS_KEPT, clock_mono_ns());

		if (seen_before(slots, first, i) || !underway_read(s->tid, &e) ||
			is_ending(d, s, e.nr))
			continue;
		e.tgid = s->tgid;
		e.tid = s->tid;
		e.cgroup = d->by_process ? 0 : d->key;
		e.flags = SYSCALLS_UNDER_WAY;
		memcpy(e.comm, s->comm, sizeof(e.comm));
		rc = syscalls_call_send(c, &e);
	}
	return rc;
}

static u64 syscalls_flight_kept_read(const struct syscalls_state *s, u32 ring)
{
	u64 sum = 0;

	if (!bpf_map_lookup_elem(s->kept_map, &ring, s->kept))
		for (u32 i = 0; i < s->cpus; i++)
			sum += s->kept[i];
	return sum;
}

/* Sends the dump and the last of its calls. */
static int dump_send(struct capture *c, struct syscalls_dump *d)
{
	struct syscalls_state *s = c->state;
	slots_t slots = {};
	int rc = ring_read(s, d, &slots);
	size_t n = MIN(slots.n, (size_t)s->ring_calls);

	d->kept = s->dumped[d->ring] = syscalls_flight_kept_read(s, d->ring);
	if (!d->by_process) {
		names_cgroup(c->names, d->key - 1);
		d->key--;
	}
	if (!rc)
		rc = capture_emit(c, &d->h);
	for (size_t i = slots.n - n; i < slots.n && !rc; i++)
		rc = slot_send(c, &slots.v[i], d->key + !d->by_process, d->by_process);
	if (!rc)
		rc = underway_send(c, d, &slots, slots.n - n);
	vec_free(&slots);
	return rc;
}

int flight_dump_send(struct capture *c, const struct syscalls_dump *from)
{
	struct syscalls_state *s = c->state;
	struct syscalls_dump d = *from;
	struct syscalls_ring ring;
	u32 at = d.ring;
	int rc;

	if (!s->slots || at >= s->rings)
		return 0;
	if (bpf_map_lookup_elem(s->rings_map, &at, &ring))
		return 0;
	d.missed = ring.missed;
	rc = dump_send(c, &d);
	if (!bpf_map_lookup_elem(s->rings_map, &at, &ring)) {
		ring.dumping = 0;
		bpf_map_update_elem(s->rings_map, &at, &ring, BPF_ANY);
	}
	return rc;
}

static int homeless_tell(struct capture *c, struct syscalls_state *s)
{
	struct syscalls_flight state;
	u32 zero = 0;

	if (!c->ending || bpf_map_lookup_elem(s->state_map, &zero, &state) || !state.homeless)
		return 0;
	return capture_note(c, NOTE_WARNING,
		"%llu calls were not kept: there are rings for %u %s only", state.homeless,
		s->rings, s->by_process ? "processes" : "control groups");
}

int flight_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks)
{
	struct syscalls_state *s = c->state;
	int rc = 0;

	(void)a;
	(void)stacks;
	if (!s->slots)
		return 0;
	for (u32 i = 0; i < s->rings && !rc && (!c->ending || s->at_end); i++) {
		struct syscalls_dump d =
			REC_INIT(struct syscalls_dump, REC_SYSCALLS_DUMP, clock_mono_ns());
		struct syscalls_ring ring;

		if (bpf_map_lookup_elem(s->rings_map, &i, &ring) || !ring.owner ||
			syscalls_flight_kept_read(s, i) == s->dumped[i])
			continue;
		d.key = ring.owner;
		d.ring = i;
		d.missed = ring.missed;
		d.by_process = s->by_process;
		d.tgid = s->by_process ? (u32)ring.owner : 0;
		rc = dump_send(c, &d);
	}
	return rc ? rc : homeless_tell(c, s);
}
