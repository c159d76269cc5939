/* The parts of a page, one file each; html.c puts them in order. */
#ifndef MEMWHY_RENDER_HTML_H
#define MEMWHY_RENDER_HTML_H

#include <stddef.h>

#include "render/html/html_text.h"
#include "render/render.h"

/* What was looked at, how, at which cost, and what was lost. `again`: a report before it on the
 * page said so of the same recording. */
void html_add_head(struct str *out, const struct report *r, bool again);
/* Verdict and findings. */
void html_add_findings(struct str *out, const struct report *r);
/* What was not checked, what to run next, notes, and methods unless they came before. */
void html_add_outlook(struct str *out, const struct report *r, bool again);
/* The first rows of each table, for browsers without scripts. */
void html_add_tables(struct str *out, const struct report *r);

/* The page without its reports: markup, style and script, as tools/pack-page made it of the files
 * of this folder (page.c). */
struct page {
	char *text;
	size_t len;
	size_t title, reports; /* where these go in */
};

/* 0, -ENOMEM or -EBADMSG. */
int page_open(struct page *ret);
void page_close(struct page *p);

/* The data of a page, for its script: see html_data.c. */
void html_data_add(struct str *out, const struct report *r, const struct render_options *o);

#endif
