/* Kills by the OOM killer: of a control group, or of the whole machine. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/oom/oom.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "rules/heap_room.h"
#include "rules/rules.h"

#define KILLS_MAX 256 /* looked at; all are counted */
#define KILLS_TOLD 4

/* What is known of one victim. */
struct killed {
	struct oom_kill mark;     /* h.size 0: not seen */
	struct oom_report report; /* the same */
	struct oom_task larger;   /* a candidate that was spared; h.size 0: none was */
	u64 cgroup;               /* by others of its name; 0: see oom_rule_place() */
	bool told;
	bool by_name; /* its group is told by others of its name */
};

struct state {
	struct rule_sums sums;  /* tid of the victim -> struct killed */
	struct groups families; /* tgid -> struct family */
	struct groups heaps;    /* see heap_room.h */
	struct oom_task most;   /* of those that could have been killed; their report comes next */
	struct oom_task second;
};

struct family {
	u32 parent;
	char comm[COMM_LEN];
};

static int oom_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct killed));
	groups_init(&s->families, sizeof(u32), sizeof(struct family));
	heap_room_init(&s->heaps);
	return 0;
}

static int oom_rule_process_feed(struct state *s, const struct process_memory *p)
{
	struct family *f = groups_get(&s->families, &p->tgid);

	if (!f)
		return -ENOMEM;
	f->parent = p->ppid;
	memcpy(f->comm, p->comm, sizeof(f->comm));
	return heap_room_feed(&s->heaps, p);
}

static u64 task_pages(const struct oom_task *t)
{
	return t->rss_pages + t->swap_pages;
}

static void oom_rule_task_feed(struct state *s, const struct oom_task *t)
{
	if (task_pages(t) > task_pages(&s->most)) {
		s->second = s->most;
		s->most = *t;
	} else if (task_pages(t) > task_pages(&s->second)) {
		s->second = *t;
	}
}

static struct killed *killed_get(struct rule_sums *s, u32 tid)
{
	return s->by.n < KILLS_MAX ? groups_get(&s->by, &tid) : groups_find(&s->by, &tid);
}

static int oom_rule_feed(void *v, const struct rec *r)
{
	struct state *state = v;
	struct rule_sums *s = &state->sums;
	const struct oom_kill *m = (const void *)r;
	const struct oom_report *p = (const void *)r;
	struct killed *k = NULL;

	if (r->kind == REC_OOM_KILL) {
		k = killed_get(s, m->victim_tid);
		if (k)
			k->mark = *m;
	} else if (r->kind == REC_OOM_REPORT && p->flags & OOM_REPORT_KILLED) {
		k = killed_get(s, p->victim_tid);
		if (k) {
			k->report = *p;
			k->larger = state->most.tgid == p->victim_tid ? state->second : state->most;
		}
		state->most = state->second = (struct oom_task){};
	} else if (r->kind == REC_OOM_TASK) {
		oom_rule_task_feed(state, (const void *)r);
		return 0;
	} else if (r->kind == REC_PROCESS_MEMORY) {
		return oom_rule_process_feed(v, (const void *)r);
	} else {
		return facts_feed(&s->facts, r);
	}
	return !k && s->by.n < KILLS_MAX ? -ENOMEM : 0;
}

static bool is_memcg(const struct killed *k)
{
	if (k->mark.h.size && k->mark.flags & OOM_CONTROL_KNOWN)
		return k->mark.why == OOM_WHY_MEMCG;
	if (k->report.h.size)
		return k->report.why == OOM_WHY_MEMCG;
	return oom_level_at_limit(&k->mark) >= 0;
}

/* The group at its limit; 0: the machine, or not known. */
static u64 oom_rule_place(const struct killed *k)
{
	int level = k->mark.h.size && is_memcg(k) ? oom_level_at_limit(&k->mark) : -1;

	return level < 0 ? k->cgroup : k->mark.chain[level].cgroup;
}

/* "": the machine, or not known. */
static const char *oom_rule_path_of(const struct report *r, const struct killed *k)
{
	const char *path = oom_rule_place(k) ? stream_cgroup(r->stream, oom_rule_place(k)) : NULL;

	return path ? path : k->report.oom_path;
}

