/* See oom_kills.h. */
#include "probes/oom/oom_kills.h"

#include <stdint.h>
#include <string.h>

#include "event/meta.h"

#define WAIT_NS 1000000000ULL         /* for the log and the victim's end, before it is told */
#define RECENT_LEAST_NS 1000000000ULL /* of samples, to tell a pace by */
#define JOIN_NS (30 * 1000000000ULL)  /* a pid may be another's later */

u64 kills_page(const struct kills *k)
{
	return k->page_bytes ? k->page_bytes : 4096;
}

static bool victim_is(const struct kill *x, u32 tid)
{
	u32 known = x->seen ? x->mark.victim_tid : x->report.victim_tid;

	return known == tid;
}

/* The newest kill of this victim. */
static struct kill *kill_find(const struct kills *k, u32 tid, u64 now_ns)
{
	for (size_t i = k->list.n; i-- > 0;) {
		struct kill *x = k->list.v[i];

		if (victim_is(x, tid) && now_ns < x->time_ns + JOIN_NS)
			return x;
	}
	return NULL;
}

static int kill_add(struct kills *k, u64 time_ns, struct kill **ret)
{
	struct kill *x = NULL;
	int rc;

	*ret = NULL;
	if (k->list.n == KILLS_MAX) {
		k->beyond++;
		return 0;
	}
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->number = (u32)k->list.n + 1;
	x->time_ns = time_ns;
	rc = vec_push(&k->list, x);
	if (rc)
		free(x);
	else
		*ret = x;
	return rc;
}

const struct kill_detail *kill_detail(const struct kills *k, const struct kill *x)
{
	return x->detail ? &k->details[x->detail - 1] : NULL;
}

/* Room for the details of a kill: unused, else that of the oldest which has some. */
static struct kill_detail *detail_take(struct kills *k, struct kill *x)
{
	struct kill *oldest = x;

	if (k->only && k->only != x->number)
		return NULL;
	for (size_t i = k->list.n; i-- > 0;)
		if (k->list.v[i]->detail)
			oldest = k->list.v[i];
	if (k->n_details < DETAILS_MAX) {
		x->detail = ++k->n_details;
	} else {
		x->detail = oldest->detail;
		oldest->detail = 0;
	}
	k->details[x->detail - 1] = (struct kill_detail){};
	return &k->details[x->detail - 1];
}

static struct kill_process *process_find(struct kill_detail *d, u32 tgid)
{
	for (u32 i = 0; i < d->n_processes; i++)
		if (d->processes[i].tgid == tgid)
			return &d->processes[i];
	return NULL;
}

static u64 grown(const struct growth *g)
{
	return g->bytes > g->first_bytes ? g->bytes - g->first_bytes : 0;
}

/* The more it grew and the bigger it is, the more there is to say. */
static u64 interest(const struct kill_process *p)
{
	return p->victim ? UINT64_MAX : p->growth.bytes / 4 + grown(&p->growth);
}

static void process_keep(struct kill_detail *d, const struct kill_process *p)
{
	u32 least = 0;

	if (d->n_processes < KILL_GROWN) {
		d->processes[d->n_processes++] = *p;
		return;
	}
	for (u32 i = 1; i < d->n_processes; i++)
		if (interest(&d->processes[i]) < interest(&d->processes[least]))
			least = i;
	if (interest(&d->processes[least]) < interest(p))
		d->processes[least] = *p;
}

static void processes_note(struct kills *k, struct kill *x, struct kill_detail *d)
{
	u64 now = kill_sizes(k, x).known ? kill_sizes(k, x).anon + kill_sizes(k, x).file +
						   kill_sizes(k, x).shmem + kill_sizes(k, x).swap
					 : 0;

	for (u32 i = 0; i < HISTORY_PROCESSES && k->history.processes[i].n; i++) {
		const struct history_series *s = &k->history.processes[i];
		struct kill_process p = {.tgid = (u32)s->id, .sampled = true, .cgroup = s->cgroup};

		p.victim = p.tgid == kill_pid(x) &&
			   s == history_process(&k->history, p.tgid, x->mark.victim_start_ns);
		p.growth = history_growth(s, x->time_ns, p.victim ? now : 0);
		memcpy(p.comm, s->comm, sizeof(p.comm));
		if (p.victim)
			x->victim = p.growth;
		if (p.growth.known)
			process_keep(d, &p);
	}
}

