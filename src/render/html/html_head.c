/* The head of a report on a page: facts in a list of terms. See html.h. */
#include "render/html/html.h"
#include "render/render_facts.h"

#define DOT "\u00a0· " /* no line begins with one */

struct facts {
	struct str *out;
	struct str text; /* of the fact at hand */
};

static void fact_end(struct facts *f, const char *label)
{
	if (f->text.len) {
		str_add(f->out, "<div>");
		html_add_element(f->out, "dt", NULL, label);
		html_add_element(f->out, "dd", NULL, str_get(&f->text));
		str_add(f->out, "</div>");
	}
	f->out->failed |= f->text.failed;
	str_clear(&f->text);
}

static void part_begin(struct facts *f)
{
	if (f->text.len)
		str_add(&f->text, DOT);
}

static void host_add(struct facts *f, const struct rec_host *h)
{
	fact_kernel(&f->text, h);
	fact_end(f, "Host");
	fact_cpus(&f->text, h);
	fact_end(f, "Machine");
}

static void events_add(struct facts *f, const struct stream *s)
{
	vec_each (l, &s->losses) {
		if (!l->delivered && !l->lost && s->losses.n > 4)
			continue;
		part_begin(f);
		fact_events(&f->text, l);
	}
	if (s->losses.n && !stream_lost(s)) {
		part_begin(f);
		str_add(&f->text, "none lost");
	}
	fact_end(f, "Events");
}

static void cost_add(struct facts *f, const struct stream *s)
{
	_cleanup_str_ struct str bpf = {};

	if (!s->cost.cpu_ns && !s->cost.rss_bytes)
		return;
	fact_cpu_cost(&f->text, s);
	if (fact_bpf_cost(&bpf, s))
		str_addf(&f->text, DOT "%s", str_get(&bpf));
	str_add(&f->text, DOT);
	fact_rss_cost(&f->text, s);
	fact_end(f, "Cost of looking");
}

static void stream_add(struct str *out, const struct stream *s)
{
	struct facts f = {.out = out};

	str_add(out, "<dl class=\"facts\">");
	str_add_escaped(&f.text, s->session.scope);
	fact_end(&f, "Scope");
	host_add(&f, &s->host);
	fact_interval(&f.text, s);
	fact_end(&f, "Interval");
	if (fact_exit(&f.text, &s->exit))
		fact_end(&f, "Command ended");
	events_add(&f, s);
	cost_add(&f, s);
	str_add(out, "</dl>\n");
	str_free(&f.text);
}

/* What makes the numbers less than they should be: seen before them. */
static void losses_add(struct str *out, const struct stream *s)
{
	vec_each (l, &s->losses) {
		_cleanup_str_ struct str t = {};

		if (fact_loss(&t, l))
			html_add_element(out, "p", "alarm", str_get(&t));
	}
	if (s->damage[0]) {
		_cleanup_str_ struct str t = {};

		str_addf(&t, "INCOMPLETE: %s", s->damage);
		html_add_element(out, "p", "alarm", str_get(&t));
	}
}

static void side_add(struct str *out, const char *which, const char *name, const struct stream *s)
{
	_cleanup_str_ struct str title = {};

	str_addf(&title, "%s: ", which);
	str_add_escaped(&title, name ? name : "");
	str_add(out, "<div class=\"side\">");
	html_add_element(out, "h2", NULL, str_get(&title));
	stream_add(out, s);
	losses_add(out, s);
	str_add(out, "</div>\n");
}

static void sides_add(struct str *out, const struct report *r)
{
	str_add(out, "<div class=\"sides\">");
	side_add(out, "Before", r->names[0], r->before);
	vec_each (other, &r->others[0])
		side_add(out, "Before", other->name, other->stream);
	side_add(out, "After", r->names[1], r->stream);
	vec_each (other, &r->others[1])
		side_add(out, "After", other->name, other->stream);
	str_add(out, "</div>\n");
}

void html_add_head(struct str *out, const struct report *r, bool again)
{
	_cleanup_str_ struct str title = {};

	str_addf(&title, "memwhy %s%s%s", r->command, r->of ? " of " : "", r->of ? r->of : "");
	html_add_element(out, "h1", again ? "again" : NULL, str_get(&title));
	if (again)
		return;
	if (r->before) {
		sides_add(out, r);
		return;
	}
	stream_add(out, r->stream);
	losses_add(out, r->stream);
}
