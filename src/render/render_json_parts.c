/* See render_json_parts.h. */
#include "render/render_json_parts.h"

#include <string.h>

#include "event/cgroup_name.h"

static void member_str(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	if (value && *value)
		json_str(j, value);
	else
		json_null(j);
}

static void member_u64(struct json *j, const char *key, u64 value)
{
	json_key(j, key);
	json_u64(j, value);
}

static void member_seconds(struct json *j, const char *key, u64 ns)
{
	json_key(j, key);
	json_f64(j, (double)ns / 1e9);
}

static void add_host(struct json *j, const struct rec_host *h)
{
	json_key(j, "host");
	json_begin_object(j);
	member_str(j, "kernel", h->kernel);
	member_u64(j, "cpus", h->cpus);
	member_u64(j, "nodes", h->nodes);
	member_u64(j, "page_size", h->page_bytes);
	json_end_object(j);
}

static void add_interval(struct json *j, const struct stream *s)
{
	struct span_text span;

	span_read(s, &span);
	json_key(j, "interval");
	json_begin_object(j);
	member_str(j, "start", span.start);
	member_seconds(j, "seconds", stream_interval_ns(s));
	json_end_object(j);
}

static void add_exit(struct json *j, const struct rec_exit *e)
{
	const char *name = sigabbrev_np((int)MIN(e->signal, 65U));
	char signal[24];

	if (!e->h.kind)
		return;
	json_key(j, "exit");
	json_begin_object(j);
	member_u64(j, "status", e->status);
	if (name)
		snprintf(signal, sizeof(signal), "SIG%s", name);
	else
		snprintf(signal, sizeof(signal), "signal %u", e->signal);
	if (e->signal)
		member_str(j, "signal", signal);
	json_end_object(j);
}

static bool same_probe(const struct stream_method *a, const struct stream_method *b)
{
	return !strcmp(a->probe, b->probe);
}

/* The probe was not seen before m. */
static bool probe_is_new(const struct stream *s, const struct stream_method *m)
{
	for (const struct stream_method *p = s->methods.v; p < m; p++)
		if (same_probe(p, m))
			return false;
	return true;
}

static bool method_is_new(const struct stream *s, const struct stream_method *m)
{
	for (const struct stream_method *p = s->methods.v; p < m; p++)
		if (same_probe(p, m) && !strcmp(p->method, m->method))
			return false;
	return true;
}

/* The distinct methods of the probe that m is the first entry of. */
static void add_methods_of(struct json *j, const struct stream *s, const struct stream_method *m)
{
	_cleanup_str_ struct str joined = {};

	vec_each (p, &s->methods) {
		if (!same_probe(p, m) || !p->method[0] || !method_is_new(s, p))
			continue;
		if (joined.len)
			str_add(&joined, " + ");
		str_add(&joined, p->method);
	}
	member_str(j, m->probe, str_get(&joined));
}

static void add_methods(struct json *j, const struct stream *s)
{
	json_key(j, "methods");
	json_begin_object(j);
	vec_each (m, &s->methods)
		if (probe_is_new(s, m))
			add_methods_of(j, s, m);
	json_end_object(j);
}

/* "key": {probe: {data: text}}; `missing`: why data was not obtained, else how it was. */
static void add_details(struct json *j, const struct stream *s, const char *key, bool missing)
{
	json_key(j, key);
	json_begin_object(j);
	vec_each (m, &s->methods) {
		bool open = false;

		if (!probe_is_new(s, m))
			continue;
		vec_each (p, &s->methods) {
			if (!same_probe(p, m) || (missing && p->method[0]))
				continue;
			if (!open) {
				json_key(j, m->probe);
				json_begin_object(j);
				open = true;
			}
			member_str(j, p->data, missing ? p->missing : p->method);
		}
		if (open)
			json_end_object(j);
	}
	json_end_object(j);
}

static bool any_missing(const struct stream *s)
{
	vec_each (m, &s->methods)
		if (!m->method[0])
			return true;
	return false;
}

static void add_events(struct json *j, const struct stream *s)
{
	json_key(j, "events");
	json_begin_object(j);
	vec_each (l, &s->losses)
		member_u64(j, l->probe, l->delivered);
	json_end_object(j);
	json_key(j, "lost");
	json_begin_object(j);
	vec_each (l, &s->losses)
		member_u64(j, l->probe, l->lost);
	json_end_object(j);
}

