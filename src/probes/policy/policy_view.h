/* What `memwhy policy` shows. */
#ifndef MEMWHY_PROBES_POLICY_VIEW_H
#define MEMWHY_PROBES_POLICY_VIEW_H

#include "report/view.h"

extern const struct view policy_view;
#endif
