/* See numa_view.h: the feed, and what is made of it at each report. */
#include "probes/numa/view/numa_view.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/units.h"
#include "probes/numa/judge/numa_advice.h"
#include "probes/numa/judge/numa_bound.h"
#include "probes/numa/numa_opts.h"
#include "probes/numa/judge/numa_patterns.h"
#include "probes/numa/view/numa_places.h"
#include "probes/numa/view/numa_tables.h"
#include "probes/numa/capture/numa_topology.h"

#define TOPOLOGY_BYTES (1U << 20) /* a file of it is smaller */

static const char *const by_keys[] = {"site", "object", "type", "function", "thread", NULL};

struct numa_state {
	struct numa_feed *feed;
	struct numa_bound bound;
	u32 by; /* 1 << enum numa_by */
	bool stacks, flow;
	struct numa_flow_asked asked;
	struct numa_topology topology; /* of --topology; known 0: none was given */
};

/* A table for each key. */
static int by_parse(const char *by, u32 *ret, struct err *err)
{
	*ret = 0;
	if (!by)
		by = by_keys[NUMA_BY_SITE];
	while (*by) {
		size_t n = strcspn(by, ",");
		u32 i = 0;

		while (by_keys[i] && (strlen(by_keys[i]) != n || strncmp(by, by_keys[i], n) != 0))
			i++;
		if (!by_keys[i]) {
			err_set(err, -EINVAL, "--by: '%.*s' is not a key of numa",
				(int)MIN(n, 40UL), by);
			return err_hint(err, "site, object, type, function, thread");
		}
		*ret |= 1U << i;
		by += n + (by[n] == ',');
	}
	return 0;
}

static int numa_view_operands_read(
	struct numa_state *v, const struct view_options *o, struct err *err)
{
	const struct numa_opts *own = OPTS_OF(struct numa_opts, o->opts);
	u64 tid;

	v->flow = o->n_operands && !strcmp(o->operands[0], "flow");
	if (o->n_operands > v->flow) {
		err_set(err, -EINVAL, "numa: '%.40s' is not expected here",
			o->operands[v->flow ? 1 : 0]);
		return err_hint(err, "memwhy numa [flow]; a command to run goes after --");
	}
	v->asked = (struct numa_flow_asked){own->thread, own->object};
	if (!v->flow && (own->thread || own->object)) {
		err_set(err, -EINVAL, "--thread and --object work with numa flow only");
		return err_hint(err, "memwhy numa flow --thread TID");
	}
	if (own->thread && parse_u64(own->thread, 1, 0xffffffff, &tid)) {
		err_set(err, -EINVAL, "--thread: '%.40s' is not the id of a thread", own->thread);
		return err_hint(err, "memwhy numa --by thread shows them");
	}
	return 0;
}

static int topology_load(struct numa_state *v, const char *path, struct err *err)
{
	_cleanup_str_ struct str text = {};
	int rc = file_read(path, &text);

	if (rc)
		return err_errno(err, rc, "--topology %.100s", path);
	if (text.len > TOPOLOGY_BYTES)
		return err_set(err, -EINVAL, "--topology %.100s: it is too long", path);
	rc = numa_topology_parse(str_get(&text), &v->topology, err);
	if (rc)
		err_hint(err, "one line per node: node 0 cpus 0-7 bytes 16G distances 10,21");
	return rc;
}

static int numa_init(void *state, const struct view_options *o, struct err *err)
{
	struct numa_state *v = state;
	const char *topology = OPTS_OF(struct numa_opts, o->opts)->topology;
	int rc = numa_view_operands_read(v, o, err);

	rc = rc ? rc : by_parse(o->by, &v->by, err);
	v->stacks = o->stacks;
	if (!rc && topology)
		rc = topology_load(v, topology, err);
	if (rc)
		return rc;
	numa_bound_init(&v->bound);
	rc = numa_feed_new(&v->feed);
	return rc ? err_errno(err, rc, "numa") : 0;
}

static int numa_take(void *state, const struct rec *r)
{
	struct numa_state *v = state;
	int rc = numa_bound_take(&v->bound, r);

	return rc ? rc : numa_feed_take(v->feed, r);
}

