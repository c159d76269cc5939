/* See numa_opts.h. */
#include "probes/numa/numa_opts.h"

#include <errno.h>

#include "base/units.h"
#include "probes/numa/try/numa_try.h"

#define LARGE_BYTES 4096 /* of smaller blocks there are several in a page, which is on one node */

static const struct opt own[] = {
	OPT(struct numa_opts, "source", 0, OPT_STRING, source, "NAME,NAME",
		"how to observe accesses: hardware, hint (faults of automatic NUMA balancing) or "
		"first-touch (page faults); the first one that works is used (default: in this "
		"order)",
		NULL),
	OPT(struct numa_opts, "balancing", 0, OPT_FLAG, balancing, NULL,
		"turn automatic NUMA balancing on while memwhy runs; note that it moves pages",
		NULL),
	OPT(struct numa_opts, "scan", 0, OPT_DURATION, scan_ns, "TIME",
		"make automatic NUMA balancing scan memory every TIME: more samples, more cost; "
		"restored at the end",
		NULL),
	OPT(struct numa_opts, "no-heap", 0, OPT_FLAG, no_heap, NULL,
		"with -- CMD: do not follow its heap blocks with the preload library", NULL),
	OPT(struct numa_opts, "all-blocks", 0, OPT_FLAG, all_blocks, NULL,
		"with -- CMD: follow heap blocks of every size, not only those of 4096 bytes or "
		"more; makes each malloc and free slower",
		NULL),
	OPT(struct numa_opts, "heap", 0, OPT_FLAG, heap, NULL,
		"with -p: follow heap blocks with probes on the allocator; adds about 2 us to each "
		"malloc and free pair",
		NULL),
	OPT(struct numa_opts, "to", 0, OPT_STRING, to, "NODES",
		"numa try: where to move the object's pages; several nodes: page by page in turn. "
		"With --input, a time: stop there",
		NULL),
	OPT(struct numa_opts, "interleave", 0, OPT_FLAG, interleave, NULL,
		"numa try: interleave over all nodes", NULL),
	OPT(struct numa_opts, "undo", 0, OPT_FLAG, undo, NULL, "numa try: move them back", NULL),
	OPT(struct numa_opts, "yes", 0, OPT_FLAG, yes, NULL, "numa try: do not ask", NULL),
	OPT(struct numa_opts, "topology", 0, OPT_STRING, topology, "FILE",
		"topology of the recorded machine, one line per node: node 0 cpus 0-7 bytes 16G "
		"distances 10,21",
		NULL),
	OPT(struct numa_opts, "thread", 0, OPT_STRING, thread, "TID",
		"numa flow: what this thread touched", NULL),
	OPT(struct numa_opts, "object", 0, OPT_STRING, object, "OBJECT",
		"numa flow: who touched this object (its number or part of its name)", NULL),
};

static const struct opt_group groups[] = {{"Accesses", own, ARRAY_SIZE(own)}, {}};

/* numa try takes nodes; a recording has only times. */
static int to_check(struct request *r, const struct numa_opts *o, struct err *err)
{
	if (!o->to || !r->input || numa_try.wanted(r, o) || !parse_duration(o->to, &r->to_ns))
		return 0;
	err_set(err, -EINVAL, "--to: '%.40s' is not a valid value", o->to);
	return err_hint(err, "write a time as 10s or 5m");
}

static int numa_options_check(struct request *r, void *opts, struct err *err)
{
	const struct numa_opts *o = opts;

	if (o->heap && !r->pids)
		return err_set(err, -EINVAL,
			"--heap works with -p; with -- CMD the heap is always followed");
	if (o->all_blocks && !r->command)
		return err_set(err, -EINVAL, "--all-blocks works with -- CMD only");
	if (o->all_blocks && o->no_heap)
		return err_set(err, -EINVAL, "--all-blocks and --no-heap exclude each other");
	return to_check(r, o, err);
}

const struct probe_options numa_options = {
	.size = sizeof(struct numa_opts),
	.groups = groups,
	.check = numa_options_check,
};

void numa_beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const heap[] = {"heap", NULL};
	struct numa_opts *o = opts;

	*ret = (struct company){.named = true};
	if (r->command && !r->input && !o->no_heap) {
		ret->least_bytes = o->all_blocks ? 0 : LARGE_BYTES;
		o->untracked_why = request_untracked_why(r);
		ret->with = o->untracked_why ? NULL : heap;
	}
	if (o->heap) { /* it was asked for */
		ret->with = heap;
		ret->required = true;
	}
}
