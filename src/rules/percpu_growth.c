/*
 * Memory on each CPU that grows: counters of control groups, mounts, network namespaces and per-CPU
 * BPF maps. What one CPU takes is taken once for each; who takes it is known from its allocations.
 */
#include <errno.h>

#include "base/units.h"
#include "probes/waits/waits.h"
#include "rules/holdings.h"
#include "rules/rules.h"

#define MIN_GROWTH (16ULL << 20)
#define MIN_PART 1000 /* of memory, 1 in this: many CPUs take much at once */
#define MOST_PART 0.5 /* of what was allocated */

struct taker {
	u64 bytes, count; /* on one CPU */
	u32 stack;
};

static int percpu_growth_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(u32), sizeof(struct taker));
	return 0;
}

static int percpu_growth_rule_feed(void *v, const struct rec *rec)
{
	const struct waits_made *r = (const void *)rec;
	struct rule_sums *s = v;
	struct taker *t;

	if (rec->kind != REC_WAITS_MADE)
		return facts_feed(&s->facts, rec);
	if (r->kind != WAITS_PERCPU)
		return 0;
	t = groups_get(&s->by, &r->tgid);
	if (!t)
		return -ENOMEM;
	t->bytes += r->bytes;
	t->count += r->count;
	t->stack = r->stack ? r->stack : t->stack;
	return 0;
}

static const struct taker *percpu_growth_most_find(const struct rule_sums *s, u32 *ret_tgid)
{
	const struct taker *most = NULL;
	u64 all = 0;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct taker *t = groups_value(&s->by, i);

		all += t->bytes;
		if (most && t->bytes <= most->bytes)
			continue;
		most = t;
		*ret_tgid = *(const u32 *)groups_key(&s->by, i);
	}
	return most && (double)most->bytes >= MOST_PART * (double)all ? most : NULL;
}

static void percpu_growth_tell(struct report *r, const struct rule_sums *s, u64 grown)
{
	u64 all = facts_last(&s->facts, "Percpu");
	u32 tgid = 0, cpus = MAX(r->stream->host.cpus, 1U);
	const struct taker *t = percpu_growth_most_find(s, &tgid);
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	/* Nobody who was seen: memwhy's own maps, which it makes as it begins, are not. And what
	 * was freed again is no reason for what is there. */
	if (!t || t->bytes * cpus * 2 < grown || looks_too(r, tgid))
		return;
	x = report_finding(r, MAX(held_level(r, all), (int)LEVEL_NOTE), "percpu-growth");
	if (!x)
		return;
	x->held_bytes = grown;
	x->tgid = tgid;
	x->title = report_text(r,
		"%s makes the kernel's per-CPU memory grow by %s in %.0f s, to %s (Percpu)",
		report_process(r, tgid), fmt_bytes(a, grown), report_seconds(r), fmt_bytes(b, all));
	x->confidence = "medium: the kernel's own count, and who allocates; what each process "
			"freed is not known";
	finding_line(r, x->evidence, "it made %llu allocations, %s in total on each of %u CPUs",
		t->count, fmt_bytes(a, t->bytes), cpus);
	if (t->stack)
		finding_stack(r, x, t->stack, 3);
	x->why = "Control groups, mounts, network namespaces and per-CPU BPF maps have counters or "
		 "values for each possible CPU: what looks small is multiplied by the number of "
		 "CPUs.";
	finding_line(r, x->try_, "See which of them increase:");
	finding_line(r, x->try_,
		"`bpftool map show | grep -c percpu; ls /sys/fs/cgroup | wc -l; "
		"wc -l < /proc/self/mountinfo; lsns -t net | wc -l`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep Percpu: /proc/meminfo`");
}

static int percpu_growth_rule_report(void *v, struct report *r)
{
	const struct rule_sums *s = v;
	u64 grown = facts_delta(&s->facts, "Percpu");

	if (grown >= MIN_GROWTH && grown >= r->stream->host.memory_bytes / MIN_PART)
		percpu_growth_tell(r, s, grown);
	return 0;
}

const struct view rule_percpu_growth =
	SUMS_RULE(percpu_growth_rule_init, percpu_growth_rule_feed, percpu_growth_rule_report);
