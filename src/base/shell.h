/* Words as a shell takes them: the one place where text is quoted for a command to copy. */
#ifndef MEMWHY_BASE_SHELL_H
#define MEMWHY_BASE_SHELL_H

#include "base/str.h"

/*
 * Appends `word` so that every POSIX shell reads it back as one word with these bytes, and never
 * as syntax: plain words as they are, others in single quotes. Backticks, control characters and
 * bytes that are not UTF-8 are written as octal numbers for printf(1), so the result is printable,
 * on one line and without a backtick: "$(printf %b 'a\0140b')". A shell drops newlines at the end
 * of what printf prints; nothing else is lost.
 */
void str_add_word(struct str *s, const char *word);

#endif
