/*
 * -o speedscope: the stacks of one table as a file of speedscope.app: a list of frames, and for
 * each number that adds up one profile of samples with weights.
 */
#include <string.h>

#include "base/groups.h"
#include "base/json.h"
#include "export/export.h"
#include "export/samples.h"

#include <xxhash.h>

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct frame_key {
	XXH128_hash_t name, file;
	u64 line;
};

struct drawn {
	const struct samples *samples;
	const struct render_options *o;
	struct groups frames; /* frame_key -> number + 1 */
	struct json j;
	VEC(u32) stack; /* of one sample, innermost first */
	bool failed;
};

static XXH128_hash_t text_hash(const char *text)
{
	return XXH3_128bits(text ? text : "", text ? strlen(text) : 0);
}

static void frame_write(struct drawn *d, const char *name, const struct stack_line *l)
{
	json_begin_object(&d->j);
	json_key(&d->j, "name");
	json_str(&d->j, name);
	if (l && (l->file || l->module)) {
		json_key(&d->j, "file");
		json_str(&d->j, l->file ? l->file : l->module);
	}
	if (l && l->file && l->line) {
		json_key(&d->j, "line");
		json_u64(&d->j, l->line);
	}
	json_end_object(&d->j);
	render_pass(d->o, d->j.out);
}

/* The number of a frame; one that is new is written, where the list of frames is being written. */
static u32 frame_number(struct drawn *d, const char *name, const struct stack_line *l)
{
	struct frame_key key = {.name = text_hash(name)};
	u32 *number;

	key.file = text_hash(l ? l->file ? l->file : l->module : NULL);
	key.line = l && l->file ? l->line : 0;
	number = groups_get(&d->frames, &key);
	if (!number) {
		d->failed = true;
		return 0;
	}
	if (!*number) {
		*number = (u32)d->frames.n;
		frame_write(d, name, l);
	}
	return *number - 1;
}

static void speedscope_line_take(void *arg, const struct stack_line *l)
{
	struct drawn *d = arg;
	_cleanup_str_ struct str name = {};
	struct stack_line bare = *l;

	bare.inlined = false;
	if (l->function)
		str_add(&name, l->function);
	else
		stack_line_add(&name, &bare, false);
	if (l->kernel)
		str_add(&name, " [kernel]");
	d->failed |= name.failed || vec_push(&d->stack, frame_number(d, str_get(&name), l));
}

static int text_column(const struct table *t, const char *name)
{
	int i = table_column(t, name);

	return i >= 0 && t->cols[i].type == CELL_TEXT ? i : -1;
}

/* Fills d->stack; the outermost frame is the task, where the rows have its name. */
static void speedscope_stack_take(struct drawn *d, size_t row)
{
	const struct samples *s = d->samples;
	int comm = text_column(s->slice->t, "comm");
	const struct cell *c = comm < 0 ? NULL : samples_cell(s, row, (size_t)comm);

	d->stack.n = 0;
	stack_each(s->stream, samples_stack(s, row), speedscope_line_take, d);
	if (c && c->type == CELL_TEXT)
		d->failed |= vec_push(&d->stack, frame_number(d, c->text, NULL));
	if (!d->stack.n)
		d->failed |= vec_push(&d->stack, frame_number(d, "?", NULL));
}

static void frames_write(struct drawn *d)
{
	json_key(&d->j, "shared");
	json_begin_object(&d->j);
	json_key(&d->j, "frames");
	json_begin_array(&d->j);
	for (size_t row = 0; row < d->samples->slice->n_rows && !d->failed; row++)
		speedscope_stack_take(d, row);
	json_end_array(&d->j);
	json_end_object(&d->j);
}

static void samples_write(struct drawn *d, size_t value)
{
	json_key(&d->j, "samples");
	json_begin_array(&d->j);
	for (size_t row = 0; row < d->samples->slice->n_rows && !d->failed; row++) {
		if (!samples_value(d->samples, row, value))
			continue;
		speedscope_stack_take(d, row);
		json_begin_array(&d->j);
		for (size_t i = d->stack.n; i-- > 0;)
			json_u64(&d->j, d->stack.v[i]);
		json_end_array(&d->j);
		render_pass(d->o, d->j.out);
	}
	json_end_array(&d->j);
}

static u64 weights_write(struct drawn *d, size_t value)
{
	u64 total = 0;

	json_key(&d->j, "weights");
	json_begin_array(&d->j);
	for (size_t row = 0; row < d->samples->slice->n_rows; row++) {
		s64 weight = samples_value(d->samples, row, value);

		if (!weight)
			continue;
		total += (u64)weight;
		json_u64(&d->j, (u64)weight);
		render_pass(d->o, d->j.out);
	}
	json_end_array(&d->j);
	return total;
}

static void speedscope_profile_write(struct drawn *d, size_t value)
{
	const struct sample_value *v = &d->samples->values[value];
	bool known = !strcmp(v->unit, "bytes") || !strcmp(v->unit, "nanoseconds");
	u64 total;

	json_begin_object(&d->j);
	json_key(&d->j, "type");
	json_str(&d->j, "sampled");
	json_key(&d->j, "name");
	json_str(&d->j, v->name);
	json_key(&d->j, "unit");
	json_str(&d->j, known ? v->unit : "none");
	json_key(&d->j, "startValue");
	json_u64(&d->j, 0);
	samples_write(d, value);
	total = weights_write(d, value);
	json_key(&d->j, "endValue");
	json_u64(&d->j, total);
	json_end_object(&d->j);
}

static void profiles_write(struct drawn *d)
{
	const struct samples *s = d->samples;
	u64 active = 0, n = 0;

	json_key(&d->j, "profiles");
	json_begin_array(&d->j);
	for (size_t i = 0; i < s->n_values; i++) {
		if (!samples_is_positive(s, i)) /* a width cannot be negative */
			continue;
		active = i == s->main ? n : active;
		n++;
		speedscope_profile_write(d, i);
	}
	json_end_array(&d->j);
	json_key(&d->j, "activeProfileIndex");
	json_u64(&d->j, active);
}

static void speedscope_file_write(struct drawn *d, const struct report *r)
{
	_cleanup_str_ struct str name = {};

	str_addf(&name, "memwhy %s, %s", r->command, r->stream->session.scope);
	json_begin_object(&d->j);
	json_key(&d->j, "$schema");
	json_str(&d->j, SCHEMA);
	json_key(&d->j, "exporter");
	json_str(&d->j, "memwhy " MEMWHY_VERSION);
	json_key(&d->j, "name");
	json_str(&d->j, str_get(&name));
	frames_write(d);
	profiles_write(d);
	json_end_object(&d->j);
	str_addc(d->j.out, '\n');
}

void speedscope_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct samples s;
	struct drawn d = {.samples = &s, .o = o, .j = {.out = out}};

	if (samples_open(r, &s)) {
		out->failed = true;
		return;
	}
	groups_init(&d.frames, sizeof(struct frame_key), sizeof(u32));
	if (s.slice)
		speedscope_file_write(&d, r);
	out->failed |= d.failed;
	groups_free(&d.frames);
	vec_free(&d.stack);
	samples_close(&s);
}
