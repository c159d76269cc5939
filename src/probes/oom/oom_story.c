/* See oom_tables.h. */
#include "probes/oom/oom_tables.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/oom/oom_detail.h"

const char oomkill_head[] = "Tracing OOM kills... Ctrl-C to stop.";

static const char *oom_story_place(struct report *r, const struct kill *x)
{
	const char *cgroup = oom_cgroup_name(r, x);

	switch (kill_why(x)) {
	case OOM_WHY_MEMCG:
		return cgroup ? report_text(r, "cgroup %s was at its memory limit",
					report_cgroup(r, cgroup))
			      : "its control group was at its memory limit";
	case OOM_WHY_NONE:
		return "the machine was out of memory";
	case OOM_WHY_CPUSET:
		return "the nodes of its cpuset were out of memory";
	case OOM_WHY_POLICY:
		return "the nodes of its memory policy were out of memory";
	default:
		return "memory ran out";
	}
}

static void title(struct report *r, struct finding *f, const struct kill *x)
{
	if (x->report.flags & OOM_REPORT_NO_VICTIM)
		f->title = report_text(r, "Kill %u: no process could be killed; %s", x->number,
			oom_story_place(r, x));
	else
		f->title = report_text(r, "Kill %u: %.16s (%u) %s; %s", x->number,
			*kill_comm(x) ? kill_comm(x) : "?", kill_pid(x),
			x->reported && !x->counted ? "was exiting and was given memory for it"
						   : "was killed",
			oom_story_place(r, x));
}

static void who_asked(struct report *r, struct finding *f, const struct kill *x)
{
	const char *gfp = oom_gfp_name(r, x);
	const char *cgroup = x->seen ? stream_cgroup(r->stream, x->mark.cgroup) : NULL;
	const char *what = "memory";
	s32 order;

	if (oom_order(x, &order))
		what = order < 0 ? "a kill (sysrq f)"
		       : order   ? report_text(r, "%llu contiguous pages (order %d)",
					   1ULL << MIN(order, 30), order)
				 : "a page (order 0)";
	finding_line(r, f->evidence, "asked: %.16s (%u)%s%s wanted %s%s%s",
		*kill_asker_comm(x) ? kill_asker_comm(x) : "?",
		x->seen ? x->mark.tgid : x->report.tid, cgroup ? " of cgroup " : "",
		cgroup ? cgroup : "", what, gfp ? ", " : "", gfp ? gfp : "");
}

static void who_died(
	struct report *r, struct finding *f, const struct kills *k, const struct kill *x)
{
	struct kill_sizes s = kill_sizes(k, x);
	bool marked = x->seen && x->mark.flags & OOM_VICTIM_KNOWN;
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF], d[UNIT_BUF], e[UNIT_BUF], g[UNIT_BUF];

	if (!s.known)
		return;
	finding_line(r, f->evidence,
		"died: %s resident (%s anonymous, %s of files, %s shared), %s in swap, %s of page "
		"tables; oom_score_adj %d, user %u",
		fmt_bytes(a, s.anon + s.file + s.shmem), fmt_bytes(b, s.anon), fmt_bytes(c, s.file),
		fmt_bytes(d, s.shmem), s.swap_known ? fmt_bytes(e, s.swap) : "unknown",
		fmt_bytes(g, s.page_tables), marked ? x->mark.victim_adj : x->report.victim_adj,
		marked ? x->mark.victim_uid : x->report.victim_uid);
}

static const struct kill_process *runner_up(const struct kill_detail *d)
{
	const struct kill_process *next = NULL;

	for (u32 i = 0; d && i < d->n_processes; i++) {
		const struct kill_process *p = &d->processes[i];

		if (p->candidate && !p->victim && p->adj != -1000 &&
			(!next ||
				p->rss_pages + p->swap_pages > next->rss_pages + next->swap_pages))
			next = p;
	}
	return next;
}

static void why_chosen(
	struct report *r, struct finding *f, const struct kills *k, const struct kill *x)
{
	const struct kill_process *next = runner_up(kill_detail(k, x));
	const char *than = "";
	s64 score;

