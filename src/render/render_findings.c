/* The findings of a report as text: verdict, ranked findings, what was not checked, what next. */
#include <ctype.h>
#include <string.h>

#include "render/render_text.h"

#define LABEL_WIDTH 12 /* the longest label, "confidence", and a gap */

static enum style level_style(int level)
{
	return level == LEVEL_CRITICAL  ? STYLE_RED
	       : level == LEVEL_WARNING ? STYLE_YELLOW
					: STYLE_BLUE;
}

static void render_findings_level_add(
	struct str *out, const struct finding *f, const struct render_options *o)
{
	const char *name = finding_level_name(f->level);

	style_begin(out, o, level_style(f->level));
	for (const char *p = name; *p; p++)
		str_addc(out, (char)toupper((unsigned char)*p));
	style_end(out, o);
	pad_add(out, LABEL_WIDTH - strlen(name));
}

struct section {
	struct str *out;
	size_t margin; /* where labels begin */
	size_t width;
};

static void label_add(const struct section *s, const char *label)
{
	pad_add(s->out, s->margin);
	str_addf(s->out, "%-*s", LABEL_WIDTH, label);
}

static void text_section(const struct section *s, const char *label, const char *text)
{
	size_t indent = s->margin + LABEL_WIDTH;

	if (!text)
		return;
	label_add(s, label);
	wrap_add(s->out, text, indent, indent, s->width);
}

static void lines_section(const struct section *s, const char *label,
	const char *const lines[FINDING_LINES], bool commands)
{
	size_t indent = s->margin + LABEL_WIDTH;

	for (size_t i = 0; i < FINDING_LINES && lines[i]; i++) {
		label_add(s, i ? "" : label);
		if (commands)
			wrap_add_commands(s->out, lines[i], indent, s->width);
		else
			wrap_add(s->out, lines[i], indent, indent + 2, s->width);
	}
}

static void finding_add(
	struct str *out, const struct finding *f, size_t number, const struct render_options *o)
{
	size_t before = out->len, indent;
	struct section s = {.out = out, .width = prose_width(o)};

	str_addf(out, "%zu. ", number);
	s.margin = out->len - before;
	render_findings_level_add(out, f, o);
	indent = s.margin + LABEL_WIDTH;
	wrap_add_styled(out, f->title ? f->title : f->rule, indent, indent, o, STYLE_BOLD);
	lines_section(&s, "evidence", f->evidence, false);
	text_section(&s, "confidence", f->confidence);
	text_section(&s, "why", f->why);
	lines_section(&s, "try", f->try_, true);
	lines_section(&s, "undo", f->undo, true);
	lines_section(&s, "verify", f->verify, true);
}

/* In few words: they are of others than those that were asked for. */
static void elsewhere_add(struct str *out, const struct report *r, const struct render_options *o)
{
	if (!r->elsewhere.n)
		return;
	if (out->len)
		str_addc(out, '\n');
	wrap_add_styled(out, "ELSEWHERE ON THIS MACHINE", 0, 0, o, STYLE_BOLD);
	vec_each (f, &r->elsewhere) {
		pad_add(out, 3);
		render_findings_level_add(out, f, o);
		wrap_add(out, f->title ? f->title : f->rule, 3 + LABEL_WIDTH, 3 + LABEL_WIDTH,
			prose_width(o));
	}
}

void findings_add(struct str *out, const struct report *r, const struct render_options *o)
{
	const char *verdict = r->verdict;

	if (!verdict && r->has_findings && !r->findings.n)
		verdict = "No problem was found in what was checked.";
	if (verdict && out->len)
		str_addc(out, '\n');
	if (verdict)
		wrap_add_styled(out, verdict, 0, 0, o, STYLE_BOLD);
	for (size_t i = 0; i < r->findings.n; i++) {
		if (out->len)
			str_addc(out, '\n');
		finding_add(out, &r->findings.v[i], i + 1, o);
	}
	elsewhere_add(out, r, o);
}

static void outlook_add(struct str *out, const char *title, const char *const *lines, size_t n,
	bool commands, const struct render_options *o)
{
	if (!n)
		return;
	str_addc(out, '\n');
	wrap_add_styled(out, title, 0, 0, o, STYLE_BOLD);
	for (size_t i = 0; i < n; i++) {
		pad_add(out, 3);
		if (commands)
			wrap_add_commands(out, lines[i], 3, prose_width(o));
		else
			wrap_add(out, lines[i], 3, 5, prose_width(o));
	}
}

void findings_add_outlook(struct str *out, const struct report *r, const struct render_options *o)
{
	outlook_add(out, "NOT CHECKED", r->not_checked.v, r->not_checked.n, false, o);
	outlook_add(out, "NEXT", r->next.v, r->next.n, true, o);
}
