/* What `memwhy compaction` shows. For the probe and tests. */
#ifndef MEMWHY_PROBES_COMPACTION_VIEW_H
#define MEMWHY_PROBES_COMPACTION_VIEW_H

#include "report/view.h"

extern const struct view compaction_view;
#endif
