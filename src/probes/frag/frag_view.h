/* What `memwhy frag` shows. */
#ifndef MEMWHY_PROBES_FRAG_VIEW_H
#define MEMWHY_PROBES_FRAG_VIEW_H

#include "probes/frag/frag.h"
#include "report/view.h"

extern const struct view frag_view;

#endif
