/*
 * -o pprof: the stacks of one table as a profile of google/pprof (profile.proto, gzip). Each row is
 * a sample; its numbers that add up are the values, what else it is of are the labels.
 */
#include <string.h>

#include "export/export.h"
#include "export/gzip.h"
#include "export/pprof_names.h"
#include "export/proto.h"
#include "export/samples.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2 };

#define PIECE (256U << 10) /* goes through the compressor at once */

struct profile {
	const struct samples *samples;
	struct pprof_names names;
	struct str piece;
	struct str sample, part; /* kept for their room */
	struct gzip gzip;
	const struct render_options *o;
	struct str *out;
};

static void profile_pass(struct profile *p, bool all)
{
	if (!all && p->piece.len < PIECE)
		return;
	gzip_add(&p->gzip, &p->piece, p->out);
	str_clear(&p->piece);
	render_pass(p->o, p->out);
}

static void value_type_add(struct profile *p, u32 field, const char *type, const char *unit)
{
	str_clear(&p->part);
	proto_u64(&p->part, VALUE_TYPE, pprof_string(&p->names, type));
	proto_u64(&p->part, VALUE_UNIT, pprof_string(&p->names, unit));
	proto_message(&p->piece, field, &p->part);
}

static void label_text(struct profile *p, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	str_clear(&p->part);
	proto_u64(&p->part, LABEL_KEY, pprof_string(&p->names, key));
	proto_u64(&p->part, LABEL_STR, pprof_string(&p->names, text));
	proto_message(&p->sample, SAMPLE_LABEL, &p->part);
}

static void label_add(struct profile *p, const char *key, const struct cell *c)
{
	char number[24];

	if (c->type == CELL_TEXT) {
		label_text(p, key, c->text);
		return;
	}
	if (c->type == CELL_U64)
		snprintf(number, sizeof(number), "%llu", c->u);
	else if (c->type == CELL_S64)
		snprintf(number, sizeof(number), "%lld", c->s);
	else
		return;
	label_text(p, key, number);
}

static bool cell_is_id(const struct cell *c, u32 *ret)
{
	*ret = c->type == CELL_U64 ? (u32)c->u : 0;
	return *ret != 0;
}

/* Of a row of a thread `comm` is its name: that of the process is told apart. */
static void labels_add(struct profile *p, size_t row)
{
	const struct samples *s = p->samples;
	u32 pid = 0, tid = 0;
	bool of_thread = s->pid >= 0 && s->tid >= 0 &&
			 cell_is_id(samples_cell(s, row, (size_t)s->pid), &pid) &&
			 cell_is_id(samples_cell(s, row, (size_t)s->tid), &tid);

	for (size_t i = 0; i < s->n_labels; i++) {
		const char *name = s->slice->t->cols[s->labels[i]].name;
		bool is_comm = of_thread && !strcmp(name, "comm");

		label_add(p, is_comm ? "thread" : name, samples_cell(s, row, s->labels[i]));
	}
	if (of_thread)
		label_text(p, "comm", stream_comm(s->stream, pid, 0));
}

static void location_add(void *arg, u32 frame)
{
	struct profile *p = arg;

	proto_varint(&p->part, pprof_location(&p->names, frame));
}

static void sample_add(struct profile *p, size_t row)
{
	const struct samples *s = p->samples;
	bool any = false;

	str_clear(&p->sample);
	str_clear(&p->part);
	stack_each_frame(s->stream, samples_stack(s, row), location_add, p);
	if (!p->part.len) /* go tool pprof leaves out a sample of no place, and what it counts */
		proto_varint(&p->part, pprof_location_unknown(&p->names));
	proto_message(&p->sample, SAMPLE_LOCATION, &p->part);
	str_clear(&p->part);
	for (size_t i = 0; i < s->n_values; i++) {
		s64 value = samples_value(s, row, i);

		any |= value != 0;
		proto_varint(&p->part, (u64)value);
	}
	if (!any)
		return;
	proto_message(&p->sample, SAMPLE_VALUE, &p->part);
	labels_add(p, row);
	proto_message(&p->piece, PROFILE_SAMPLE, &p->sample);
}

