/* What the syscalls command shows. */
#ifndef MEMWHY_PROBES_SYSCALLS_VIEW_H
#define MEMWHY_PROBES_SYSCALLS_VIEW_H

#include "report/view.h"

extern const struct view syscalls_view;

#endif
