/*
 * Keeps memwhy able to report when memory is gone: its memory locked and taken beforehand, and
 * itself out of the OOM killer's choice. Owns what of that is done; the command of `-- CMD`, which
 * was forked before, has none of it.
 */
#ifndef MEMWHY_RECORD_GUARD_H
#define MEMWHY_RECORD_GUARD_H

#include "capture/capture.h"

/* To be called once everything is open and before privileges are dropped. Says with notes what
 * was done, and what could not be. */
int guard_memory(struct capture *c);

#endif