static void comment_add(struct profile *p, const char *text)
{
	if (text && *text)
		proto_u64(&p->piece, PROFILE_COMMENT, pprof_string(&p->names, text));
}

/* What the report says in words. */
static void comments_add(struct profile *p, const struct report *r)
{
	const struct stream *s = r->stream;
	_cleanup_str_ struct str text = {};

	str_addf(&text, "memwhy " MEMWHY_VERSION " %s, %s, Linux %s", r->command, s->session.scope,
		s->host.kernel);
	comment_add(p, str_get(&text));
	vec_each (l, &s->losses) {
		if (!l->lost)
			continue;
		str_clear(&text);
		str_addf(&text, "%s: %llu events lost%s%s", l->probe, l->lost,
			l->reason[0] ? ": " : "", l->reason);
		comment_add(p, str_get(&text));
	}
	comment_add(p, s->damage);
	vec_each (note, &r->notes)
		comment_add(p, *note);
	vec_each (what, &r->not_checked) {
		str_clear(&text);
		str_addf(&text, "not checked: %s", *what);
		comment_add(p, str_get(&text));
	}
}

static void head_add(struct profile *p, const struct report *r)
{
	const struct samples *s = p->samples;
	u64 wall = stream_wall_ns(s->stream);

	for (size_t i = 0; i < s->n_values; i++)
		value_type_add(p, PROFILE_SAMPLE_TYPE, s->values[i].name, s->values[i].unit);
	value_type_add(p, PROFILE_PERIOD_TYPE, s->period, s->period_unit);
	proto_u64(&p->piece, PROFILE_PERIOD, 1);
	proto_u64(&p->piece, PROFILE_DEFAULT_SAMPLE_TYPE,
		pprof_string(&p->names, s->values[s->main].name));
	if (wall)
		proto_u64(&p->piece, PROFILE_TIME, wall);
	proto_u64(&p->piece, PROFILE_DURATION, stream_interval_ns(s->stream));
	comments_add(p, r);
}

/* The file that pprof names is that of the first mapping: the program, whose main() is outermost.
 */
static void program_first(struct profile *p)
{
	const struct samples *s = p->samples;

	for (size_t row = 0; row < s->slice->n_rows; row++) {
		const struct rec_stack *stack = stream_stack(s->stream, samples_stack(s, row));
		const struct rec_frame *f =
			stack && stack->n ? stream_frame(s->stream, stack->frames[stack->n - 1])
					  : NULL;

		if (!f || f->h.flags == FRAME_KERNEL || !f->module)
			continue;
		pprof_location(&p->names, stack->frames[stack->n - 1]);
		return;
	}
}

static void pprof_profile_write(struct profile *p, const struct report *r)
{
	head_add(p, r);
	program_first(p);
	for (size_t row = 0; row < p->samples->slice->n_rows; row++) {
		sample_add(p, row);
		profile_pass(p, false);
	}
	pprof_names_add(&p->names, &p->piece);
	profile_pass(p, true);
	gzip_end(&p->gzip, p->out);
	p->out->failed |= p->sample.failed || p->part.failed;
}

void pprof_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct samples s;
	struct profile p = {.samples = &s, .o = o, .out = out};

	if (samples_open(r, &s)) {
		out->failed = true;
		return;
	}
	if (s.slice && !pprof_names_init(&p.names, r->stream) && !gzip_begin(&p.gzip)) {
		p.names.kernel_addresses = o->verbose;
		pprof_profile_write(&p, r);
	} else {
		out->failed |= s.slice != NULL;
	}
	pprof_names_free(&p.names);
	str_free(&p.piece);
	str_free(&p.sample);
	str_free(&p.part);
	samples_close(&s);
}