/* A kill that was seen in the log alone has a path, and no number of its group. */
static bool same_place(const struct report *r, const struct killed *a, const struct killed *b)
{
	const char *path = oom_rule_path_of(r, a);

	if (is_memcg(a) != is_memcg(b))
		return false;
	if (oom_rule_place(a) == oom_rule_place(b) && oom_rule_place(a))
		return true;
	return (!oom_rule_place(a) || !oom_rule_place(b)) &&
	       (path[0] || oom_rule_place(a) == oom_rule_place(b)) &&
	       !strncmp(path, oom_rule_path_of(r, b), OOM_PATH_LEN);
}

static const char *place_name(struct report *r, const struct killed *k)
{
	const char *path = oom_rule_path_of(r, k);

	return path[0] ? report_textn(r, path, strnlen(path, OOM_PATH_LEN)) : NULL;
}

/* The kernel tells the name of the task alone. A number that was used again has another. */
static const char *program_text(struct report *r, const char *comm, u32 tgid)
{
	const struct rec_task *t = stream_task(r->stream, tgid, 0);

	return t && !strncmp(t->comm, comm, COMM_LEN) ? report_program(r, tgid)
						      : report_text(r, "%.16s", comm);
}

static const char *task_text(struct report *r, const char *comm, u32 tgid)
{
	return tgid ? report_text(r, "%s (pid %u)", program_text(r, comm, tgid), tgid)
		    : "a task that was not seen";
}

static bool is_known(const struct killed *k)
{
	return k->mark.h.size && k->mark.flags & OOM_VICTIM_KNOWN;
}

static const char *victim_comm(const struct killed *k)
{
	return is_known(k) ? k->mark.victim_comm : k->report.victim_comm;
}

static u32 victim_tgid(const struct killed *k)
{
	return is_known(k) ? k->mark.victim_tgid : k->report.victim_tid;
}

/* " (its parent is bash supervise.sh (pid 12))": who may start it again. */
static const char *parent_text(struct report *r, const struct state *s, const struct killed *k)
{
	u32 tgid = victim_tgid(k);
	const struct family *f = groups_find(&s->families, &tgid);

	return f && f->parent > 1 && !strncmp(f->comm, victim_comm(k), COMM_LEN) &&
			       stream_task(r->stream, f->parent, 0)
		       ? report_text(r, ", child of %s,", report_process(r, f->parent))
		       : "";
}

static u64 victim_bytes(const struct report *r, const struct killed *k)
{
	return is_known(k) ? (k->mark.anon_pages + k->mark.file_pages + k->mark.shmem_pages) *
				     r->stream->host.page_bytes
			   : k->report.anon_bytes + k->report.file_bytes + k->report.shmem_bytes;
}

/* Of much more memory, and spared for its oom_score_adj, or the other killed for its own. */
static bool chosen_by_adj(const struct report *r, const struct killed *k)
{
	return k->larger.h.size && k->report.h.size &&
	       !(k->report.flags & (OOM_REPORT_ALLOCATING | OOM_REPORT_GROUP)) &&
	       k->larger.adj < k->report.victim_adj &&
	       task_pages(&k->larger) * r->stream->host.page_bytes > victim_bytes(r, k) / 2 * 3;
}

/* Says why somebody was killed who has not most memory. */
static void choice_tell(struct report *r, struct finding *f, const struct killed *k)
{
	const struct oom_task *t = &k->larger;
	char a[UNIT_BUF];

	finding_line(r, f->evidence,
		"%s was chosen because its oom_score_adj is %d; %s, which has %s, has %d",
		task_text(r, victim_comm(k), victim_tgid(k)), k->report.victim_adj,
		task_text(r, t->comm, t->tgid),
		fmt_bytes(a, task_pages(t) * r->stream->host.page_bytes), t->adj);
	if (t->adj < 0) {
		finding_line(r, f->try_,
			"If %s may be killed, let it be chosen:", task_text(r, t->comm, t->tgid));
		finding_line(r, f->try_, "`echo 0 > /proc/%u/oom_score_adj`", t->tgid);
		finding_line(r, f->undo, "`echo %d > /proc/%u/oom_score_adj`", t->adj, t->tgid);
	} else {
		finding_line(r, f->try_,
			"If %s must survive, start it with oom_score_adj 0 (OOMScoreAdjust= of its "
			"unit; in Kubernetes the QoS class sets it).",
			program_text(r, victim_comm(k), victim_tgid(k)));
	}
}

