/*
 * Files that other programs open: profiles and traces for their viewers. Those that are made of a
 * report are renderers like those of src/render, to be found here.
 */
#ifndef MEMWHY_EXPORT_EXPORT_H
#define MEMWHY_EXPORT_EXPORT_H

#include "render/renderers.h"

RENDER_REPORT(pprof_report);
RENDER_REPORT(speedscope_report);

/* Formats made of a report. */
extern const struct renderer exports[];
extern const size_t exports_n;

/* NULL: there is none of this name. */
const struct renderer *export_renderer(const char *name);
/* Is it made of the records themselves, not of a report? */
bool export_of_records(const char *name);
/* Is the format no text? */
bool export_is_binary(const char *name);
/* Is the format of stacks, which a report is to have? */
bool export_of_stacks(const char *name);

#endif
