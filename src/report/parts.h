/*
 * What the rows of a report had in each part of the time, for renderers in which a reader chooses a
 * part. Reports on one part after the other are taken in; then the report on all of them says which
 * of its columns they add up to. For the others (levels, means, maxima) nothing is known about a
 * part.
 */
#ifndef MEMWHY_REPORT_PARTS_H
#define MEMWHY_REPORT_PARTS_H

#include "base/vec.h"
#include "report/report.h"

#define PARTS_MOST 240 /* of a recording; two become one where there would be more */

struct part_table;

struct parts {
	VEC(u64) ends_ns; /* of each part, since the session began; the first begins there */
	u64 least_ns;     /* how long one is, at least */
	VEC(struct part_table *) tables;
	bool failed; /* memory was short: there are none */
};

/* The parts of one table: table.parts. */
struct table_parts {
	const struct parts *of;
	VEC(size_t) cols; /* of the table, those that add up: others are not known of a part */
	/* A part, then a number for each of these columns; row i has those from first.v[i] on,
	 * until first.v[i + 1]. */
	VEC(u64) entries;
	VEC(size_t) first;
};

void parts_init(struct parts *p);
void parts_free(struct parts *p);
/* Is what was counted until then, in the stream's time, long enough for a part? */
bool parts_due(const struct parts *p, const struct stream *s, u64 time_ns);
/* The next part, which ends then, and what it has. */
void parts_take(struct parts *p, const struct report *part, u64 time_ns);
/* Gives the tables of the report on all parts theirs, where these add up to it; they are part of
 * `p`, which must outlive the report. */
void parts_fit(struct parts *p, struct report *whole);

#endif
