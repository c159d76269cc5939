/*
 * How memory went over time, as a page draws it: a table of series, each with at most a few hundred
 * points. Of what probes send it knows the records alone. Amounts at a time (live heap, RSS, free
 * blocks, pressure) are as they stood last in a step; faults and stalls are per second of it.
 */
#ifndef MEMWHY_EXPORT_COURSE_H
#define MEMWHY_EXPORT_COURSE_H

#include "report/view.h"

extern const struct view course_view;

#endif
