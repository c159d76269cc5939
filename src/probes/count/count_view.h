/* What `memwhy count` shows. */
#ifndef MEMWHY_PROBES_COUNT_VIEW_H
#define MEMWHY_PROBES_COUNT_VIEW_H

#include "report/view.h"

extern const struct view count_view;

/* What the command printed on a real run, for the man page. */
extern const char count_output[];

#endif
