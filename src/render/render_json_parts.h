/* What the formats json and jsonl share: the members of the object, and rows. */
#ifndef MEMWHY_RENDER_JSON_PARTS_H
#define MEMWHY_RENDER_JSON_PARTS_H

#include "base/json.h"
#include "render/render.h"
#include "render/render_cell.h"
#include "render/render_slice.h"

/* schema, command. */
void json_add_name(struct json *j, const struct report *r);
/* host, interval, scope, methods, events, lost, cost, damage. */
void json_add_origin(struct json *j, const struct report *r);
/* All of these. */
void json_add_head(struct json *j, const struct report *r);
/* findings, verdict, notes and so on, where there are any. */
void json_add_tail(struct json *j, const struct report *r);
/* How many rows of which tables are left out by --limit, if any are. */
void json_add_cut(struct json *j, const struct slices *vs);
/* The same of rows that were drawn as they came. */
void json_add_cut_rows(struct json *j, const struct render_options *o);
/* What stands for a stack where it is not an array of lines of text. */
struct json_stacks {
	void (*add)(void *arg, struct json *j, u32 stack);
	void *arg;
};

/* One row as a compact object, with the times of its interval (NULL: without). stacks NULL: stacks
 * are arrays of text. */
void json_add_row(struct json *j, const struct report *r, const struct slice *v, size_t row,
	const struct span_text *when, const struct json_stacks *stacks);
/* The whole report as one object; out is passed on after each row. */
void json_add_report(struct json *j, const struct report *r, const struct slices *vs,
	const struct json_stacks *stacks, const struct render_options *o);

#endif
