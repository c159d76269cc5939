/* See own.h. */
#include "cmd/own.h"

#include <errno.h>

#include "cmd/run_as.h"

int own_alloc(struct options *o)
{
	o->own = calloc(probes_n, sizeof(*o->own));
	if (!o->own)
		return -ENOMEM;
	for (size_t i = 0; i < probes_n; i++) {
		if (!probes[i]->options)
			continue;
		o->own[i] = calloc(1, probes[i]->options->size);
		if (!o->own[i])
			return -ENOMEM;
	}
	return 0;
}

void own_free(struct options *o)
{
	for (size_t i = 0; o->own && i < probes_n; i++)
		free(o->own[i]);
	free(o->own);
	o->own = NULL;
}

void *own_of(const struct options *o, const struct probe *p)
{
	return o->own && p ? o->own[probe_index(p)] : NULL;
}

struct request own_request(const struct options *o)
{
	struct request r = {
		.pids = o->pids,
		.comm = o->comm,
		.cgroup = o->cgroup,
		.container = o->container,
		.follow = o->follow,
		.record = o->record,
		.input = o->input,
		.by = o->by,
		.stacks = o->stacks,
		.each = o->each,
		.min_ns = o->min_ns,
		.for_ns = o->for_ns,
		.interval_ns = o->interval_ns,
		.from_ns = o->from_ns,
		.to_ns = o->to_ns,
		.operands = o->operands,
		.n_operands = (u32)o->n_operands,
		.command = o->argv,
	};

	/* a user that does not exist is refused where the scope is made */
	if (o->argv && run_as_from_options(o, &r.as, &r.as_other, NULL))
		r.as_other = false;
	return r;
}

int own_check(struct options *o, const struct probe *p, struct err *err)
{
	struct request r = own_request(o);
	int rc = 0;

	if (p && p->options && p->options->check)
		rc = p->options->check(&r, own_of(o, p), err);
	o->from_ns = r.from_ns;
	o->to_ns = r.to_ns;
	return rc;
}
