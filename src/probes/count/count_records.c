/* What the keys and values of the table mean: made for each event, and made into records. See
 * count_state.h. */
#include <errno.h>
#include <string.h>

#include "capture/names/names.h"
#include "probes/count/count_opts.h"
#include "probes/count/count_state.h"

static int source_number(struct state *s, struct event *e, const char *option, const char *name,
	struct count_source *ret, u8 *ret_show, struct err *err)
{
	int rc = event_source(&s->events, e, name, ret, ret_show, err);

	if (!rc && ret->from >= COUNT_STACK)
		return err_set(err, -EINVAL, "%s: %.60s of %.80s is a text: it takes a number",
			option, name, e->name);
	return rc;
}

static int keys_bind(
	const struct capture *c, struct state *s, struct event *e, struct bound *b, struct err *err)
{
	struct count_config *config = &b->config;
	u32 word = 1;
	int rc = 0;

	for (u32 i = 0; i < s->keys.n && !rc; i++) {
		struct count_source *source = &config->keys[i];

		if (s->keys.keys[i].from == COUNT_STACK)
			*source = (struct count_source){.from = COUNT_STACK};
		else
			rc = event_source(
				&s->events, e, s->keys.keys[i].name, source, &b->show[i], err);
		source->word = (u8)word;
		word += source->from == COUNT_PID    ? 0
			: source->from > COUNT_COMM  ? COUNT_TEXT / 8
			: source->from == COUNT_COMM ? COMM_LEN / 8
						     : 1;
		/* a user stack means something in its process only */
		config->task |= source->from == COUNT_PID || source->from == COUNT_TID ||
				(source->from == COUNT_STACK && c->opt.user_stacks);
	}
	config->n_words = (u8)word;
	s->n_words = MAX(s->n_words, word);
	return rc;
}

static bool is_own(const struct count_source *s)
{
	return s->from == COUNT_FIELD || s->from > COUNT_COMM;
}

static bool bound_is_plain(const struct count_config *c)
{
	bool own = is_own(&c->sum) || is_own(&c->hist);

	for (u32 i = 0; i < COUNT_KEYS; i++)
		own |= is_own(&c->keys[i]);
	for (u32 i = 0; i < c->n_tests; i++)
		own |= is_own(&c->tests[i].source);
	return !own;
}

int count_bind(const struct capture *c, u32 i, struct bound *b, struct err *err)
{
	struct state *s = c->state;
	struct event *e = &s->events.list.v[i];
	const struct count_opts *o = OPTS_OF(struct count_opts, c->opts);
	const char *sum = o->sum ? o->sum : o->hist;
	u8 show;
	int rc;

	b->config.event = i;
	b->config.n_tests = (u8)s->filter.n;
	rc = keys_bind(c, s, e, b, err);
	for (u32 k = 0; k < s->filter.n && !rc; k++)
		rc = event_test(&s->events, e, &s->filter.tests[k], &b->config.tests[k], err);
	if (!rc && sum)
		rc = source_number(
			s, e, o->sum ? "--sum" : "--hist", sum, &b->config.sum, &b->sum_show, err);
	if (!rc && o->hist)
		rc = source_number(s, e, "--hist", o->hist, &b->config.hist, &show, err);
	b->plain = bound_is_plain(&b->config);
	return rc;
}

static void lean_add(void *into, const void *cpu)
{
	struct count_value *sum = into;
	const struct count_value *v = cpu;
	bool first = !sum->count;

	if (!v->count)
		return;
	if (first) {
		sum->cgroup = v->cgroup;
		memcpy(sum->comm, v->comm, sizeof(sum->comm));
	}
	sum->count += v->count;
	sum->sum += v->sum;
	sum->min = first ? v->min : MIN(sum->min, v->min);
	sum->max = first ? v->max : MAX(sum->max, v->max);
}

static void lean_subtract(void *now, const void *before)
{
	struct count_value *v = now;
	const struct count_value *last = before;

	v->count -= last->count;
	v->sum -= last->sum;
}

static void full_add(void *into, const void *cpu)
{
	struct count_value *sum = into;
	const struct count_value *v = cpu;

	lean_add(into, cpu);
	for (size_t i = 0; i < COUNT_SLOTS; i++)
		sum->hist[i] += v->hist[i];
}

static void full_subtract(void *now, const void *before)
{
	struct count_value *v = now;
	const struct count_value *last = before;

	lean_subtract(now, before);
	for (size_t i = 0; i < COUNT_SLOTS; i++)
		v->hist[i] -= last->hist[i];
}

const struct table_values *count_value_of(const struct capture *c)
{
	static const struct table_values lean = {COUNT_VALUE_LEAN, lean_add, lean_subtract};
	static const struct table_values full = {
		sizeof(struct count_value), full_add, full_subtract};

	return OPTS_OF(struct count_opts, c->opts)->hist ? &full : &lean;
}

static u64 field_number(struct capture *c, u8 show, const u64 *words)
{
	char text[COUNT_TEXT + 1] = "";

	if (show == COUNT_SHOW_SYMBOL)
		return names_kernel_symbol(c->names, *words);
	if (show != COUNT_SHOW_TEXT)
		return *words;
	memcpy(text, words, COUNT_TEXT);
	return names_string(c->names, text);
}

static void key_fill(struct capture *c, const struct stack_maps *stacks, const struct bound *b,
	const u64 *key, struct count_agg *r)
{
	const struct state *s = c->state;
	u32 field = 0;

	for (u32 i = 0; i < s->keys.n; i++) {
		const u64 *at = &key[b->config.keys[i].word];

		switch (s->keys.keys[i].from) {
		case COUNT_TID:
			r->tid = (u32)*at;
			break;
		case COUNT_COMM:
			memcpy(r->comm, at, sizeof(r->comm));
			break;
		case COUNT_CPU:
			r->cpu = (u32)*at + 1;
			break;
		case COUNT_NODE:
			r->node = (u32)*at + 1;
			break;
		case COUNT_CGROUP:
			r->cgroup = *at;
			names_cgroup(c->names, *at);
			break;
		case COUNT_STACK:
			r->stack =
				names_stack(c->names, stacks, r->tgid, (u32)*at, (u32)(*at >> 32));
			break;
		case COUNT_FIELD:
			r->fields[field++] = field_number(c, b->show[i], at);
		}
	}
}

int count_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct state *s = c->state;
	const struct count_value *v = value;
	const u64 *words = key;
	u32 event = (u32)words[0];
	struct count_agg r = REC_INIT(struct count_agg, REC_COUNT_AGG, 0);

	if (event >= s->events.list.n)
		return 0;
	r.event = event;
	r.tgid = (u32)(words[0] >> 32);
	key_fill(c, stacks, &s->bound[event], words, &r);
	if (r.tgid)
		names_task(c->names, r.tgid, r.tid, v->comm, v->cgroup);
	r.count = v->count;
	r.sum = v->sum;
	r.min = v->min;
	r.max = v->max;
	if (OPTS_OF(struct count_opts, c->opts)->hist)
		memcpy(r.hist, v->hist, sizeof(r.hist));
	return capture_emit(c, &r.h);
}
