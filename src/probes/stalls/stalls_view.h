/* What `memwhy stalls` shows. */
#ifndef MEMWHY_PROBES_STALLS_VIEW_H
#define MEMWHY_PROBES_STALLS_VIEW_H

#include "probes/stalls/stalls.h"
#include "probes/stalls/stalls_words.h"
#include "report/view.h"

extern const struct view stalls_view;
#endif
