/* What `memwhy faults` shows. */
#ifndef MEMWHY_PROBES_FAULTS_VIEW_H
#define MEMWHY_PROBES_FAULTS_VIEW_H

#include "probes/faults/faults.h"
#include "report/view.h"

extern const struct view faults_view;

#endif