static void add_lost_reasons(struct json *j, const struct stream *s)
{
	if (!stream_lost(s))
		return;
	json_key(j, "lost_reasons");
	json_begin_object(j);
	vec_each (l, &s->losses)
		if (l->lost)
			member_str(j, l->probe, l->reason);
	json_end_object(j);
}

static void add_cost(struct json *j, const struct rec_cost *c)
{
	json_key(j, "cost");
	json_begin_object(j);
	member_seconds(j, "cpu_seconds", c->cpu_ns);
	member_seconds(j, "bpf_seconds", c->bpf_ns);
	if (c->h.flags & COST_ESTIMATED) {
		json_key(j, "bpf_seconds_estimated");
		json_bool(j, true);
	}
	member_u64(j, "rss_bytes", c->rss_bytes);
	member_u64(j, "bpf_bytes", c->bpf_bytes);
	json_end_object(j);
}

static void add_origin(struct json *j, const struct stream *s)
{
	add_host(j, &s->host);
	add_interval(j, s);
	member_str(j, "scope", s->session.scope);
	add_exit(j, &s->exit);
	add_methods(j, s);
	add_details(j, s, "method_details", false);
	if (any_missing(s))
		add_details(j, s, "missing", true);
	add_events(j, s);
	add_lost_reasons(j, s);
	add_cost(j, &s->cost);
	if (s->damage[0])
		member_str(j, "damage", s->damage);
}

/* A side of what is compared: its first recording, and in it the others. */
static void add_side(struct json *j, const struct report *r, int side)
{
	json_key(j, side ? "after" : "before");
	json_begin_object(j);
	member_str(j, "file", r->names[side]);
	add_origin(j, side ? r->stream : r->before);
	if (r->others[side].n) {
		json_key(j, "others");
		json_begin_array(j);
		vec_each (other, &r->others[side]) {
			json_begin_object(j);
			member_str(j, "file", other->name);
			add_origin(j, other->stream);
			json_end_object(j);
		}
		json_end_array(j);
	}
	json_end_object(j);
}

void json_add_name(struct json *j, const struct report *r)
{
	member_str(j, "schema", "memwhy/1");
	member_str(j, "command", r->command);
}

void json_add_origin(struct json *j, const struct report *r)
{
	if (!r->before) {
		add_origin(j, r->stream);
		return;
	}
	member_str(j, "of", r->of);
	add_side(j, r, 0);
	add_side(j, r, 1);
}

void json_add_head(struct json *j, const struct report *r)
{
	json_add_name(j, r);
	json_add_origin(j, r);
}

static void add_texts(struct json *j, const char *key, const char *const *texts, size_t n)
{
	json_key(j, key);
	json_begin_array(j);
	for (size_t i = 0; i < n && texts[i]; i++)
		json_str(j, texts[i]);
	json_end_array(j);
}

static void add_finding(struct json *j, const struct finding *f)
{
	json_begin_object(j);
	member_str(j, "level", finding_level_name(f->level));
	member_str(j, "rule", f->rule);
	member_str(j, "title", f->title);
	member_str(j, "confidence", f->confidence);
	json_key(j, "cost_ns");
	if (f->cost_ns)
		json_u64(j, f->cost_ns);
	else
		json_null(j);
	add_texts(j, "evidence", f->evidence, FINDING_LINES);
	member_str(j, "why", f->why);
	add_texts(j, "try", f->try_, FINDING_LINES);
	add_texts(j, "undo", f->undo, FINDING_LINES);
	add_texts(j, "verify", f->verify, FINDING_LINES);
	json_end_object(j);
}

void json_add_tail(struct json *j, const struct report *r)
{
	if (r->has_findings || r->findings.n) {
		json_key(j, "findings");
		json_begin_array(j);
		vec_each (f, &r->findings)
			add_finding(j, f);
		json_end_array(j);
	}
	if (r->elsewhere.n) {
		json_key(j, "elsewhere");
		json_begin_array(j);
		vec_each (f, &r->elsewhere)
			add_finding(j, f);
		json_end_array(j);
	}
	if (r->verdict)
		member_str(j, "verdict", r->verdict);
	if (r->not_checked.n)
		add_texts(j, "not_checked", r->not_checked.v, r->not_checked.n);
	if (r->notes.n)
		add_texts(j, "notes", r->notes.v, r->notes.n);
	if (r->next.n)
		add_texts(j, "next", r->next.v, r->next.n);
}

void json_add_cut(struct json *j, const struct slices *vs)
{
	bool open = false;

	vec_each (v, &vs->v) {
		if (!v->n_cut)
			continue;
		if (!open) {
			json_key(j, "rows_cut");
			json_begin_object(j);
			open = true;
		}
		member_u64(j, v->t->name, v->n_cut);
	}
	if (open)
		json_end_object(j);
}

