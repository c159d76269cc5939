/* What `memwhy oom` shows. */
#ifndef MEMWHY_PROBES_OOM_VIEW_H
#define MEMWHY_PROBES_OOM_VIEW_H

#include "report/view.h"

extern const struct view oom_view;
#endif
