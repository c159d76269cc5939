/* What the stream itself says, as parts of the report: its notes, and the data that its probes
 * could not obtain. What has the same cause is said once. */
#include <string.h>

#include "report/report.h"

#define LIST_MAX 8 /* data beyond are told by their probes and number */

static bool report_says(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(texts[i], text))
			return true;
	return false;
}

static bool note_is_alike(const struct stream_note *a, const struct stream_note *b)
{
	return a->level == b->level && !strcmp(a->text, b->text);
}

static bool note_is_first(const struct stream *s, const struct stream_note *note)
{
	vec_each (n, &s->notes)
		if (note_is_alike(n, note))
			return n == note;
	return true;
}

/* "faults, stalls: text": all probes that say the same. */
static const char *note_text(struct report *r, const struct stream_note *note)
{
	_cleanup_str_ struct str probes = {};

	vec_each (n, &r->stream->notes)
		if (note_is_alike(n, note) && n->probe[0])
			str_addf(&probes, "%s%s", probes.len ? ", " : "", n->probe);
	return probes.len ? report_text(r, "%s: %s", str_get(&probes), note->text) : note->text;
}

void report_add_notes(struct report *r)
{
	vec_each (n, &r->stream->notes) {
		bool unchecked = n->level == NOTE_NOT_CHECKED || n->level == NOTE_REFUSED;
		const char *text;

		if (!note_is_first(r->stream, n))
			continue;
		text = note_text(r, n);
		if (unchecked && !report_says(r->not_checked.v, r->not_checked.n, text))
			vec_push(&r->not_checked, text);
		if (!unchecked && !report_says(r->notes.v, r->notes.n, text))
			vec_push(&r->notes, text);
	}
}

bool missing_by_cause(const struct stream_method *a, const struct stream_method *b)
{
	return !strcmp(a->missing, b->missing);
}

bool missing_by_remedy(const struct stream_method *a, const struct stream_method *b)
{
	return a->needs[0] || b->needs[0] ? !strcmp(a->needs, b->needs) : missing_by_cause(a, b);
}

static bool in_group(
	const struct stream_method *m, const struct stream_method *like, missing_same_fn same)
{
	return stream_method_lacks(m) && same(m, like);
}

bool missing_is_first(
	const struct stream *s, const struct stream_method *like, missing_same_fn same)
{
	vec_each (m, &s->methods)
		if (in_group(m, like, same))
			return m == like;
	return false;
}

static bool probe_is_first(
	const struct stream *s, const struct stream_method *like, missing_same_fn same)
{
	vec_each (m, &s->methods)
		if (in_group(m, like, same) && !strcmp(m->probe, like->probe))
			return m == like;
	return false;
}

void missing_list_add(struct str *out, const struct stream *s, const struct stream_method *like,
	missing_same_fn same)
{
	const char *between = "";
	size_t n = 0;

	vec_each (m, &s->methods)
		n += in_group(m, like, same);
	vec_each (p, &s->methods) {
		const char *before = ": ";

		if (!in_group(p, like, same) || !probe_is_first(s, p, same))
			continue;
		str_addf(out, "%s%s", between, p->probe);
		between = n > LIST_MAX ? ", " : "; ";
		vec_each (m, &s->methods) {
			if (n > LIST_MAX || !in_group(m, like, same) || strcmp(m->probe, p->probe))
				continue;
			str_addf(out, "%s%s", before, m->data);
			before = ", ";
		}
	}
	if (n > LIST_MAX)
		str_addf(out, " (%zu kinds of data)", n);
}

bool report_is_refused(const struct report *r)
{
	vec_each (n, &r->stream->notes)
		if (n->level == NOTE_REFUSED)
			return true;
	vec_each (m, &r->stream->methods)
		if (m->refused)
			return true;
	return false;
}

const char *report_refused_remedy(const struct report *r)
{
	bool otherwise = false;

	vec_each (m, &r->stream->methods) {
		if (m->refused && !strncmp(m->needs, "root (", strlen("root (")))
			return "Run it as root, or see `memwhy doctor`.";
		otherwise |= m->refused && m->needs[0];
	}
	return otherwise ? "It takes more than root: see `memwhy doctor`."
			 : "Run it as root, or see `memwhy doctor`.";
}

bool report_tell_refused(struct report *r)
{
	bool blind = false;

	if (!report_is_refused(r))
		return false;
	vec_each (t, &r->tables) {
		if ((*t)->n_rows || !(*t)->empty)
			continue;
		(*t)->empty = "Not known: some of it could not be read.";
		blind = true;
	}
	if (blind && r->verdict)
		r->verdict = report_text(
			r, "INCOMPLETE: memwhy was not permitted to see all of it. %s", r->verdict);
	else if (blind)
		r->verdict = report_text(r,
			"INCOMPLETE: memwhy was not permitted to look, so what is not shown may "
			"still be there. %s",
			report_refused_remedy(r));
	return blind;
}

void report_add_stream_notes(struct report *r)
{
	report_add_notes(r);
	vec_each (m, &r->stream->methods) {
		_cleanup_str_ struct str list = {};
		const char *text;

		if (!stream_method_lacks(m) || !missing_is_first(r->stream, m, missing_by_cause))
			continue;
		missing_list_add(&list, r->stream, m, missing_by_cause);
		text = report_text(
			r, "%s: %s", str_get(&list), m->missing[0] ? m->missing : "not available");
		if (!report_says(r->not_checked.v, r->not_checked.n, text))
			vec_push(&r->not_checked, text);
	}
}

int report_drop_told(struct report *r, struct notes_told *told)
{
	size_t kept = 0;
	int rc = 0;

	vec_each (note, &r->notes) {
		char *copy;

		if (report_says((const char *const *)told->texts.v, told->texts.n, *note))
			continue;
		r->notes.v[kept++] = *note;
		copy = strdup(*note);
		if (copy && !vec_push(&told->texts, copy))
			continue;
		free(copy);
		rc = -ENOMEM;
	}
	r->notes.n = kept;
	return rc;
}

void notes_told_free(struct notes_told *told)
{
	vec_each (text, &told->texts)
		free(*text);
	vec_free(&told->texts);
}