static const char *choice_text(struct report *r, const struct killed *k)
{
	return k ? report_text(r, ", for oom_score_adj: %s had more memory",
			   task_text(r, k->larger.comm, k->larger.tgid))
		 : "";
}

static void killed_tell(
	struct report *r, struct finding *f, const struct state *s, const struct killed *k)
{
	const struct oom_kill *m = &k->mark;
	const struct oom_report *p = &k->report;
	u32 asker = m->h.size ? m->tgid : p->tid;
	char a[UNIT_BUF];

	finding_line(r, f->evidence, "%s%s was killed, with %s resident, when %s needed memory",
		task_text(r, victim_comm(k), victim_tgid(k)), parent_text(r, s, k),
		fmt_bytes(a, victim_bytes(r, k)),
		asker == victim_tgid(k) ? "it"
					: task_text(r, m->h.size ? m->comm : p->comm, asker));
}

static void tell_protect(struct report *r, struct finding *f)
{
	finding_line(r, f->try_,
		"Protect a process that must survive, where it is started: OOMScoreAdjust=-500 in "
		"its unit, or choom -n -500 -- before its command line.");
	finding_line(r, f->undo, "Start it without that.");
	if (!f->verify[0])
		finding_line(r, f->verify, "`memwhy oom --for 10m`");
}

/* What filled the group beside memory of its processes, which the victims' sizes tell; "". */
static const char *filler_text(struct report *r, const struct facts *facts, u64 id)
{
	for (size_t i = 0; i < facts->cgroups.n; i++) {
		struct cgroup_usage cg = facts_cgroup_fullest(facts, i);
		double all = (double)MAX(cg.usage_bytes, 1ULL) / 100;

		if (cg.cgroup != id)
			continue;
		if (cgroup_filler(&cg) == BY_SHMEM)
			return report_text(r,
				"; %.0f %% of it was files in tmpfs and shared memory (shmem)",
				(double)cg.shmem_bytes / all);
		if (cgroup_filler(&cg) == BY_KERNEL)
			return report_text(r, "; %.0f %% of it was memory of the kernel",
				(double)cg.kernel_bytes / all);
	}
	return "";
}

static bool group_is_full_of_files(const struct facts *facts, u64 id)
{
	for (size_t i = 0; i < facts->cgroups.n; i++) {
		struct cgroup_usage cg = facts_cgroup_fullest(facts, i);

		if (cg.cgroup == id)
			return cgroup_filler(&cg) == BY_SHMEM;
	}
	return false;
}

/* Of victims whose page tables take more than their memory. */
static const char *tables_text(struct report *r, const struct rule_sums *s, const struct killed *at)
{
	const struct killed *most = NULL;
	char a[UNIT_BUF];

	for (size_t i = 0; i < s->by.n; i++) {
		const struct killed *k = groups_value(&s->by, i);
		const struct oom_report *p = &k->report;

		if (p->h.size && same_place(r, at, k) &&
			p->page_table_bytes > p->anon_bytes + p->file_bytes + p->shmem_bytes &&
			(!most || p->page_table_bytes > most->report.page_table_bytes))
			most = k;
	}
	return most ? report_text(r, "; page tables of %.16s (pid %u) took %s of it",
			      most->report.victim_comm, most->report.victim_tid,
			      fmt_bytes(a, most->report.page_table_bytes))
		    : "";
}

static void tell_raise(struct report *r, struct finding *f, const struct state *s,
	const struct cgroup_usage *cg, const char *path)
{
	const char *dir = cgroup_directory(r, cg->version, path ? path : "/");
	struct heap_room heap;

	if (!heap_room_exceeds(&s->heaps, r, cg, &heap)) {
		cgroup_tell_raise(r, f, cg, dir, "oom");
		return;
	}
	heap_room_tell(r, f, &heap, cg);
	heap_room_try(r, f, &heap, cg, dir, cg->limit_bytes);
	finding_line(r, f->verify, "`memwhy oom --for 30s -g %s`", dir);
}

static void tell_group(
	struct report *r, struct finding *f, const struct state *s, u64 id, const char *path)
{
	const struct cgroup_usage *cg = facts_cgroup(&s->sums.facts, id);