	if (x->report.flags & OOM_REPORT_ALLOCATING) {
		finding_line(r, f->evidence,
			"chosen: it was the one that asked (vm.oom_kill_allocating_task)");
		return;
	}
	if (x->report.flags & OOM_REPORT_GROUP && x->counted < 2) {
		finding_line(r, f->evidence, "chosen: with its group (memory.oom.group)");
		return;
	}
	if (next)
		than = report_text(r, "; next: %.16s (%u), %llu pages, oom_score_adj %d",
			next->comm, next->tgid, next->rss_pages + next->swap_pages, next->adj);
	if (kill_score(k, x, &score))
		finding_line(
			r, f->evidence, "chosen: the highest score, %lld pages%s", score, than);
	else if (next)
		finding_line(r, f->evidence, "chosen: the highest score%s", than);
}

static void oom_story_growth_add(
	struct report *r, struct finding *f, const char *who, const struct growth *g)
{
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF], d[UNIT_BUF];

	finding_line(r, f->evidence, "led to it: %s grew by %s to %s in %s; at the end %s a second",
		who, fmt_bytes(a, g->bytes - g->first_bytes), fmt_bytes(b, g->bytes),
		fmt_ns(c, g->span_ns), fmt_bytes(d, (u64)MAX(g->per_second, 0LL)));
}

static bool grew(const struct growth *g)
{
	return g->known && g->span_ns && g->bytes > g->first_bytes;
}

/* The victim, and whoever else grew most. */
static void who_grew(
	struct report *r, struct finding *f, const struct kills *k, const struct kill *x)
{
	const struct kill_detail *d = kill_detail(k, x);
	const struct kill_process *most = NULL;
	const char *cgroup = oom_cgroup_name(r, x);
	u64 own = grew(&x->victim) ? x->victim.bytes - x->victim.first_bytes : 0;

	if (own)
		oom_story_growth_add(r, f, "it", &x->victim);
	for (u32 i = 0; d && i < d->n_processes; i++) {
		const struct kill_process *p = &d->processes[i];

		if (!p->victim && grew(&p->growth) && oom_concerns(r, p, cgroup) &&
			(!most || p->growth.bytes - p->growth.first_bytes >
					  most->growth.bytes - most->growth.first_bytes))
			most = p;
	}
	if (most && most->growth.bytes - most->growth.first_bytes > own / 4 &&
		most->growth.bytes - most->growth.first_bytes > 1 << 20)
		oom_story_growth_add(
			r, f, report_text(r, "%.16s (%u)", most->comm, most->tgid), &most->growth);
}

static void what_limit(
	struct report *r, struct finding *f, const struct kills *k, const struct kill *x)
{
	const struct oom_report *p = &x->report;
	int level = kill_level(x);
	char a[UNIT_BUF], b[UNIT_BUF];

	if (level >= 0) {
		const struct oom_level *l = &x->mark.chain[level];

		finding_line(r, f->evidence, "limit: %s of %s in use%s",
			fmt_bytes(a, l->usage_pages * kills_page(k)),
			l->limit_pages == OOM_NO_LIMIT
				? "no limit"
				: fmt_bytes(b, l->limit_pages * kills_page(k)),
			l->failcnt ? report_text(r, "; it was hit %llu times so far", l->failcnt)
				   : "");
	} else if (x->reported && p->flags & OOM_REPORT_USAGE) {
		finding_line(r, f->evidence, "limit: %s of %s in use; it was hit %llu times so far",
			fmt_bytes(a, p->usage_bytes), fmt_bytes(b, p->limit_bytes), p->failcnt);
	}
}

