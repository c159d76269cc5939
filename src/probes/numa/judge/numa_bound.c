/* See numa_bound.h. */
#include "probes/numa/judge/numa_bound.h"

#include <errno.h>

#include "analysis/placement.h"
#include "base/units.h"
#include "probes/numa/judge/numa_words.h"
#include "probes/numa/numa.h"
#include "probes/processes/processes.h"
#include "sys/calls/mempolicy.h"
#include "sys/process/whereabouts.h"

#define STACK_LINES 3 /* of the call, innermost ones */

struct bound_look {
	struct process_numa last;
	u64 ran_ns[PROCESS_NODES]; /* in this interval */
	bool seen, ended;
};

struct bound_calls {
	struct numa_policy process, mapping; /* set_mempolicy, mbind; h.size 0: none was seen */
};

void numa_bound_init(struct numa_bound *b)
{
	groups_init(&b->looks, sizeof(u32), sizeof(struct bound_look));
	groups_init(&b->calls, sizeof(u32), sizeof(struct bound_calls));
}

void numa_bound_free(struct numa_bound *b)
{
	groups_free(&b->looks);
	groups_free(&b->calls);
}

static bool is_alive(void *arg, const void *key, const void *value)
{
	(void)arg;
	(void)key;
	return !((const struct bound_look *)value)->ended;
}

void numa_bound_forget(struct numa_bound *b)
{
	groups_filter(&b->looks, is_alive, NULL);
	for (size_t i = 0; i < b->looks.n; i++) {
		struct bound_look *l = groups_value(&b->looks, i);

		l->seen = false;
		for (u32 k = 0; k < PROCESS_NODES; k++)
			l->ran_ns[k] = 0;
	}
}

static int look_take(struct numa_bound *b, const struct process_numa *n)
{
	struct bound_look *l = groups_get(&b->looks, &n->tgid);

	if (!l)
		return -ENOMEM;
	l->last = *n;
	l->seen = true;
	l->ended = false;
	for (u32 i = 0; i < PROCESS_NODES; i++)
		l->ran_ns[i] += n->ran_ns[i];
	return 0;
}

static int call_take(struct numa_bound *b, const struct numa_policy *p)
{
	struct bound_calls *c = groups_get(&b->calls, &p->tgid);

	if (!c)
		return -ENOMEM;
	*(p->call == CALL_MBIND ? &c->mapping : &c->process) = *p;
	return 0;
}

/* A child has its parent's policies. */
static int task_take(struct numa_bound *b, const struct numa_task *t)
{
	const struct bound_calls *parent;
	struct bound_calls *child, copy;
	struct bound_look *l;

	if (t->what == NUMA_TASK_EXIT) {
		l = groups_find(&b->looks, &t->tgid);
		if (l)
			l->ended = true;
	}
	parent = t->what == NUMA_TASK_FORK ? groups_find(&b->calls, &t->parent) : NULL;
	if (!parent)
		return 0;
	copy = *parent;
	child = groups_get(&b->calls, &t->tgid);
	if (!child)
		return -ENOMEM;
	*child = copy;
	return 0;
}

int numa_bound_take(struct numa_bound *b, const struct rec *r)
{
	if (r->kind == REC_PROCESS_NUMA && r->size >= sizeof(struct process_numa))
		return look_take(b, (const void *)r);
	if (r->kind == REC_NUMA_POLICY && r->size >= sizeof(struct numa_policy))
		return call_take(b, (const void *)r);
	if (r->kind == REC_NUMA_TASK && r->size >= sizeof(struct numa_task))
		return task_take(b, (const void *)r);
	return 0;
}

struct frames {
	struct str *to;
	u32 n;
};

static void frame_line(void *arg, const struct stack_line *l)
{
	struct frames *f = arg;

	if (l->kernel || f->n++ >= STACK_LINES)
		return;
	str_add(f->to, f->n == 1 ? ", called in " : ", from ");
	stack_line_add(f->to, l, false);
}

