/* The functions of the renderers, see struct renderer; render.c lists them. */
#ifndef MEMWHY_RENDER_RENDERERS_H
#define MEMWHY_RENDER_RENDERERS_H

#include "render/render.h"

#define RENDER_REPORT(name) \
	void name(const struct report *r, const struct render_options *o, struct str *out)
#define RENDER_ROWS(name)                                                                 \
	void name(const struct report *r, const struct table *t, size_t from, bool first, \
		const struct render_options *o, struct str *out)

RENDER_REPORT(text_report);
RENDER_ROWS(text_rows);
RENDER_REPORT(text_end);
RENDER_REPORT(wide_report);
RENDER_ROWS(wide_rows);
RENDER_REPORT(json_report);
RENDER_ROWS(json_rows);
RENDER_REPORT(json_end);
RENDER_REPORT(jsonl_report);
RENDER_ROWS(jsonl_rows);
RENDER_REPORT(jsonl_end);
RENDER_REPORT(csv_report);
RENDER_ROWS(csv_rows);
RENDER_REPORT(folded_report);
RENDER_REPORT(html_report);
RENDER_REPORT(html_end);

#endif
