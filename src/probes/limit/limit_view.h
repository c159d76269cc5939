/* The view of what a group needs: what `memwhy limit` shows. */
#ifndef MEMWHY_PROBES_LIMIT_VIEW_H
#define MEMWHY_PROBES_LIMIT_VIEW_H

#include "report/view.h"

extern const struct view limit_view;
extern const char limit_details[], limit_output[];

#endif
