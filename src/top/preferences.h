/*
 * What top keeps between runs in ~/.config/memwhy/top: how its tables were sorted, as keys left it,
 * and the columns that its user wrote there. Opened before the screen's process is caged. What
 * cannot be read or kept is no reason not to begin.
 */
#ifndef MEMWHY_TOP_PREFERENCES_H
#define MEMWHY_TOP_PREFERENCES_H

#include "top/ui.h"

#define KEPT_BYTES 1024 /* of the file; what is beyond is not read */

struct kept {
	int fd; /* -1: nothing is kept */
	char text[KEPT_BYTES];
	char fields[KEPT_BYTES];
	struct ui_table processes, groups, users; /* how they were sorted at first */
};

void kept_open(struct kept *k);
/* Where options do not say otherwise. The screen borrows from *k. */
void kept_apply(struct kept *k, const struct ui_options *o, struct ui *ui);
/* Writes the order of the tables, where it is another one than at first; closes the file. */
void kept_close(struct kept *k, const struct ui *ui);

#endif
