/* What `leak --kernel` shows. */
#ifndef MEMWHY_PROBES_LEAK_VIEW_H
#define MEMWHY_PROBES_LEAK_VIEW_H

#include "report/view.h"

extern const struct view leak_view;
extern const char leak_output[]; /* of a real run */

#endif