static void groups_note(const struct kills *k, const struct kill *x, struct kill_detail *d)
{
	for (u32 i = 0; i < x->mark.levels; i++)
		d->groups[i] = history_growth(history_cgroup(&k->history, x->mark.chain[i].cgroup),
			x->time_ns, x->mark.chain[i].usage_pages * kills_page(k));
}

static void detail_note(struct kills *k, struct kill *x, struct kill_detail *d)
{
	for (u32 i = 0; i < VALUE_N; i++)
		d->values[i] = history_growth(&k->history.values[i], x->time_ns, 0);
	groups_note(k, x, d);
	memcpy(d->slabs, k->history.slabs, sizeof(d->slabs));
	memcpy(d->pressure, k->history.pressure, sizeof(d->pressure));
	d->machine = k->machine[k->machine[0].h.time_ns > x->time_ns];
	d->n_zones = k->n_sampled;
	memcpy(d->zones, k->sampled, k->n_sampled * sizeof(d->zones[0]));
	processes_note(k, x, d);
}

/* A victim that is younger than a minute began with nothing: its growth needs no sample. */
static void young_note(struct kills *k, struct kill *x, struct kill_detail *d)
{
	struct kill_sizes s = kill_sizes(k, x);
	struct kill_process *p = process_find(d, kill_pid(x));
	u64 age = x->mark.victim_age_ns;

	if (!age || age > HISTORY_NS || !s.known)
		return;
	x->victim.first_bytes = 0;
	x->victim.bytes = s.anon + s.file + s.shmem + s.swap;
	x->victim.swap_bytes = s.swap;
	if (!x->victim.known || x->victim.span_ns < RECENT_LEAST_NS)
		x->victim.per_second = (s64)((double)x->victim.bytes / ((double)age / 1e9));
	x->victim.span_ns = age;
	x->victim.known = true;
	if (p)
		p->growth = x->victim;
}

static void before_note(struct kills *k, struct kill *x)
{
	struct kill_detail *d = detail_take(k, x);

	/* The victim's own growth belongs to the list too. */
	k->dropped = (struct kill_detail){};
	d = d ? d : &k->dropped;
	detail_note(k, x, d);
	young_note(k, x, d);
}

/* A header of another kill: the kernel limits how often it says who asked. */
static void report_clear(struct kill *x)
{
	struct oom_report *r = &x->report;

	if (!x->seen || !(r->flags & OOM_REPORT_ASKER_ID) || r->tid == x->mark.tid)
		return;
	r->flags &= ~(u32)(OOM_REPORT_ASKED | OOM_REPORT_ASKER_ID | OOM_REPORT_CHOICE |
			   OOM_REPORT_USAGE | OOM_REPORT_SWAP);
}

static void mark_take(struct kill *x, const struct oom_kill *r)
{
	x->seen = true;
	x->mark = *r;
	x->mark.levels = MIN(r->levels, (u32)OOM_LEVELS);
}

/* The log was read before the ring: what is around the kill is known, the chain and age are not. */
static void late_note(struct kills *k, struct kill *x)
{
	struct kill_detail *d = x->detail ? &k->details[x->detail - 1] : NULL;

	if (!d) {
		k->dropped = (struct kill_detail){};
		d = &k->dropped;
	}
	report_clear(x);
	groups_note(k, x, d);
	young_note(k, x, d);
}

static int mark_feed(struct kills *k, const struct oom_kill *r)
{
	struct kill *x = kill_find(k, r->victim_tid, r->h.time_ns);
	int rc;

	if (x && !x->seen) {
		if (x->freed_how && x->time_ns > r->h.time_ns)
			x->freed_ns += x->time_ns - r->h.time_ns;
		x->time_ns = r->h.time_ns;
		mark_take(x, r);
		late_note(k, x);
		return 0;
	}
	rc = kill_add(k, r->h.time_ns, &x);
	if (rc || !x)
		return rc;
	mark_take(x, r);
	before_note(k, x);
	return 0;
}

