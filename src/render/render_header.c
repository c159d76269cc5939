/* The first lines of a text report: what was looked at, how much was seen and lost, and what the
 * looking cost. */
#include "render/render_facts.h"
#include "render/render_text.h"

/* Items joined by separators; an item that does not fit begins a new line. */
struct items {
	struct str *out;
	size_t width, at;
	const char *separator;
	bool any;
};

static void item_add(struct items *i, const char *text)
{
	size_t wide = text_width(text), gap = text_width(i->separator);

	if (i->any && i->at + gap + wide > i->width) {
		str_add(i->out, "\n  ");
		i->at = 2;
	} else if (i->any) {
		str_add(i->out, i->separator);
		i->at += gap;
	}
	shrink_add(i->out, text, i->width - i->at);
	i->at += MIN(wide, i->width - i->at);
	i->any = true;
}

static void items_end(const struct items *i)
{
	if (i->any)
		str_addc(i->out, '\n');
}

static void item_add_take(struct items *i, struct str *text)
{
	item_add(i, str_get(text));
	str_free(text);
}

static void item_add_fact(struct items *i, bool known, struct str *t)
{
	if (known)
		item_add_take(i, t);
}

static void host_items(struct items *i, const struct rec_host *h)
{
	struct str t = {};

	item_add_fact(i, fact_kernel(&t, h), &t);
	item_add_fact(i, fact_cpus(&t, h), &t);
}

static void interval_item(struct items *i, const struct stream *s)
{
	struct str t = {};

	item_add_fact(i, fact_interval(&t, s), &t);
}

/* That a command ended well need not be said. */
static void exit_item(struct items *i, const struct rec_exit *e)
{
	struct str t = {};

	if (e->status)
		item_add_fact(i, fact_exit(&t, e), &t);
}

static void event_items(struct items *i, const struct stream *s)
{
	const char *label = "events: ";
	struct str t = {};

	vec_each (l, &s->losses) {
		str_add(&t, label);
		fact_events(&t, l);
		item_add_take(i, &t);
		label = "";
	}
	if (s->losses.n && !stream_lost(s))
		item_add(i, "none lost");
}

static void cost_items(struct items *i, const struct stream *s)
{
	struct str t = {};

	if (!s->cost.cpu_ns && !s->cost.rss_bytes)
		return;
	str_add(&t, "cost: ");
	fact_cpu_cost(&t, s);
	item_add_take(i, &t);
	item_add_fact(i, fact_bpf_cost(&t, s), &t);
	fact_rss_cost(&t, s);
	item_add_take(i, &t);
}

static void losses_add(struct str *out, const struct stream *s, const struct render_options *o)
{
	vec_each (l, &s->losses) {
		_cleanup_str_ struct str t = {};

		if (fact_loss(&t, l))
			wrap_add_styled(out, str_get(&t), 0, 2, o, STYLE_RED);
	}
	if (s->damage[0]) {
		_cleanup_str_ struct str t = {};

		str_addf(&t, "INCOMPLETE: %s", s->damage);
		wrap_add_styled(out, str_get(&t), 0, 2, o, STYLE_RED);
	}
}

static void methods_add(struct str *out, const struct stream *s, const struct render_options *o)
{
	vec_each (m, &s->methods) {
		_cleanup_str_ struct str t = {};

		str_addf(&t, "method: %s %s: %s", m->probe, m->data,
			m->method[0] ? m->method : m->missing);
		wrap_add(out, str_get(&t), 0, 2, prose_width(o));
	}
}

static struct items items_begin(
	struct str *out, const char *separator, const struct render_options *o)
{
	return (struct items){.out = out, .width = prose_width(o), .separator = separator};
}

void header_add_totals(struct str *out, const struct report *r, const struct render_options *o)
{
	struct items i = items_begin(out, " · ", o);

	interval_item(&i, r->stream);
	exit_item(&i, &r->stream->exit);
	event_items(&i, r->stream);
	items_end(&i);
	i = items_begin(out, ", ", o);
	cost_items(&i, r->stream);
	items_end(&i);
	losses_add(out, r->stream, o);
}

static void origin_items(struct items *i, const struct stream *s)
{
	struct str t = {};

	host_items(i, &s->host);
	if (s->session.scope[0]) {
		str_add_escaped(&t, s->session.scope);
		item_add_take(i, &t);
	}
}

/* One of the recordings that are compared, in one line. */
static void side_add(struct str *out, const char *which, const char *name, const struct stream *s,
	const struct render_options *o)
{
	struct items i = items_begin(out, " · ", o);
	struct str t = {};

	str_addf(&t, "%s: ", which);
	str_add_escaped(&t, name);
	item_add_take(&i, &t);
	origin_items(&i, s);
	interval_item(&i, s);
	exit_item(&i, &s->exit);
	event_items(&i, s);
	items_end(&i);
	losses_add(out, s, o);
	if (o->verbose)
		methods_add(out, s, o);
}

static void sides_add(struct str *out, const struct report *r, const struct render_options *o)
{
	side_add(out, "before", r->names[0], r->before, o);
	vec_each (other, &r->others[0])
		side_add(out, "before", other->name, other->stream, o);
	side_add(out, "after", r->names[1], r->stream, o);
	vec_each (other, &r->others[1])
		side_add(out, "after", other->name, other->stream, o);
}

void header_add(struct str *out, const struct report *r, const struct render_options *o)
{
	struct items i = items_begin(out, " · ", o);
	struct str t = {};

	str_addf(&t, "memwhy %s%s%s", r->command, r->of ? " of " : "", r->of ? r->of : "");
	item_add_take(&i, &t);
	if (r->before) {
		items_end(&i);
		sides_add(out, r, o);
		return;
	}
	origin_items(&i, r->stream);
	items_end(&i);
	header_add_totals(out, r, o);
	if (o->verbose)
		methods_add(out, r->stream, o);
}
