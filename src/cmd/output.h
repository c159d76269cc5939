/* Where a report goes (stdout or --out FILE) and how it is drawn there. */
#ifndef MEMWHY_CMD_OUTPUT_H
#define MEMWHY_CMD_OUTPUT_H

#include "cmd/options.h"
#include "render/render.h"

struct output {
	const struct renderer *renderer;
	struct render_options ro;
	FILE *file;
	bool close;
	bool empties; /* a file that may have had something in it: cut at the first output */
	bool started; /* something was printed */
	bool fresh;   /* the file was not there before */
	int drops;    /* a socket to who takes such a file away, where this process may not; or 0 */
	bool ascii;   /* the text is for a locale that has nothing else */
	bool limited; /* --limit was given */
	u32 limit;
	char cut_of[40]; /* the table whose rows --limit cut as they came */
	int failed;      /* -errno of a piece of a report that could not be written */
};

/* NULL: there is no such format. */
const struct renderer *output_renderer(const char *format);
/* -EINVAL: no such format, or FILE cannot be written (base/target.h). FILE keeps what it had until
 * the first output, unless --force made it anew; it must not be one of the recordings (--input,
 * --record). */
int output_open(const struct options *o, struct output *ret, struct err *err);
/* The same for what is no report: output_text() is all that goes there. */
int output_open_bytes(const struct options *o, struct output *ret, struct err *err);
/* Do programs read what goes to standard output (rows, an object, a tool's lines)? Then nothing
 * else may go there. */
bool output_takes_stdout(const struct output *out, const struct options *o);
/* Sets --fields, --sort, --limit, --table on the report. */
void output_select(const struct output *out, const struct options *o, struct report *r);
int output_report(struct output *out, const struct report *r, struct err *err);
/* Rows of --each; with --limit only so many in all. t may be cut for that. */
int output_rows(struct output *out, const struct report *r, struct table *t, struct err *err);
/* Lines that are already drawn. */
int output_text(struct output *out, const struct str *s, struct err *err);
/* More reports follow on the same page; its end is written by output_end(). */
static inline void output_page_goes_on(struct output *out)
{
	out->ro.more = true;
}

/* What follows the last rows. */
int output_end(struct output *out, const struct report *r, struct err *err);
/* A run failed: a file that is new and that nothing was written to goes. */
void output_drop(struct output *out);
/* What is no report, to standard error: as the locale can have it. */
void output_say(const struct str *s);
/* Fails if not everything could be written (a full disk, a closed pipe). */
int output_close(struct output *out, struct err *err);

#endif