static void oom_kills_task_feed(struct kills *k, const struct oom_task *r)
{
	if (k->n_tasks < KILL_TASKS)
		k->tasks[k->n_tasks++] = *r;
}

static void oom_kills_zone_feed(struct kills *k, const struct oom_zone *r)
{
	if (!(r->flags & OOM_ZONE_SAMPLED)) {
		if (k->n_zones < KILL_ZONES)
			k->zones[k->n_zones++] = *r;
		return;
	}
	for (u32 i = 0; i < k->n_sampled; i++)
		if (k->sampled[i].node == r->node &&
			!memcmp(k->sampled[i].zone, r->zone, sizeof(r->zone))) {
			k->sampled[i] = *r;
			return;
		}
	if (k->n_sampled < KILL_ZONES)
		k->sampled[k->n_sampled++] = *r;
}

static void machine_feed(struct kills *k, const struct where_ledger *l)
{
	if (l->scope != WHERE_MACHINE)
		return;
	k->machine[1] = k->machine[0];
	k->machine[0] = *l;
}

/* The kernel's table of candidates, joined with what the samples say of them. */
static void candidates_take(struct kills *k, const struct kill *x, struct kill_detail *d)
{
	for (u32 i = 0; i < k->n_tasks; i++) {
		const struct oom_task *t = &k->tasks[i];
		struct kill_process *p = process_find(d, t->tgid);

		if (!p && d->n_processes == ARRAY_SIZE(d->processes))
			continue;
		if (!p) {
			const struct history_series *s = history_process(&k->history, t->tgid, 0);

			p = &d->processes[d->n_processes++];
			*p = (struct kill_process){.tgid = t->tgid};
			memcpy(p->comm, t->comm, sizeof(p->comm));
			p->growth = history_growth(s, x->time_ns, 0);
			p->cgroup = s ? s->cgroup : 0;
			p->sampled = s;
		}
		p->candidate = true;
		p->victim = t->tgid == kill_pid(x);
		p->adj = t->adj;
		p->uid = t->uid;
		p->rss_pages = t->rss_pages;
		p->swap_pages = t->swap_pages;
		p->page_table_bytes = t->page_table_bytes;
	}
}

static int report_feed(struct kills *k, const struct oom_report *r)
{
	struct kill *x =
		r->flags & OOM_REPORT_KILLED ? kill_find(k, r->victim_tid, r->h.time_ns) : NULL;
	bool first = !x || !x->reported;
	struct kill_detail *d;
	int rc = 0;

	if (!x)
		rc = kill_add(k, r->h.time_ns, &x);
	if (rc || !x)
		return rc;
	x->counted += r->flags & OOM_REPORT_KILLED ? 1 : 0;
	if (first) {
		x->reported = true;
		x->report = *r;
		report_clear(x);
		if (!x->seen)
			before_note(k, x);
		d = x->detail ? &k->details[x->detail - 1] : NULL;
		if (d && k->n_zones) {
			d->n_zones = k->n_zones;
			memcpy(d->zones, k->zones, k->n_zones * sizeof(d->zones[0]));
		}
		if (d)
			d->logged = k->logged;
		if (d)
			candidates_take(k, x, d);
	} else {
		x->report.flags |= r->flags & OOM_REPORT_GROUP;
	}
	k->n_tasks = k->n_zones = 0;
	k->logged.h.size = 0;
	return 0;
}

static void freed_feed(struct kills *k, const struct oom_freed *r)
{
	struct kill *x = kill_find(k, r->victim_tid, r->h.time_ns);

	if (!x || x->freed_how || r->h.time_ns < x->time_ns)
		return;
	x->freed_ns = r->h.time_ns - x->time_ns;
	x->freed_how = r->how;
}

