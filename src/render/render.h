/*
 * Renderers: one a format, one file each. They see the report and nothing else; they write to a
 * str and know neither files nor terminals beyond the flags here.
 */
#ifndef MEMWHY_RENDER_RENDER_H
#define MEMWHY_RENDER_RENDER_H

#include "base/str.h"
#include "report/report.h"

struct render_options {
	bool colour;
	bool wide;
	bool headless;      /* formats that are one table: its head was printed before (-i) */
	bool more;          /* html: other reports follow on the page, then end() */
	bool quiet;         /* no header, no notes: rows and findings only */
	bool verbose;       /* all columns' help, addresses in stacks */
	const char *cut_of; /* … the table of rows(), of which --limit left out n_cut: for end() */
	u64 n_cut;
	u16 width; /* columns of the terminal, 100 where there is none */
	/* Called after each row, where nothing further on depends on what was drawn so far: may
	 * take it, and clear it. NULL: it is to be whole. */
	void (*take)(void *arg, struct str *out);
	void *arg;
};

static inline void render_pass(const struct render_options *o, struct str *out)
{
	if (o->take && !out->failed)
		o->take(o->arg, out);
}

struct renderer {
	const char *name; /* as in -o NAME */
	const char *help;
	/* The whole report. */
	void (*report)(const struct report *r, const struct render_options *o, struct str *out);
	/*
	 * Streaming (--each): rows of the table from `from` on, as they come; NULL where the
	 * format sums them up. `first`: nothing was printed before.
	 */
	void (*rows)(const struct report *r, const struct table *t, size_t from, bool first,
		const struct render_options *o, struct str *out);
	/* What follows the last rows(): losses, cost and notes; in JSON Lines, the last line; in
	 * JSON the rest of the object, or all of it where there were no rows (not o->headless).
	 * NULL when nothing does. */
	void (*end)(const struct report *r, const struct render_options *o, struct str *out);
};

extern const struct renderer renderers[];
extern const size_t renderers_n;

/* Adds n bytes of text with ASCII in place of all else: signs of ours by what looks like them,
 * letters of names by '?'. */
void render_ascii(struct str *out, const char *text, size_t n);
/* NULL when there is no such format. */
const struct renderer *renderer_find(const char *name);

#endif
