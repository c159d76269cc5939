/*
 * The data of a page: the object that -o json prints, with what a script needs to draw it (columns,
 * stacks, frames), as JSON, compressed (deflate without a header) and in base64, in an element that
 * no browser executes. Nothing of it is seen by the parser of HTML.
 *
 * {"report": the object of -o json, where a stack is its index in "stacks",
 *  "tables": [{"name", "title", "empty", "sort", "story", "columns": [{"name", "title", "type",
 *             "unit", "role", "help", "wide", "hidden", "weight", "below", "level", "change"}]}],
 *  "stacks": [[index in "frames", innermost first]],
 *  "frames": [[function, rest of its line of text, module, file, 1: kernel, 2: inlined]]
 *             (module and file: index in "names", -1: none),
 *  "names": [text]}
 */
#ifndef MEMWHY_RENDER_HTML_DATA_H
#define MEMWHY_RENDER_HTML_DATA_H

#include "render/render.h"

void html_data_add(struct str *out, const struct report *r, const struct render_options *o);

#endif
