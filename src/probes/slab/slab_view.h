/* What `memwhy slab` shows. */
#ifndef MEMWHY_PROBES_SLAB_VIEW_H
#define MEMWHY_PROBES_SLAB_VIEW_H

#include "probes/slab/slab.h"
#include "report/view.h"

extern const struct view slab_view;

#endif