static void machine(
	struct report *r, struct finding *f, const struct kills *k, const struct kill *x)
{
	const struct kill_detail *d = kill_detail(k, x);
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF], e[UNIT_BUF];

	if (!d || kill_why(x) == OOM_WHY_MEMCG || !d->values[VALUE_TOTAL].known)
		return;
	finding_line(r, f->evidence, "machine: %s free of %s, %s of swap free of %s",
		fmt_bytes(a, d->values[VALUE_FREE].bytes),
		fmt_bytes(b, d->values[VALUE_TOTAL].bytes),
		fmt_bytes(c, d->values[VALUE_SWAP_FREE].bytes),
		fmt_bytes(e, d->values[VALUE_SWAP_TOTAL].bytes));
}

static void afterwards(struct report *r, struct finding *f, const struct kill *x)
{
	const struct oom_state *s = &x->state;
	char a[UNIT_BUF];
	const char *load = "";

	if (s->h.size)
		load = report_text(r, "load %u.%02u %u.%02u %u.%02u, %u of %u tasks runnable",
			s->load1 / 100, s->load1 % 100, s->load5 / 100, s->load5 % 100,
			s->load15 / 100, s->load15 % 100, s->runnable, s->tasks);
	if (x->freed_how)
		finding_line(r, f->evidence, "then: %s within %s%s%s",
			x->freed_how == OOM_FREED_REAPER ? "the OOM reaper took its memory"
							 : "it had ended",
			fmt_ns(a, x->freed_ns), *load ? "; " : "", load);
	else if (*load)
		finding_line(r, f->evidence, "then: %s", load);
}

static const char *oom_story_confidence(const struct kill *x)
{
	if (x->seen && x->reported)
		return "high: seen as it happened, and in the kernel's log";
	return x->seen ? "high: seen as it happened; the kernel's log was unavailable"
		       : "high: by the kernel's log";
}

int oom_story(struct report *r, const struct kills *k, const struct kill *x)
{
	struct finding *f = report_finding(r, LEVEL_CRITICAL, "oom");

	if (!f)
		return -ENOMEM;
	r->has_findings = true;
	title(r, f, x);
	who_asked(r, f, x);
	who_died(r, f, k, x);
	why_chosen(r, f, k, x);
	who_grew(r, f, k, x);
	what_limit(r, f, k, x);
	machine(r, f, k, x);
	afterwards(r, f, x);
	f->confidence = oom_story_confidence(x);
	return 0;
}

/* What the score is a share of: memory and swap of the machine, or the limit. */
static u64 total_pages(const struct kills *k, const struct kill *x)
{
	const struct kill_detail *d = kill_detail(k, x);
	int level = kill_level(x);

	if (x->seen && x->mark.flags & OOM_CONTROL_KNOWN)
		return x->mark.total_pages;
	if (level >= 0 && x->mark.chain[level].limit_pages != OOM_NO_LIMIT)
		return x->mark.chain[level].limit_pages;
	if (kill_why(x) == OOM_WHY_MEMCG)
		return x->report.limit_bytes / kills_page(k);
	return d ? (d->values[VALUE_TOTAL].bytes + d->values[VALUE_SWAP_TOTAL].bytes) /
			       kills_page(k)
		 : 0;
}

static void quoted_add(struct str *out, const char *comm)
{
	char name[COMM_LEN + 1];

	snprintf(name, sizeof(name), "%.16s", comm);
	str_add(out, "(\"");
	str_add_escaped(out, name);
	str_add(out, "\")");
}

void oomkill_line(struct report *r, const struct kills *k, const struct kill *x, struct str *out)
{
	const struct oom_state *s = &x->state;

	str_addf(out, "%s Triggered by PID %u ", report_clock(r, x->time_ns),
		x->seen ? x->mark.tgid : x->report.tid);
	quoted_add(out, kill_asker_comm(x));
	str_addf(out, ", OOM kill of PID %u ", kill_pid(x));
	quoted_add(out, kill_comm(x));
	str_addf(out, ", %llu pages, loadavg: %u.%02u %u.%02u %u.%02u %u/%u %u\n",
		total_pages(k, x), s->load1 / 100, s->load1 % 100, s->load5 / 100, s->load5 % 100,
		s->load15 / 100, s->load15 % 100, s->runnable, s->tasks, s->last_pid);
}
