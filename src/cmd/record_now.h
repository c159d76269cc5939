/*
 * A recording that begins in the midst of a session, because somebody who watches asked for it. It
 * is whole: it begins with the names, and the latest of what has a state, that were told before.
 */
#ifndef MEMWHY_CMD_RECORD_NOW_H
#define MEMWHY_CMD_RECORD_NOW_H

#include "cmd/running.h"

/* Keeps what is needed for that; beside the views of the command, as the last of them. */
extern const struct view record_now_view;

/* At the end of an interval: begins one, or ends the one that was begun, and tells the watcher. */
void record_now_toggle(struct running *g);

#endif
