/*
 * The dictionaries of a pprof profile: strings, functions, locations and mappings, each with a
 * number from 1 on and encoded once. Private to pprof.c.
 */
#ifndef MEMWHY_EXPORT_PPROF_NAMES_H
#define MEMWHY_EXPORT_PPROF_NAMES_H

#include "base/groups.h"
#include "report/report.h"

struct pprof_names {
	const struct stream *stream;
	bool kernel_addresses;   /* they tell where this kernel is loaded: only if asked for */
	struct groups strings;   /* 128-bit hash -> number */
	struct groups functions; /* name and file -> id */
	struct groups locations; /* frame -> id */
	struct groups mappings;  /* module -> struct pprof_mapping */
	struct str string_table, function_table, location_table; /* encoded */
	bool failed;                                             /* memory was short */
};

int pprof_names_init(struct pprof_names *n, const struct stream *stream);
void pprof_names_free(struct pprof_names *n);
/* The number of a text; 0: it is empty. */
u64 pprof_string(struct pprof_names *n, const char *text);
/* The id of the location that a frame of the stream is. */
u64 pprof_location(struct pprof_names *n, u32 frame);
/* That of what has no stack: "?", as in folded lines. */
u64 pprof_location_unknown(struct pprof_names *n);
/* Appends all of them, as fields of the profile. */
void pprof_names_add(struct pprof_names *n, struct str *out);

#endif
