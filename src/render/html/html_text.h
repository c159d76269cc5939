/* Text of any origin as text of a page: it can neither begin markup nor change how what is around
 * it is shown. */
#ifndef MEMWHY_RENDER_HTML_TEXT_H
#define MEMWHY_RENDER_HTML_TEXT_H

#include "base/str.h"

/*
 * Adds text, for an element or a quoted attribute: the five characters of markup as references,
 * control characters and those that reorder or hide text as \u202e, what is not UTF-8 as U+FFFD.
 */
void html_add(struct str *out, const char *text);
/* <tag class="class">text</tag>; class NULL: without. */
void html_add_element(struct str *out, const char *tag, const char *class, const char *text);
/* A line of advice (see struct finding): commands in it are <code class="cmd">. */
void html_add_commands(struct str *out, const char *text);

#endif