	f->why = "At its limit a group first reclaims its own memory; when nothing is left to "
		 "reclaim, the OOM killer picks its process with the highest score.";
	if (cg && cg->limit_bytes != CGROUP_USAGE_NONE)
		tell_raise(r, f, s, cg, path);
	else
		finding_line(r, f->try_,
			"Raise the group's limit where it is configured: the group is gone, or has "
			"no limit of its own.");
	tell_protect(r, f);
}

static void tell_machine(struct report *r, struct finding *f)
{
	f->why = "No page could be freed for an allocation, by reclaim or by swapping; the OOM "
		 "killer picked the process with the highest score.";
	finding_line(r, f->try_, "Find what grows: `memwhy check --for 5m`");
	finding_line(r, f->try_,
		"Limit it with a control group (memory.max), or give the machine more memory or "
		"swap.");
	tell_protect(r, f);
}

/* " (perl indexer.pl)", where all victims at one place are of one program; "". */
static const char *programs_text(
	struct report *r, const struct rule_sums *s, const struct killed *at)
{
	const char *one = NULL;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct killed *k = groups_value(&s->by, i);
		const char *program;

		if (k->told || !same_place(r, at, k))
			continue;
		program = program_text(r, victim_comm(k), victim_tgid(k));
		if (one && strcmp(one, program) != 0)
			return "";
		one = program;
	}
	return one ? report_text(r, " (%s)", one) : "";
}

/* The group of the kills at one place, by any of them; 0: the machine, or not known. */
static u64 oom_rule_group_of(
	const struct report *r, const struct rule_sums *s, const struct killed *at)
{
	for (size_t i = 0; i < s->by.n; i++) {
		const struct killed *k = groups_value(&s->by, i);

		if (oom_rule_place(k) && same_place(r, at, k))
			return oom_rule_place(k);
	}
	return 0;
}

/* All kills at one place. */
static void oom_rule_tell_place(
	struct report *r, const struct state *state, const struct killed *first)
{
	const struct rule_sums *s = &state->sums;
	struct finding *f = report_finding(r, LEVEL_CRITICAL, "oom");
	const char *path = place_name(r, first), *who = programs_text(r, s, first), *filler;
	u64 n = 0, named = 0, group = oom_rule_group_of(r, s, first);
	const struct killed *chosen = NULL;

	if (!f)
		return;
	for (size_t i = 0; i < s->by.n; i++) {
		struct killed *k = groups_value(&s->by, i);

		if (k->told || !same_place(r, first, k))
			continue;
		k->told = true;
		named += k->by_name;
		if (n++ < KILLS_TOLD)
			killed_tell(r, f, state, k);
		if (!chosen && chosen_by_adj(r, k))
			chosen = k;
	}
	if (n > KILLS_TOLD)
		finding_line(r, f->evidence, "… and %llu more", n - KILLS_TOLD);
	if (named)
		finding_line(r, f->evidence,
			"the kernel's log omits the group of %llu of them, as it does when there "
			"are many: they are counted here by name",
			named);
	filler = is_memcg(first) ? tables_text(r, s, first) : "";
	if (is_memcg(first) && !filler[0])
		filler = filler_text(r, &s->facts, group);
	f->yields = is_memcg(first) && group_is_full_of_files(&s->facts, group);
	f->title =
		is_memcg(first)
			? report_text(r,
				  "cgroup %s: the OOM killer killed %llu of its processes%s%s%s",
				  path ? report_cgroup(r, path) : "(unknown)", n, who, filler,
				  choice_text(r, chosen))
			: report_text(r, "The machine ran out of memory: %llu process%s killed%s%s",
				  n, n == 1 ? "" : "es", who, choice_text(r, chosen));
	f->confidence = "high: each kill was seen";
	if (chosen)
		choice_tell(r, f, chosen);
	f->losses = LOSS_KILLED | LOSS_RECLAIM | LOSS_GROUP;
	f->cgroup = group;
	f->here = first->mark.h.size && !f->cgroup;
	if (is_memcg(first))
		tell_group(r, f, state, group, path);
	else
		tell_machine(r, f);
}

