/* The terminal's entry in the database of terminals, or one of our own. */
#ifndef MEMWHY_TOP_TERMINAL_H
#define MEMWHY_TOP_TERMINAL_H

#include "base/util.h"

/* The name under which ncurses finds it, which is loaded. NULL: it is not known, or cannot place
 * its cursor. */
const char *terminal_find(const char *term);

#endif
