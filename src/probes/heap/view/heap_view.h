/* What `heap` shows. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_H
#define MEMWHY_PROBES_HEAP_VIEW_H

#include "report/view.h"

extern const struct view heap_view;
extern const char heap_output[]; /* of a real run */

#endif
