/* Verdict, findings and what stands below them, on a page. See html.h. */
#include <string.h>

#include "base/units.h"
#include "render/html/html.h"

static void lines_add(
	struct str *out, const char *label, const char *const lines[FINDING_LINES], bool commands)
{
	if (!lines[0])
		return;
	html_add_element(out, "dt", NULL, label);
	for (size_t i = 0; i < FINDING_LINES && lines[i]; i++) {
		str_add(out, "<dd>");
		if (commands)
			html_add_commands(out, lines[i]);
		else
			html_add(out, lines[i]);
		str_add(out, "</dd>");
	}
}

static void html_findings_text_add(struct str *out, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	html_add_element(out, "dt", NULL, label);
	html_add_element(out, "dd", NULL, text);
}

static void html_findings_level_add(struct str *out, const struct finding *f)
{
	str_addf(out, "<span class=\"level %s\">%s</span> ", finding_level_name(f->level),
		finding_level_name(f->level));
}

static void finding_add(struct str *out, const struct finding *f)
{
	char cost[UNIT_BUF];

	str_addf(out, "<article class=\"finding %s\"><h3>", finding_level_name(f->level));
	html_findings_level_add(out, f);
	html_add(out, f->title ? f->title : f->rule);
	str_add(out, "</h3><dl>");
	lines_add(out, "Evidence", f->evidence, false);
	if (f->cost_ns)
		html_findings_text_add(out, "Time lost", fmt_ns(cost, f->cost_ns));
	html_findings_text_add(out, "Confidence", f->confidence);
	html_findings_text_add(out, "Why", f->why);
	lines_add(out, "Try", f->try_, true);
	lines_add(out, "Undo", f->undo, true);
	lines_add(out, "Verify", f->verify, true);
	str_add(out, "</dl></article>\n");
}

static void elsewhere_add(struct str *out, const struct report *r)
{
	if (!r->elsewhere.n)
		return;
	str_add(out, "<h2>Elsewhere on this machine</h2><ul class=\"elsewhere\">");
	vec_each (f, &r->elsewhere) {
		str_add(out, "<li>");
		html_findings_level_add(out, f);
		html_add(out, f->title ? f->title : f->rule);
		str_add(out, "</li>");
	}
	str_add(out, "</ul>\n");
}

/* What colour the verdict has: that of the worst finding. */
static const char *verdict_class(const struct report *r)
{
	int worst = -1;

	vec_each (f, &r->findings)
		worst = f->level > worst ? f->level : worst;
	return worst >= LEVEL_WARNING ? finding_level_name(worst) : r->has_findings ? "fine" : "";
}

void html_add_findings(struct str *out, const struct report *r)
{
	const char *verdict = r->verdict;

	if (!verdict && r->has_findings && !r->findings.n)
		verdict = "No problem was found in what was checked.";
	if (verdict) {
		str_addf(out, "<div class=\"verdict %s\">", verdict_class(r));
		html_add_commands(out, verdict);
		str_add(out, "</div>\n");
	}
	if (r->findings.n) {
		str_add(out, "<div class=\"findings\"><h2>Findings</h2>\n");
		vec_each (f, &r->findings)
			finding_add(out, f);
		str_add(out, "</div>\n");
	}
	elsewhere_add(out, r);
}

static void texts_add(
	struct str *out, const char *title, const char *class, const char *const *texts, size_t n)
{
	if (!n)
		return;
	str_addf(out, "<div class=\"texts %s\">", class);
	html_add_element(out, "h2", NULL, title);
	str_add(out, "<ul>");
	for (size_t i = 0; i < n; i++) {
		str_add(out, "<li>");
		html_add_commands(out, texts[i]);
		str_add(out, "</li>");
	}
	str_add(out, "</ul></div>\n");
}

static void methods_add(struct str *out, const struct stream *s)
{
	if (!s->methods.n)
		return;
	str_add(out, "<details class=\"methods\"><summary>How each number was obtained</summary>"
		     "<table><thead><tr><th>Probe</th><th>Data</th><th>Method</th></tr></thead>"
		     "<tbody>");
	vec_each (m, &s->methods) {
		str_add(out, "<tr>");
		html_add_element(out, "td", NULL, m->probe);
		html_add_element(out, "td", NULL, m->data);
		html_add_element(out, "td", m->method[0] ? NULL : "missing",
			m->method[0] ? m->method : m->missing);
		str_add(out, "</tr>");
	}
	str_add(out, "</tbody></table></details>\n");
}

void html_add_outlook(struct str *out, const struct report *r, bool again)
{
	texts_add(out, "Not checked", "unchecked", r->not_checked.v, r->not_checked.n);
	texts_add(out, "Next", "next", r->next.v, r->next.n);
	texts_add(out, "Notes", "notes", r->notes.v, r->notes.n);
	if (!again)
		methods_add(out, r->stream);
}
