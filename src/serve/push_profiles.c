/* See push_profiles.h. */
#include "serve/push_profiles.h"

#include <errno.h>

#include "base/clock.h"
#include "export/export.h"
#include "probes/faults/faults.h"
#include "probes/probe.h"

enum { OF_FAULTS, OF_STALLS, PROFILES };

static const struct {
	const char *command, *name;
} profiles[PROFILES] = {
	[OF_FAULTS] = {"faults", "memwhy.faults"},
	[OF_STALLS] = {"stalls", "memwhy.stalls"},
};

struct push_profiles {
	u32 stack_every;
	struct {
		const struct view *view;
		void *state;
	} of[PROFILES];
};

int push_profiles_new(u32 stack_every, struct push_profiles **ret, struct err *err)
{
	/* By group, of which there are not many: what stores profiles keeps a series for each. */
	const struct view_options o = {.by = "cgroup", .stacks = true};
	struct push_profiles *p = calloc(1, sizeof(*p));
	int rc = p ? 0 : -ENOMEM;

	if (p)
		p->stack_every = stack_every;
	for (size_t i = 0; i < PROFILES && !rc; i++) {
		const struct view *v = probe_find(profiles[i].command)->view;

		p->of[i].state = calloc(1, MAX(v->size, (size_t)1));
		rc = p->of[i].state ? v->init(p->of[i].state, &o, err) : -ENOMEM;
		p->of[i].view = v; /* from here on it is to be destroyed */
	}
	if (rc)
		push_profiles_free(p);
	else
		*ret = p;
	return rc;
}

void push_profiles_free(struct push_profiles *p)
{
	for (size_t i = 0; p && i < PROFILES; i++) {
		if (p->of[i].view && p->of[i].state && p->of[i].view->destroy)
			p->of[i].view->destroy(p->of[i].state);
		free(p->of[i].state);
	}
	free(p);
}

/* Those with a stack, each for as many as there were. */
static int faults_feed(struct push_profiles *p, const struct rec *r)
{
	struct faults_agg f = *(const struct faults_agg *)r;

	if (!f.stack)
		return 0;
	f.count *= p->stack_every;
	f.timed *= p->stack_every;
	f.total_ns *= p->stack_every;
	return p->of[OF_FAULTS].view->feed(p->of[OF_FAULTS].state, &f.h);
}

int push_profiles_feed(struct push_profiles *p, const struct rec *r)
{
	if (r->kind == REC_FAULTS_AGG && r->size >= sizeof(struct faults_agg))
		return faults_feed(p, r);
	return p->of[OF_STALLS].view->feed(p->of[OF_STALLS].state, r);
}

static bool has_rows(const struct report *r)
{
	vec_each (t, &r->tables)
		if ((*t)->n_rows)
			return true;
	return false;
}

int push_profiles_make(struct push_profiles *p, const struct stream *names, struct push *to)
{
	u64 until_s = clock_wall_ns() / NSEC_PER_SEC;
	u64 from_s = until_s - stream_interval_ns(names) / NSEC_PER_SEC;
	int rc = 0;

	for (size_t i = 0; i < PROFILES && !rc; i++) {
		_cleanup_str_ struct str out = {};
		struct report r;

		report_init(&r, profiles[i].command, names);
		r.limit = 0;
		if (i == OF_FAULTS)
			report_note(&r, "an estimate: of the stacks of one page fault in %u",
				p->stack_every);
		rc = p->of[i].view->report(p->of[i].state, &r);
		if (!rc && has_rows(&r))
			export_renderer("pprof")->report(&r, &(struct render_options){}, &out);
		if (out.len || out.failed)
			push_add(to, profiles[i].name, from_s, until_s, &out);
		report_destroy(&r);
		p->of[i].view->reset(p->of[i].state);
	}
	return rc;
}
