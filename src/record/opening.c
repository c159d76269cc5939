/* See opening.h. */
#include "record/opening.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "capture/ahead.h"
#include "capture/embedded.h"

struct to_open {
	struct probe_run *run;
	size_t i; /* in what was asked for */
	bool opened;
};

/* Is it what the command is about, and not one of all that can be had? */
static bool opening_is_asked_for(const struct session_config *cfg, size_t i)
{
	return !cfg->lenient && i < cfg->n_probes - cfg->n_beside;
}

static int probe_failed(
	const struct opening *o, size_t i, int rc, const struct err *why, struct err *err)
{
	const struct session_config *cfg = o->cfg;

	if (opening_is_asked_for(cfg, i) || (rc == -EPERM && cfg->needs_privilege) ||
		rc == -EINTR) {
		*err = *why;
		return rc;
	}
	o->c->probe = cfg->probes[i]->name;
	return capture_note(o->c, rc == -EPERM || rc == -EACCES ? NOTE_REFUSED : NOTE_NOT_CHECKED,
		"%s%s%s", why->msg, why->hint[0] ? ": " : "", why->hint);
}

static int one_open(const struct opening *o, struct to_open *p, size_t n, struct err *err)
{
	struct probe_run *run = p->run;
	struct err why = {};
	int rc = probe_open(run, &why);

	if (!rc) {
		p->opened = true;
		o->runs[(*o->n_runs)++] = run;
		return o->opened(o->arg, n, err);
	}
	probe_close(run);
	p->run = NULL;
	return probe_failed(o, p->i, rc, &why, err);
}

/* From here on what is attached counts: one interval for all. */
static int counting_begin(const struct opening *o)
{
	if (o->c->counting_ns)
		return 0;
	cost_counting(o->cost, o->runs, *o->n_runs);
	return capture_pause(o->c, false);
}

/* Those first that count all the time, and those asked for; where somebody watches, as whoever
 * asked put them. */
static int put_in_order(const struct opening *o, struct to_open all[SESSION_PROBES], size_t *late)
{
	const struct session_config *cfg = o->cfg;
	struct to_open others[SESSION_PROBES];
	size_t n = 0, n_others = 0;
	int rc = 0;

	for (size_t i = 0; i < cfg->n_probes && !rc; i++) {
		struct to_open p = {.i = i};

		rc = probe_new(cfg->probes[i], o->c, &p.run);
		if (rc || cfg->opt.watch_ns || opening_is_asked_for(cfg, i) ||
			probe_counts_on(p.run))
			all[n++] = p;
		else
			others[n_others++] = p;
	}
	*late = n;
	memcpy(all + n, others, n_others * sizeof(*others));
	return rc;
}

static size_t packed_bytes(const struct probe *p)
{
	const struct embedded *e = p->bpf ? embedded_find(p->name) : NULL;

	return e ? (size_t)(e->end - e->data) : SIZE_MAX;
}

/* While the first object is loaded, which makes the maps that all have in common, no other is: so
 * it is the smallest of those that count all the time. */
static void small_first(const struct opening *o, struct to_open *all, size_t n)
{
	const struct probe *const *of = o->cfg->probes;
	struct to_open first;
	size_t small = 0;

	for (size_t i = 1; i < n; i++)
		if (packed_bytes(of[all[i].i]) < packed_bytes(of[all[small].i]))
			small = i;
	first = all[small];
	memmove(all + 1, all, small * sizeof(*all));
	all[0] = first;
}

/* What looks now and then is opened within the interval, unless that is a command's. */
static int all_open(const struct opening *o, struct to_open *all, size_t late, struct err *err)
{
	size_t next = 0, n = o->cfg->n_probes;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		if (i == late && !o->cfg->argv)
			rc = counting_begin(o);
		rc = rc ? rc : one_open(o, &all[i], i + 1, err);
		/* The first makes the maps that all have in common. */
		for (next = MAX(next, i + 2); !rc && next < n && next <= i + AHEAD_JOBS; next++)
			probe_ahead(all[next].run);
	}
	return rc ? rc : counting_begin(o);
}

/* They tell in the order in which they were asked for. */
static void runs_order(const struct opening *o, struct to_open *all)
{
	struct probe_run *by[SESSION_PROBES] = {};

	for (size_t k = 0; k < o->cfg->n_probes; k++) {
		if (all[k].opened)
			by[all[k].i] = all[k].run;
		else
			probe_close(all[k].run);
	}
	*o->n_runs = 0;
	for (size_t i = 0; i < o->cfg->n_probes; i++)
		if (by[i])
			o->runs[(*o->n_runs)++] = by[i];
}

int opening_run(const struct opening *o, struct err *err)
{
	struct to_open all[SESSION_PROBES] = {};
	size_t late = 0;
	int rc;

	if (o->cfg->n_probes > SESSION_PROBES) /* none is left out in silence */
		return err_errno(err, -E2BIG, "probes");
	rc = put_in_order(o, all, &late);
	if (rc)
		err_errno(err, rc, "probes");
	o->c->ahead = o->cfg->n_probes > 1 && !rc ? ahead_begin() : NULL;
	if (o->c->ahead && o->cfg->lenient && !o->cfg->opt.watch_ns)
		small_first(o, all, late);
	rc = rc ? rc : all_open(o, all, late, err);
	ahead_end(o->c->ahead);
	o->c->ahead = NULL;
	runs_order(o, all);
	return rc;
}
