/* What the syscalls command shows. */
#ifndef MEMWHY_PROBES_SYSCALLS_VIEW_H
#define MEMWHY_PROBES_SYSCALLS_VIEW_H

#include "report/view.h"

extern const struct view syscalls_view;

/* The man page's longer texts: what it shows, and an example of its output. */
extern const char syscalls_details[];
extern const char syscalls_output[];

#endif
