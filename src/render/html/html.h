/* The parts of a page, one file each; html.c puts them in order. */
#ifndef MEMWHY_RENDER_HTML_H
#define MEMWHY_RENDER_HTML_H

#include "render/html/html_text.h"
#include "render/render.h"

/* What was looked at, how, at which cost, and what was lost. `again`: a report before it on the
 * page said so of the same recording. */
void html_add_head(struct str *out, const struct report *r, bool again);
/* Verdict and findings. */
void html_add_findings(struct str *out, const struct report *r);
/* What was not checked, what to run next, notes, and unless they were told before, methods. */
void html_add_outlook(struct str *out, const struct report *r, bool again);
/* The first rows of each table, for browsers without scripts. */
void html_add_tables(struct str *out, const struct report *r);

#endif