/* "set_mempolicy(MPOL_BIND, {1}) 1.2 s after the start, called in …". */
static const char *numa_bound_call_text(struct report *r, const struct numa_policy *p)
{
	_cleanup_str_ struct str s = {};
	struct frames frames = {.to = &s};
	char text[UNIT_BUF];

	str_add(&s, p->call == CALL_MBIND ? "mbind(" : "set_mempolicy(");
	if (p->call == CALL_MBIND)
		str_addf(&s, "0x%llx, %s, ", (unsigned long long)p->start,
			fmt_bytes(text, p->bytes));
	flags_add(&s, mempolicy_modes, p->mode);
	str_addf(&s, ", {%s})", numa_mask_text(r, p->nodes));
	if (p->h.time_ns > r->stream->first_ns)
		str_addf(&s, " %s after the start",
			fmt_ns(text, p->h.time_ns - r->stream->first_ns));
	if (p->ustack)
		stack_each(r->stream, p->ustack, frame_line, &frames);
	return report_text(r, "%s", str_get(&s));
}

/* Does the policy, in the words of numa_maps, name the nodes of the call? It may be that of a call
 * that was lost. */
static bool is_of_call(const char *policy, const struct numa_policy *p)
{
	return p->h.size && policy && p->nodes &&
	       (p->nodes & ((1ULL << WHEREABOUTS_NODES) - 1)) == whereabouts_policy_nodes(policy);
}

/* The call that set the policy as it is; NULL: it was not seen. */
static const char *call_find(
	const struct numa_bound *b, struct report *r, const struct bound_look *l)
{
	const struct bound_calls *c = groups_find(&b->calls, &l->last.tgid);
	const struct numa_policy *p;

	if (!c)
		return NULL;
	p = l->last.h.flags & PROCESS_NUMA_OWN ? &c->mapping : &c->process;
	return is_of_call(stream_string(r->stream, l->last.policy), p) ? numa_bound_call_text(r, p)
								       : NULL;
}

static int look_report(const struct numa_bound *b, struct report *r, const struct bound_look *l)
{
	const struct process_numa *n = &l->last;
	struct placement p = {
		.tgid = n->tgid,
		.comm = report_text(r, "%.16s", n->comm),
		.nodes = MIN(n->nodes, (u32)PROCESS_NODES),
		.pages = n->resident_pages,
		.policy_pages = n->policy_pages,
		.ran_ns = l->ran_ns,
		.threads = n->threads,
		.page_bytes = r->stream->host.page_bytes ? r->stream->host.page_bytes : 4096,
		.cpu_nodes = n->cpu_nodes,
		.allowed_nodes = n->allowed_nodes,
		.allowed_memory = n->allowed_memory,
		.cpus = stream_string(r->stream, n->allowed_cpus),
		.policy = stream_string(r->stream, n->policy),
		.own = n->h.flags & PROCESS_NUMA_OWN,
		.looked = true,
		.command = stream_string(r->stream, n->command),
		.ended = l->ended,
	};
	struct placement_verdict v = placement_judge(&p);

	/* What lies where it was first touched is told by its accesses. */
	if (v.why != PLACEMENT_POLICY && v.why != PLACEMENT_CPUSET)
		return 0;
	if (v.why == PLACEMENT_POLICY)
		p.call = call_find(b, r, l);
	r->has_findings = true;
	return placement_tell(r, &p, &v);
}

int numa_bound_report(const struct numa_bound *b, struct report *r)
{
	int rc = 0;

	for (size_t i = 0; i < b->looks.n && !rc; i++) {
		const struct bound_look *l = groups_value(&b->looks, i);

		rc = l->seen ? look_report(b, r, l) : 0;
	}
	return rc;
}

const char *numa_bound_command(const struct numa_bound *b, const struct report *r, u32 tgid)
{
	const struct bound_look *l = groups_find(&b->looks, &tgid);

	return l ? stream_string(r->stream, l->last.command) : NULL;
}