/* By the kernel's counters alone. */
static u64 tell_counted_groups(struct report *r, const struct state *s)
{
	const struct facts *facts = &s->sums.facts;
	u64 all = 0;

	for (size_t i = 0; i < facts->cgroups.n; i++) {
		const struct cgroup_usage *cg = groups_value(&facts->cgroups, i);
		u64 n = counter_since(cg->first_oom_kill_total, cg->oom_kill_total);
		const char *path = stream_cgroup(r->stream, cg->cgroup);
		struct finding *f;

		if (!n)
			continue;
		all += n;
		f = report_finding(r, LEVEL_CRITICAL, "oom");
		if (!f)
			break;
		f->cgroup = cg->cgroup;
		f->title = report_text(r, "cgroup %s: the OOM killer killed %llu of its processes",
			path ? report_cgroup(r, path) : "(removed)", n);
		f->confidence = "high: the kernel's own counters";
		finding_line(r, f->evidence, "oom_kill of the group rose by %llu", n);
		tell_group(r, f, s, cg->cgroup, path);
	}
	return all;
}

static void tell_counted(struct report *r, const struct state *s)
{
	const struct facts *facts = &s->sums.facts;
	u64 n = facts_delta(facts, "oom_kill");
	struct finding *f;

	if (n > tell_counted_groups(r, s)) {
		f = report_finding(r, LEVEL_CRITICAL, "oom");
		if (!f)
			return;
		f->title = report_text(
			r, "The OOM killer killed %llu process%s", n, n == 1 ? "" : "es");
		f->confidence = "high: the kernel's own counter; the victims were not seen";
		finding_line(r, f->evidence, "oom_kill in /proc/vmstat rose by %llu", n);
		tell_machine(r, f);
	}
}

/* The kernel writes of a few kills a second in full, and of the others without their group. One
 * that was not seen either is of the group where others of its name were killed, if there is but
 * one. */
static void place_by_name(const struct report *r, const struct rule_sums *s, struct killed *k)
{
	const struct killed *one = NULL;

	if (k->by_name) { /* of the report before this one */
		k->by_name = false;
		k->cgroup = 0;
		k->report.oom_path[0] = '\0';
	}
	if (k->told || !is_memcg(k) || oom_rule_place(k) || oom_rule_path_of(r, k)[0])
		return;
	for (size_t i = 0; i < s->by.n; i++) {
		const struct killed *o = groups_value(&s->by, i);

		if (o->told || o->by_name || !is_memcg(o) ||
			(!oom_rule_place(o) && !oom_rule_path_of(r, o)[0]) ||
			strncmp(victim_comm(o), victim_comm(k), COMM_LEN) != 0)
			continue;
		if (one && !same_place(r, one, o))
			return;
		one = o;
	}
	if (!one)
		return;
	k->by_name = true;
	k->cgroup = oom_rule_place(one);
	memcpy(k->report.oom_path, oom_rule_path_of(r, one),
		strnlen(oom_rule_path_of(r, one), OOM_PATH_LEN));
}

static bool log_was_read(const struct stream *s)
{
	vec_each (m, &s->methods)
		if (!strcmp(m->data, OOM_LOG_DATA))
			return m->method[0];
	return false;
}

static int oom_rule_report(void *v, struct report *r)
{
	struct rule_sums *s = &((struct state *)v)->sums;
	bool log = log_was_read(r->stream), any = false;

	for (size_t i = 0; i < s->by.n; i++) {
		struct killed *k = groups_value(&s->by, i);

		/* A victim that was exiting already is marked, but not killed: it is in no log. */
		k->told = log && !k->report.h.size;
		any |= !k->told;
	}
	for (size_t i = 0; i < s->by.n; i++)
		place_by_name(r, s, groups_value(&s->by, i));
	for (size_t i = 0; i < s->by.n; i++) {
		struct killed *k = groups_value(&s->by, i);

		if (!k->told)
			oom_rule_tell_place(r, v, k);
	}
	if (!any)
		tell_counted(r, v);
	return 0;
}

static void oom_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->families);
	groups_clear(&s->heaps);
}

static void oom_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->families);
	groups_free(&s->heaps);
}

const struct view rule_oom = {
	.size = sizeof(struct state),
	.init = oom_rule_init,
	.feed = oom_rule_feed,
	.report = oom_rule_report,
	.reset = oom_rule_reset,
	.destroy = oom_rule_destroy,
};
