/*
 * What the tests of the samplers share: a sampler at work over a tree (data/sys/fixture.h), and
 * the records that it sent.
 */
#ifndef MEMWHY_TESTS_SAMPLERS_FIXTURE_H
#define MEMWHY_TESTS_SAMPLERS_FIXTURE_H

#include "data/sys/fixture.h"

#include "base/vec.h"
#include "capture/names/names.h"
#include "probes/probe.h"

struct sampler_test {
	struct sink sink;
	struct capture c;
	const struct probe_sampler *sampler;
	void *state;
	VEC(struct rec *) records;
};

static inline int sampler_put(struct sink *sink, const struct rec *r)
{
	struct sampler_test *t = (void *)sink;
	struct rec *copy = malloc(r->size);

	assert_non_null(copy);
	assert_int_equal(r->size % 8, 0);
	assert_true(r->time_ns);
	memcpy(copy, r, r->size);
	return vec_push(&t->records, copy);
}

/* Set t->c.opt before, if anything. */
static inline void sampler_open(struct sampler_test *t, const struct probe *p)
{
	struct names_options names = {.cgroup_version = t->c.opt.cgroup_version};
	struct err err = {};

	t->sink.put = sampler_put;
	t->c.sink = &t->sink;
	t->c.probe = p->name;
	t->sampler = p->sampler;
	t->state = calloc(1, p->sampler->size);
	assert_non_null(t->state);
	assert_int_equal(names_open(&t->sink, &names, &t->c.names), 0);
	assert_int_equal(p->sampler->open(&t->c, t->state, &err), 0);
}

static inline void sampler_forget(struct sampler_test *t)
{
	vec_each (r, &t->records)
		free(*r);
	t->records.n = 0;
}

static inline void sampler_sample(struct sampler_test *t)
{
	assert_int_equal(t->sampler->sample(&t->c, t->state), 0);
}

/* The last sample, which is taken whatever the time. Only its records remain. */
static inline void sampler_end(struct sampler_test *t)
{
	sampler_forget(t);
	t->c.ending = true;
	sampler_sample(t);
}

static inline void sampler_close(struct sampler_test *t)
{
	t->sampler->close(t->state);
	free(t->state);
	names_close(t->c.names);
	sampler_forget(t);
	vec_free(&t->records);
	vec_free(&t->c.opt.scope.tasks);
}

/* The record of a kind that comes after that many others of it; NULL at the end. */
static inline const void *sampler_record(const struct sampler_test *t, u16 kind, size_t nth)
{
	vec_each (r, &t->records)
		if ((*r)->kind == kind && !nth--)
			return *r;
	return NULL;
}

static inline size_t sampler_count(const struct sampler_test *t, u16 kind)
{
	size_t n = 0;

	while (sampler_record(t, kind, n))
		n++;
	return n;
}

static inline const struct rec_method *sampler_method(
	const struct sampler_test *t, const char *data)
{
	const struct rec_method *m;

	for (size_t i = 0; (m = sampler_record(t, REC_METHOD, i)); i++)
		if (!strcmp(m->data, data))
			return m;
	return NULL;
}

#endif
