/*
 * The screen, as the observing process sees it: started before there is anything to show, it gets a
 * frame per interval, and reports when the user wants to quit. Frames of a live session that a slow
 * terminal has no room for are left out, so that it holds nobody up. Knows no terminal.
 */
#ifndef MEMWHY_TOP_LINK_H
#define MEMWHY_TOP_LINK_H

#include <sys/types.h>

#include "base/err.h"
#include "top/ui.h"

struct link;

/* Begins the screen. -EINVAL: there is no terminal for it. */
int link_open(const struct ui_options *o, struct link **ret, struct err *err);
int link_fd(const struct link *l);
/* The screen, and who makes closer looks. */
void link_pids(const struct link *l, pid_t ret[2]);
/* Sends what there is to show. 0 also where the screen is gone. */
int link_show(struct link *l, const struct report *r);
#define LINK_ENDS 1
#define LINK_RECORD 2  /* a recording is to begin, or to end */
#define LINK_CLOSELY 3 /* what page tables say is wanted, or no longer */
/* What the screen says, if link_fd() is readable: LINK_ENDS: it was asked to end, or is gone. 0:
 * nothing. */
int link_asked(struct link *l);
/* The file that is recorded to ("": none), or else a sentence. */
void link_tell(struct link *l, bool records, const char *text);
/* Waits until somebody who looks at a recording has seen enough. */
void link_wait(struct link *l);
/* Did somebody interrupt it (Ctrl-C, a signal), or was it killed? */
bool link_interrupted(const struct link *l);
/* The screen ends, and the terminal is as it was. May be called twice. */
void link_close(struct link *l);
void link_free(struct link *l);

#endif
