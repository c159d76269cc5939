/*
 * What each stack had live, over time, of a recording with --events: for a page, whose reader
 * chooses a part of the time. The rows are for a program to read; what they mean is in
 * heap_course.c.
 */
#ifndef MEMWHY_PROBES_HEAP_VIEW_HEAP_COURSE_H
#define MEMWHY_PROBES_HEAP_VIEW_HEAP_COURSE_H

#include "report/view.h"

extern const struct view heap_course_view;

#endif
