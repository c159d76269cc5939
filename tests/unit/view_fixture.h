/* Shared by the tests of views: records in, cells out, no kernel. */
#ifndef MEMWHY_TESTS_VIEW_FIXTURE_H
#define MEMWHY_TESTS_VIEW_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/meta.h"
#include "finding_fixture.h"
#include "report/view.h"

/* A record of a type, its header filled. */
#define REC(type_, kind_, ...)                                                                    \
	(type_)                                                                                   \
	{                                                                                         \
		.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = 5000000000}, __VA_ARGS__ \
	}

struct fixture {
	const struct view *of;
	struct stream stream;
	struct report report;
	void *view; /* its state */
};

static inline void view_open(
	struct fixture *f, const struct view *v, const struct view_options *o, const char *command)
{
	struct err err = {};

	*f = (struct fixture){.of = v, .view = calloc(1, v->size)};
	assert_non_null(f->view);
	assert_int_equal(stream_init(&f->stream), 0);
	assert_int_equal(v->init(f->view, o, &err), 0);
	report_init(&f->report, command, &f->stream);
}

static inline void view_feed(struct fixture *f, const void *rec)
{
	assert_int_equal(stream_feed(&f->stream, rec), 0);
	assert_int_equal(f->of->feed(f->view, rec), 0);
}

static inline void view_report(struct fixture *f)
{
	assert_int_equal(f->of->report(f->view, &f->report), 0);
	vec_each (found, &f->report.findings)
		if (strcmp(f->report.command, "oom") != 0) /* it tells kills, without advice */
			assert_whole_finding(found);
}

/* Another report, of the same. */
static inline void view_again(struct fixture *f)
{
	const char *command = f->report.command;

	report_destroy(&f->report);
	report_init(&f->report, command, &f->stream);
}

/* The next interval begins, as between two reports of -i. */
static inline void view_next(struct fixture *f)
{
	view_again(f);
	f->of->reset(f->view);
}

static inline void view_close(struct fixture *f)
{
	report_destroy(&f->report);
	f->of->destroy(f->view);
	free(f->view);
	stream_destroy(&f->stream);
}

static inline struct table *view_table_of(const struct fixture *f, const char *name)
{
	vec_each (t, &f->report.tables)
		if (!strcmp((*t)->name, name))
			return *t;
	fail_msg("no table %s", name);
	return NULL;
}

static inline const struct cell *cell_at(const struct table *t, size_t row, const char *column)
{
	int c = table_column(t, column);

	if (c < 0 || row >= t->n_rows)
		fail_msg("%s has no column %s or no row %zu", t->name, column, row);
	return table_cell(t, row, (size_t)c);
}

static inline u64 cell_number(const struct table *t, size_t row, const char *column)
{
	const struct cell *c = cell_at(t, row, column);

	assert_int_equal(c->type, CELL_U64);
	return c->u;
}

static inline void assert_cell_text(
	const struct table *t, size_t row, const char *column, const char *want)
{
	const struct cell *c = cell_at(t, row, column);

	assert_int_equal(c->type, CELL_TEXT);
	assert_string_equal(c->text, want);
}

#endif
