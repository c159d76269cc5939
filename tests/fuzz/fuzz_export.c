/*
 * Fuzzes what is exported of a recording: the database and the trace, which are made of its
 * records, the profiles, which are made of a command's report on them, the page's course over time,
 * and the recording without names. The input is a command, then records as in fuzz_view.c.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export/anonymize.h"
#include "export/course.h"
#include "export/database.h"
#include "export/export.h"
#include "export/perfetto.h"
#include "probes/heap/view/heap_course.h"
#include "probes/probe.h"
#include "record/pipeline.h"

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

static const struct schema *schema_all(const struct kind *const **ret_kinds, size_t *ret_n)
{
	static const struct kind *all[REC_KINDS];
	static struct schema schema;
	static size_t n;

	if (!n) {
		if (pipeline_schema(&schema))
			abort();
		for (size_t i = 0; i < REC_KINDS; i++)
			if (schema.by_number[i])
				all[n++] = schema.by_number[i];
	}
	*ret_kinds = all;
	*ret_n = n;
	return &schema;
}

/* Calls put for each record, the same each time. */
static void records_each(struct input in, struct sink *sink)
{
	const struct kind *const *all;
	u64 time_ns = 1;
	size_t n;

	schema_all(&all, &n);
	while (in.left) {
		const struct kind *k = all[take(&in) % n];
		size_t given = MIN((size_t)take(&in), in.left);
		size_t bytes = (MAX((size_t)k->size, sizeof(struct rec) + given) + 7) & ~7UL;
		struct rec *r = calloc(1, bytes);

		if (!r)
			abort();
		time_ns += given * 1000;
		memcpy(r + 1, in.at, given);
		in.at += given;
		in.left -= given;
		*r = (struct rec){.size = (u32)bytes,
			.kind = k->kind,
			.flags = given ? in.at[-1] : 0,
			.time_ns = time_ns};
		if (sink->put(sink, r))
			abort();
		free(r);
	}
}

static int packets_take(void *arg, struct str *packets)
{
	(void)arg;
	str_clear(packets);
	return 0;
}

static void database_try(struct input in)
{
	const struct kind *const *all;
	struct database *d;
	struct err err = {};
	size_t n;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || database_begin(fd, schema_all(&all, &n), &d, &err))
		abort();
	records_each(in, database_sink(d));
	if (database_end(d, &err))
		abort();
	close(fd);
}

static void trace_try(struct input in, const struct stream *names)
{
	struct perfetto p;

	perfetto_init(&p, names);
	p.take = packets_take;
	records_each(in, &p.sink);
	if (perfetto_end(&p))
		abort();
	perfetto_free(&p);
}

/* The page of how memory went over time. */
static void course_try(struct input in)
{
	const struct view_options o = {.most_bytes = 1 << 24};
	struct err err = {};
	struct pipeline p;
	struct report r;

	if (pipeline_init(&p) || pipeline_add(&p, &course_view, &o, &err) ||
		pipeline_add(&p, &heap_course_view, &o, &err))
		abort();
	records_each(in, &p.sink);
	report_init(&r, "report", &p.stream);
	if (!pipeline_report(&p, &r)) {
		_cleanup_str_ struct str out = {};

		renderer_find("html")->report(&r, &(struct render_options){.width = 100}, &out);
	}
	report_destroy(&r);
	pipeline_destroy(&p);
}

struct passed {
	struct sink sink;
	size_t n;
};

static int passed_put(struct sink *sink, const struct rec *r)
{
	struct passed *p = (struct passed *)sink;

	p->n++;
	if (r->size < sizeof(*r) || r->kind >= REC_KINDS)
		abort();
	return 0;
}

/* What comes out are as many records, and whole ones. */
static void names_try(struct input in)
{
	const struct kind *const *all;
	size_t n;
	struct anonymizer *a = anonymizer_new(schema_all(&all, &n));
	struct passed out = {.sink.put = passed_put};
	struct passed whole = {.sink.put = passed_put};

	if (!a)
		abort();
	records_each(in, anonymizer_learn(a));
	records_each(in, anonymizer_pass(a, &out.sink));
	records_each(in, &whole.sink);
	if (out.n > whole.n)
		abort();
	anonymizer_free(a);
}

static void profiles_try(struct pipeline *p, const char *command)
{
	const struct render_options o = {.width = 100};
	struct report r;

	report_init(&r, command, &p->stream);
	pipeline_report(p, &r);
	for (size_t i = 0; i < exports_n; i++) {
		_cleanup_str_ struct str out = {};

		exports[i].report(&r, &o, &out);
	}
	report_destroy(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const struct probe *probe = probes[take(&in) % probes_n];
	uint8_t how = take(&in);
	struct view_options o = {
		.stacks = true, .by = probe->view ? probe->view->by_default : NULL};
	struct err err = {};
	struct pipeline p;

	if (size > 4096 || pipeline_init(&p))
		return 0;
	if (probe->view && pipeline_add(&p, probe->view, &o, &err))
		abort();
	records_each(in, &p.sink);
	trace_try(in, &p.stream);
	names_try(in);
	course_try(in);
	if (!(how & 15)) /* its tables take longer than all else */
		database_try(in);
	if (probe->view)
		profiles_try(&p, probe->name);
	pipeline_destroy(&p);
	return 0;
}
