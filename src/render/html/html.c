/*
 * -o html: one file with everything in it, to be opened anywhere. What people read first is markup;
 * a script of the page (*.js in this folder) makes tables and pictures of the data behind it. A
 * page holds one report, or several one after the other.
 */
#include "render/html/html.h"

#include <string.h>

#include "render/renderers.h"

static void title_add(struct str *out, const struct report *r)
{
	_cleanup_str_ struct str title = {};

	str_addf(&title, "memwhy %s", r->command);
	if (r->before)
		str_addf(&title, " of %s", r->of);
	else if (r->stream->session.scope[0])
		str_addf(&title, ": %s", r->stream->session.scope);
	html_add(out, str_get(&title));
	out->failed |= title.failed;
}

static void section_add(struct str *out, const struct report *r, const struct render_options *o)
{
	str_add(out, "<section class=\"report\" data-command=\"");
	html_add(out, r->command);
	str_add(out, "\">\n");
	html_add_head(out, r, o->headless);
	html_add_findings(out, r);
	str_add(out, "<div class=\"views\"></div>\n");
	html_add_tables(out, r);
	html_add_outlook(out, r, o->headless);
	render_pass(o, out);
	html_data_add(out, r, o);
	str_add(out, "</section>\n");
}

void html_report(const struct report *r, const struct render_options *o, struct str *out)
{
	struct page page;

	if (page_open(&page)) {
		out->failed = true;
		return;
	}
	if (!o->headless) {
		str_addn(out, page.text, page.title);
		title_add(out, r);
		str_addn(out, page.text + page.title, page.reports - page.title);
	}
	section_add(out, r, o);
	if (!o->more)
		str_addn(out, page.text + page.reports, page.len - page.reports);
	page_close(&page);
}

void html_end(const struct report *r, const struct render_options *o, struct str *out)
{
	struct page page;

	(void)r;
	(void)o;
	if (page_open(&page)) {
		out->failed = true;
		return;
	}
	str_addn(out, page.text + page.reports, page.len - page.reports);
	page_close(&page);
}
