/*
 * Fuzzes what is made of records: every view, its looks and rows of single events, every rule of
 * `check`, every renderer. A recording is foreign bytes, and a record of a known kind may hold
 * anything; the reader promises only its size. The input is a command, a choice of options, then
 * records: a byte that chooses the kind, one for the length of the payload, the payload.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cmd/command.h"
#include "export/export.h"
#include "probes/probe.h"
#include "record/pipeline.h"
#include "render/render.h"
#include "rules/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* The kinds there are, in a list that a byte can choose from. */
static const struct kind *const *kinds(size_t *ret_n)
{
	static const struct kind *all[REC_KINDS];
	static size_t n;
	static struct schema schema;

	if (!n) {
		if (pipeline_schema(&schema))
			abort();
		for (size_t i = 0; i < REC_KINDS; i++)
			if (schema.by_number[i])
				all[n++] = schema.by_number[i];
	}
	*ret_n = n;
	return all;
}

/* A record as the reader of recordings hands it on: at least the size of its kind, a multiple of
 * 8, what is missing zero. */
static void record_put(struct pipeline *p, struct input *in, u64 *time_ns)
{
	size_t n, given;
	const struct kind *const *all = kinds(&n);
	const struct kind *k = all[take(in) % n];
	struct rec *r;

	given = MIN((size_t)take(in), in->left);
	n = (MAX((size_t)k->size, sizeof(*r) + given) + 7) & ~7UL;
	/* no longer than it says: so the sanitizer sees a byte too far */
	r = calloc(1, n);
	if (!r)
		abort();
	*time_ns += given * 1000;
	memcpy(r + 1, in->at, given);
	in->at += given;
	in->left -= given;
	*r = (struct rec){.size = (u32)n,
		.kind = k->kind,
		.flags = given ? in->at[-1] : 0,
		.time_ns = *time_ns};
	if (p->sink.put(&p->sink, r) == -ENOMEM)
		abort();
	free(r);
}

static void report_draw(struct report *r, const struct table *rows)
{
	for (size_t i = 0; i < renderers_n; i++) {
		struct render_options o = {.width = 100, .verbose = i & 1};
		_cleanup_str_ struct str out = {};

		if (rows && renderers[i].rows)
			renderers[i].rows(r, rows, 0, true, &o, &out);
		else
			renderers[i].report(r, &o, &out);
		if (renderers[i].end)
			renderers[i].end(r, &o, &out);
	}
}

static void exports_draw(struct report *r)
{
	for (size_t i = 0; i < exports_n; i++) {
		struct render_options o = {.width = 100, .verbose = i & 1};
		_cleanup_str_ struct str out = {};

		exports[i].report(r, &o, &out);
	}
}

static void pipeline_draw(struct pipeline *p, const char *command, const struct view_options *o)
{
	const struct view *v = p->views[0].view;
	_cleanup_str_ struct str lines = {};
	struct report r;

	report_init(&r, command, &p->stream);
	if (o->look)
		o->look->lines(p->views[0].state, &r, &lines);
	if (o->each && v->each)
		report_draw(&r, v->each(p->views[0].state, &r));
	report_destroy(&r);
	report_init(&r, command, &p->stream);
	pipeline_report(p, &r);
	report_add_stream_notes(&r);
	report_rank(&r);
	report_draw(&r, NULL);
	exports_draw(&r);
	report_destroy(&r);
	pipeline_reset(p);
}

/* All of its keys, some of them, or the default. */
static const char *keys_choose(const struct view *v, uint8_t choice, struct str *out)
{
	size_t i = 0;

	for (const char *const *k = v->by_keys; k && *k; k++, i++)
		if (choice >> (i % 7) & 1)
			str_addf(out, "%s%s", out->len ? "," : "", *k);
	return out->len ? str_get(out) : NULL;
}

static void views_add(struct pipeline *p, const struct probe *probe, struct view_options *o)
{
	struct err err = {};
	int rc = 0;

	if (probe->view)
		rc = pipeline_add(p, probe->view, o, &err);
	for (size_t i = 0; i < rules_n && !probe->view && !rc; i++)
		rc = pipeline_add(p, rules[i], o, &err);
	if (rc)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	/* probes without a command stand for `check` */
	const struct probe *probe = probes[take(&in) % probes_n];
	uint8_t how = take(&in);
	_cleanup_str_ struct str keys = {};
	struct view_options o = {.stacks = how & 1, .each = how & 2};
	struct pipeline p;
	u64 time_ns = 1;

	if (probe->view) {
		o.by = keys_choose(probe->view, take(&in), &keys);
		if (how & 4 && probe->view->looks)
			o.look = &probe->view->looks[0];
		if (how & 16) {
			o.from_ns = (u64)take(&in) * 1000;
			o.to_ns = (u64)take(&in) * 100000;
		}
	}
	if (pipeline_init(&p))
		abort();
	views_add(&p, probe, &o);
	while (in.left) {
		record_put(&p, &in, &time_ns);
		if (how & 8 && !(in.left & 15))
			pipeline_draw(&p, probe->name, &o);
	}
	pipeline_draw(&p, probe->name, &o);
	pipeline_destroy(&p);
	return 0;
}