int kills_feed(struct kills *k, const struct rec *r)
{
	struct kill *x;

	k->now_ns = MAX(k->now_ns, r->time_ns);
	switch (r->kind) {
	case REC_HOST:
		k->page_bytes = ((const struct rec_host *)r)->page_bytes;
		return 0;
	case REC_OOM_KILL:
		return mark_feed(k, (const void *)r);
	case REC_OOM_REPORT:
		return report_feed(k, (const void *)r);
	case REC_OOM_TASK:
		oom_kills_task_feed(k, (const void *)r);
		return 0;
	case REC_OOM_ZONE:
		oom_kills_zone_feed(k, (const void *)r);
		return 0;
	case REC_OOM_LEDGER:
		k->logged = *(const struct oom_ledger *)r;
		return 0;
	case REC_WHERE_LEDGER:
		machine_feed(k, (const void *)r);
		return 0;
	case REC_OOM_STATE:
		x = kill_find(k, ((const struct oom_state *)r)->victim_tid, r->time_ns);
		if (x)
			x->state = *(const struct oom_state *)r;
		return 0;
	case REC_OOM_FREED:
		freed_feed(k, (const void *)r);
		return 0;
	default:
		history_feed(&k->history, r);
		return 0;
	}
}

void kills_free(struct kills *k)
{
	vec_each (x, &k->list)
		free(*x);
	vec_free(&k->list);
}

bool kill_complete(const struct kills *k, const struct kill *x)
{
	return (x->reported && x->freed_how) || k->now_ns > x->time_ns + WAIT_NS;
}

u32 kill_pid(const struct kill *x)
{
	return x->seen && x->mark.victim_tgid ? x->mark.victim_tgid
	       : x->seen                      ? x->mark.victim_tid
					      : x->report.victim_tid;
}

const char *kill_comm(const struct kill *x)
{
	return x->seen && x->mark.victim_comm[0] ? x->mark.victim_comm : x->report.victim_comm;
}

const char *kill_asker_comm(const struct kill *x)
{
	return x->seen ? x->mark.comm : x->report.comm;
}

u32 kill_why(const struct kill *x)
{
	if (x->seen && x->mark.flags & OOM_CONTROL_KNOWN)
		return x->mark.why;
	return x->reported ? x->report.why : OOM_WHY_UNKNOWN;
}

struct kill_sizes kill_sizes(const struct kills *k, const struct kill *x)
{
	const struct oom_kill *m = &x->mark;
	const struct oom_report *r = &x->report;
	u64 page = kills_page(k);

	if (x->seen && m->flags & OOM_VICTIM_KNOWN)
		return (struct kill_sizes){true, m->anon_pages * page, m->file_pages * page,
			m->shmem_pages * page, m->swap_pages * page, m->page_table_bytes,
			m->total_vm_pages * page, true};
	if (x->reported && r->flags & OOM_REPORT_KILLED)
		return (struct kill_sizes){true, r->anon_bytes, r->file_bytes, r->shmem_bytes,
			x->victim.swap_bytes, r->page_table_bytes, r->total_vm_bytes,
			x->victim.known};
	return (struct kill_sizes){};
}

/* oom_badness() of mm/oom_kill.c, from 5.10 to 7.3. Without the kernel's own it is reckoned where
 * nothing has to be known of what there is in all. */
bool kill_score(const struct kills *k, const struct kill *x, s64 *ret_pages)
{
	struct kill_sizes s = kill_sizes(k, x);
	const struct oom_kill *m = &x->mark;
	u64 page = kills_page(k);
	bool total = x->seen && m->flags & OOM_CONTROL_KNOWN;
	s32 adj = x->seen && m->flags & OOM_VICTIM_KNOWN ? m->victim_adj : x->report.victim_adj;

	if (!s.known || !s.swap_known || (adj && !total))
		return false;
	*ret_pages = (s64)((s.anon + s.file + s.shmem + s.swap + s.page_tables) / page);
	if (adj)
		*ret_pages = (s64)((u64)*ret_pages + m->total_pages / 1000 * (u64)(s64)adj);
	return true;
}

int kill_level(const struct kill *x)
{
	return x->seen && kill_why(x) == OOM_WHY_MEMCG ? oom_level_at_limit(&x->mark) : -1;
}
