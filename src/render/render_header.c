/* The first lines of a text report: what was looked at, how much was seen and lost, and what the
 * looking cost. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "render/render_cell.h"
#include "render/render_text.h"

/* Most of the CPU time of a shorter session is that of its start. */
#define SHARE_MIN_NS (NSEC_PER_SEC / 2)

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

static void share_add(struct str *out, u64 part, u64 whole)
{
	static const struct column ratio = {.unit = UNIT_RATIO};
	struct cell share = cell_f64((double)part / (double)whole);

	cell_add(out, &ratio, &share, 0);
}

static void host_items(struct items *i, const struct rec_host *h)
{
	struct str t = {};

	if (h->kernel[0]) {
		str_add(&t, "Linux ");
		str_add_escaped(&t, h->kernel);
		item_add_take(i, &t);
	}
	if (h->cpus) {
		str_addf(&t, "%u CPU%s, %u node%s", h->cpus, plural(h->cpus), h->nodes,
			plural(h->nodes));
		item_add_take(i, &t);
	}
}

static void interval_item(struct items *i, const struct stream *s)
{
	time_t wall = (time_t)(stream_wall_ns(s) / NSEC_PER_SEC);
	u64 ns = stream_interval_ns(s);
	struct str t = {};
	char buf[64];
	struct tm tm;

	if (!ns)
		return;
	if (ns < NSEC_PER_SEC)
		str_add(&t, fmt_ns(buf, ns));
	else
		str_addf(&t, "%.1f s", (double)ns / NSEC_PER_SEC);
	if (wall && gmtime_r(&wall, &tm) &&
		strftime(buf, sizeof(buf), " from %Y-%m-%d %H:%M:%S UTC", &tm))
		str_add(&t, buf);
	item_add_take(i, &t);
}

/* That a command ended well need not be said. */
static void exit_item(struct items *i, const struct rec_exit *e)
{
	const char *name = sigabbrev_np((int)MIN(e->signal, 65U));
	struct str t = {};

	if (!e->h.kind || !e->status)
		return;
	if (e->signal && name)
		str_addf(&t, "killed by SIG%s", name);
	else if (e->signal)
		str_addf(&t, "killed by signal %u", e->signal);
	else
		str_addf(&t, "exit status %u", e->status);
	item_add_take(i, &t);
}

static void event_items(struct items *i, const struct stream *s)
{
	const char *label = "events: ";
	struct str t = {};

	vec_each (l, &s->losses) {
		str_add(&t, label);
		str_add_escaped(&t, l->probe);
		str_addc(&t, ' ');
		count_add(&t, l->delivered);
		item_add_take(i, &t);
		label = "";
	}
	if (s->losses.n && !stream_lost(s))
		item_add(i, "none lost");
}

static void cost_items(struct items *i, const struct stream *s)
{
	const struct rec_cost *c = &s->cost;
	/* Cost counts from the start of the session, not of the interval. */
	u64 elapsed = s->has_session && s->last_ns > s->opened_ns ? s->last_ns - s->opened_ns
								  : stream_interval_ns(s);
	char buf[UNIT_BUF];
	struct str t = {};

	if (!c->cpu_ns && !c->rss_bytes)
		return;
	str_add(&t, "cost: ");
	/* Of a part of the recording the time that it cost is not known. */
	if (elapsed >= SHARE_MIN_NS && !s->part_from_ns && !s->part_to_ns) {
		share_add(&t, c->cpu_ns, elapsed);
		str_add(&t, " of one CPU");
	} else {
		str_addf(&t, "CPU %s", fmt_ns(buf, c->cpu_ns));
	}
	item_add_take(i, &t);
	if (c->bpf_runs) {
		str_addf(&t, "BPF %s%s", c->h.flags & COST_ESTIMATED ? "about " : "",
			fmt_ns(buf, c->bpf_ns));
		str_addf(&t, " (%s a run)", fmt_ns(buf, c->bpf_ns / c->bpf_runs));
		item_add_take(i, &t);
	}
	str_addf(&t, "RSS %s", fmt_bytes(buf, c->rss_bytes));
	item_add_take(i, &t);
}

static void losses_add(struct str *out, const struct stream *s, const struct render_options *o)
{
	vec_each (l, &s->losses) {
		_cleanup_str_ struct str t = {};
		u64 seen = l->seen ? l->seen : l->delivered + l->lost;

		if (!l->lost)
			continue;
		str_addf(&t, "LOST: %s lost ", l->probe);
		count_add(&t, l->lost);
		str_add(&t, " of ");
		count_add(&t, seen);
		str_add(&t, " events (");
		share_add(&t, l->lost, seen);
		str_addc(&t, ')');
		if (l->reason[0])
			str_addf(&t, ": %s", l->reason);
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
