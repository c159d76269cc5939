/*
 * The terminal: ncurses, and only here. The screen is a process of its own, so that nothing the
 * session does can freeze it, and the terminal is put right whichever of the two dies: it takes
 * frames over a socket, draws, and says when it was asked to end. It has no rights but to read keys
 * and to write to the terminal.
 */
#ifndef MEMWHY_TOP_SCREEN_H
#define MEMWHY_TOP_SCREEN_H

#include "base/err.h"
#include "top/ui.h"

/* What goes over the socket to the screen: this, then `bytes` of a packed frame (SCREEN_FRAME). */
enum screen_what {
	SCREEN_FRAME = 1,
	SCREEN_OVER = 2,      /* the recording was read */
	SCREEN_SAY = 3,       /* a sentence */
	SCREEN_RECORDING = 4, /* the file that is recorded to; of no bytes: none */
};

struct screen_head {
	u32 what; /* enum screen_what */
	u32 bytes;
};

/* What the screen says, a byte each; and UI_WORD_RECORD. */
#define SCREEN_QUITS 'q'
#define SCREEN_INTERRUPTED 'i'

/* Can standard input and output be a screen? -EINVAL: they are no terminal, or one that is not
 * known. */
int screen_check(struct err *err);
/* What puts the terminal right that a screen was on. To be called before there is one. */
struct screen_saved;
int screen_save(struct screen_saved **ret);
void screen_restore(const struct screen_saved *s);
/* Takes frames from the socket until the user quits or the socket closes. closer: where closer
 * looks are requested; -1: nowhere. Returns a status. */
int screen_run(int socket, int closer, const struct ui_options *o);

#endif