/* What the user says of the machine counts more than what was recorded. */
static int topology_feed(const struct numa_state *v)
{
	int rc = 0;

	for (u32 i = 0; i < NUMA_NODES && !rc; i++)
		if (v->topology.known & 1ULL << i)
			rc = numa_feed_take(v->feed, &v->topology.nodes[i].h);
	vec_each (cpu, &v->topology.cpus)
		rc = rc ? rc : numa_feed_take(v->feed, &cpu->h);
	return rc;
}

/* What is local to the one thread of a process is not scanned: mm/mprotect.c, change_pte_range().
 */
static void lone_note(const struct numa_groups *g, struct report *r)
{
	if (!g->lone_hints || (double)g->lone_hints < NUMA_MIN_SHARE * (double)g->all.samples)
		return;
	report_note(r,
		"%llu of %llu samples are hint faults of processes with one thread: of their "
		"private memory the kernel lets only pages fault that lie on other nodes, so "
		"their local accesses are not seen",
		(unsigned long long)g->lone_hints, (unsigned long long)g->all.samples);
}

/* A row of [heap] that is most of the table says little: what would say more. */
static void small_blocks_note(const struct numa_groups *g, struct report *r)
{
	u64 heap = 0;

	if (!(r->stream->session.options & SESSION_NO_SUMS))
		return;
	vec_each (group, &g->list)
		if (group->site.kind == OBJECT_HEAP)
			heap += group->sums.accesses;
	if (heap && heap >= g->all.accesses / 10)
		report_note(r,
			"[heap] is also what is in heap blocks below 4096 bytes: --all-blocks "
			"separates those too");
}

static void numa_view_notes_add(const struct numa_state *v, struct report *r)
{
	u64 late = numa_late(v->feed), damaged = numa_damaged(v->feed);

	if (late)
		report_note(r, "%llu mappings, blocks and moves came too late to be put in order",
			(unsigned long long)late);
	if (damaged)
		report_note(r, "%llu records hold impossible numbers and were left out",
			(unsigned long long)damaged);
}

static int numa_report(void *state, struct report *r)
{
	struct numa_state *v = state;
	struct numa_groups groups = {}, by_object = {};
	int rc = topology_feed(v);

	rc = rc ? rc : numa_feed_finish(v->feed);
	if (rc)
		return rc;
	if (v->flow)
		return numa_flows_report(r, v->feed, &v->asked);
	rc = numa_groups_make(v->feed, false, &groups);
	if (!rc && v->by & 1U << NUMA_BY_OBJECT)
		rc = numa_groups_make(v->feed, true, &by_object);
	for (u32 by = 0; by_keys[by] && !rc; by++)
		if (v->by & 1U << by)
			rc = numa_accesses_report(r, v->feed,
				by == NUMA_BY_OBJECT ? &by_object : &groups, by, v->stacks);
	rc = rc ? rc : numa_nodes_report(r, v->feed, &groups);
	rc = rc ? rc : numa_bound_report(&v->bound, r);
	rc = rc ? rc : numa_advise(r, v->feed, &groups, &v->bound);
	lone_note(&groups, r);
	small_blocks_note(&groups, r);
	numa_view_notes_add(v, r);
	numa_groups_free(&groups);
	numa_groups_free(&by_object);
	return rc;
}

static void numa_reset(void *state)
{
	struct numa_state *v = state;

	numa_feed_forget(v->feed);
	numa_bound_forget(&v->bound);
}

static void numa_destroy(void *state)
{
	struct numa_state *v = state;

	numa_feed_free(v->feed);
	numa_bound_free(&v->bound);
	numa_topology_free(&v->topology);
}

static bool numa_remembers(const void *state)
{
	(void)state;
	return true;
}

const struct view numa_view = {
	.tables = (const struct view_table *const[]){numa_access_tables, numa_node_tables,
		numa_place_tables, numa_flow_tables, NULL},
	.without = numa_tables_without,
	.size = sizeof(struct numa_state),
	.by_default = "site",
	.stacks_default = "user",
	.stacks_with_by = true,
	.by_keys = by_keys,
	.init = numa_init,
	.feed = numa_take,
	.report = numa_report,
	.reset = numa_reset,
	.remembers = numa_remembers,
	.destroy = numa_destroy,
};
