/*
 * What memwhy is doing right now, as one line on a terminal that the next one takes the place of.
 * Nothing is drawn until it is enabled, which is the command's business, and nothing while memwhy
 * is in the background. Knows no session and no file.
 */
#ifndef MEMWHY_BASE_PROGRESS_H
#define MEMWHY_BASE_PROGRESS_H

#include "base/types.h"
#include "base/util.h"

/* From now on lines are drawn on fd, if it is a terminal that can erase a line. */
void progress_enable(int fd);
/* No more: somebody else has the screen. */
void progress_disable(void);
/* Draws it now. */
void progress_say(const char *fmt, ...) _printf_(1, 2);
/* How long it has been looked for, and will be; a century or more: until it is interrupted. */
void progress_look(u64 since_ns, u64 left_ns);
/* "what: 12 of 400", or without a total "what: 12": not before a while has passed since done was 0
 * or less than before, and not oftener than can be read. Cheap enough for an inner loop. */
void progress_step(const char *what, u64 done, u64 total);
/* Removes the line, before something else is written. */
void progress_clear(void);

#endif
