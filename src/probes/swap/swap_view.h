/* What `memwhy swap` shows. */
#ifndef MEMWHY_PROBES_SWAP_VIEW_H
#define MEMWHY_PROBES_SWAP_VIEW_H

#include "report/view.h"

extern const struct view swap_view;
#endif
