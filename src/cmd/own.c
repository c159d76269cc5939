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

/* Was one of these options given? */
static bool is_given(const struct opt *o, const char *opts)
{
	switch (o->type) {
	case OPT_FLAG:
		return *(const bool *)(opts + o->offset);
	case OPT_STRING:
	case OPT_OPTIONAL:
		return *(const char *const *)(opts + o->offset) != NULL;
	default:
		return *(const u64 *)(opts + o->offset) != 0;
	}
}

/* The names of all that a command over a probe takes for it, if any of them was given. */
static const char *over_words(const struct opt_group *g, const char *opts, char buf[OVER_WORDS])
{
	bool any = false;
	size_t len = 0;

	for (; g && g->opts; g++)
		for (size_t i = 0; i < g->n && len < OVER_WORDS; i++) {
			bool last = i + 1 == g->n && !g[1].opts;

			any |= is_given(&g->opts[i], opts);
			len += (size_t)snprintf(buf + len, OVER_WORDS - len, "%s--%s",
				!len   ? ""
				: last ? " and "
				       : ", ",
				g->opts[i].name);
		}
	return any ? buf : NULL;
}

static const struct probe *over_of(const struct probe *p)
{
	const struct probe *over = p && p->over ? probe_find(p->over) : NULL;

	return over && over->options ? over : NULL;
}

void own_request(
	const struct options *o, const struct probe *p, char buf[OVER_WORDS], struct request *ret)
{
	const struct probe *over = over_of(p);

	*ret = (struct request){
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
	if (over && own_of(o, over))
		ret->over_given = over_words(over->options->lent, own_of(o, over), buf);
	/* a user that does not exist is refused where the scope is made */
	if (o->argv && run_as_from_options(o, &ret->as, &ret->as_other, NULL))
		ret->as_other = false;
}

void own_beside(const struct options *o, const struct probe *p, struct company *ret)
{
	char words[OVER_WORDS];
	struct request r;

	*ret = (struct company){};
	if (!p->beside)
		return;
	own_request(o, p, words, &r);
	p->beside(&r, own_of(o, p), ret);
}

bool own_is_tracked(const struct options *o)
{
	char words[OVER_WORDS];
	struct request r;

	own_request(o, NULL, words, &r);
	return request_is_tracked(&r);
}

static int one_check(
	const struct options *o, const struct probe *p, struct request *r, struct err *err)
{
	return p && p->options && p->options->check ? p->options->check(r, own_of(o, p), err) : 0;
}

int own_check(struct options *o, const struct probe *p, struct err *err)
{
	char words[OVER_WORDS];
	struct request r;
	int rc;

	own_request(o, p, words, &r);
	rc = one_check(o, over_of(p), &r, err);
	rc = rc ? rc : one_check(o, p, &r, err);
	o->from_ns = r.from_ns;
	o->to_ns = r.to_ns;
	return rc;
}
