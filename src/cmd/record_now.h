/*
 * A recording started in the middle of a session, because the user of a live screen asked for it.
 * It is complete: it starts with the names known so far and the latest state records.
 */
#ifndef MEMWHY_CMD_RECORD_NOW_H
#define MEMWHY_CMD_RECORD_NOW_H

#include "cmd/running.h"

/* Keeps what is needed for that; beside the views of the command, as the last of them. */
extern const struct view record_now_view;

/* At the end of an interval: begins a recording, or ends the one in progress, and notifies the
 * watcher. */
void record_now_toggle(struct running *g);

#endif
