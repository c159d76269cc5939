/*
 * Memory over time, as a page draws it: a table of series, each with at most a few hundred points.
 * It knows the probes' records and nothing else of probes. Levels (live heap, RSS, free blocks,
 * pressure) are the last value in each step; faults and stalls are per second.
 */
#ifndef MEMWHY_EXPORT_COURSE_H
#define MEMWHY_EXPORT_COURSE_H

#include "report/view.h"

extern const struct view course_view;

#endif