void json_add_cut_rows(struct json *j, const struct render_options *o)
{
	if (!o->n_cut)
		return;
	json_key(j, "rows_cut");
	json_begin_object(j);
	member_u64(j, o->cut_of, o->n_cut);
	json_end_object(j);
}

static void add_frame(void *arg, const char *text)
{
	json_str(arg, text);
}

static void add_hist(struct json *j, const struct hist_cell *h)
{
	json_begin_array(j);
	for (size_t i = 0; i < HIST_SLOTS; i++) {
		if (!h->slots[i])
			continue;
		json_begin_object(j);
		member_u64(j, "from", hist_bound(i));
		json_key(j, "to");
		if (i + 1 < HIST_SLOTS)
			json_u64(j, hist_bound(i + 1));
		else
			json_null(j);
		member_u64(j, "count", h->slots[i]);
		json_end_object(j);
	}
	json_end_array(j);
}

static void add_stack(
	struct json *j, const struct stream *s, u32 stack, const struct json_stacks *stacks)
{
	if (stacks) {
		stacks->add(stacks->arg, j, stack);
		return;
	}
	json_begin_array(j);
	stack_lines(s, stack, false, add_frame, j);
	json_end_array(j);
}

static void add_cell(struct json *j, const struct stream *s, const struct cell *c,
	const struct json_stacks *stacks)
{
	switch (c->type) {
	case CELL_U64:
		json_u64(j, c->u);
		break;
	case CELL_S64:
		json_s64(j, c->s);
		break;
	case CELL_F64:
		json_f64(j, c->f);
		break;
	case CELL_BOOL:
		json_bool(j, c->b);
		break;
	case CELL_TEXT:
		json_str(j, c->text);
		break;
	case CELL_STACK:
		add_stack(j, s, c->stack, stacks);
		break;
	case CELL_HIST:
		add_hist(j, c->hist);
		break;
	default:
		json_null(j);
	}
}

/* "victim_cgroup" has its container's id in "victim_container". */
static void add_container(struct json *j, const struct column *c, const char *path)
{
	struct cgroup_part p;
	char key[CONTAINER_FIELD_LEN], id[CONTAINER_SHORT + 1];

	if (!cgroup_container(path, &p))
		return;
	container_field(c, key);
	snprintf(id, sizeof(id), "%s", p.name);
	member_str(j, key, id);
}

/* How the stack was had, where it is not exact. */
static void add_method(struct json *j, const struct report *r, const struct column *c, u32 stack)
{
	const struct rec_stack *st = stream_stack(r->stream, stack);
	char key[48];

	if (!st || !st->h.flags)
		return;
	snprintf(key, sizeof(key), "%.32s_method", c->name);
	member_str(j, key, stack_method_text(st->h.flags));
}

void json_add_row(struct json *j, const struct report *r, const struct slice *v, size_t row,
	const struct span_text *when, const struct json_stacks *stacks)
{
	bool pretty = j->pretty;

	json_begin_object(j);
	j->pretty = false;
	json_key(j, "table");
	json_str(j, v->t->name);
	if (when) {
		member_str(j, "interval_start", when->start);
		member_str(j, "interval_end", when->end);
	}
	for (size_t i = 0; i < v->n_cols; i++) {
		json_key(j, slice_column(v, i)->name);
		add_cell(j, r->stream, slice_cell(v, row, i), stacks);
		if (slice_cell(v, row, i)->type == CELL_TEXT &&
			slice_column(v, i)->unit == UNIT_CGROUP)
			add_container(j, slice_column(v, i), slice_cell(v, row, i)->text);
		if (slice_cell(v, row, i)->type == CELL_STACK)
			add_method(j, r, slice_column(v, i), slice_cell(v, row, i)->stack);
	}
	json_end_object(j);
	j->pretty = pretty;
}

void json_add_report(struct json *j, const struct report *r, const struct slices *vs,
	const struct json_stacks *stacks, const struct render_options *o)
{
	json_begin_object(j);
	json_add_head(j, r);
	json_key(j, "rows");
	json_begin_array(j);
	vec_each (v, &vs->v)
		for (size_t row = 0; row < v->n_rows; row++) {
			json_add_row(j, r, v, row, NULL, stacks);
			render_pass(o, j->out);
		}
	json_end_array(j);
	json_add_cut(j, vs);
	json_add_tail(j, r);
	json_end_object(j);
}
