/*
 * How what is outstanding of one site went since the start, in bounded room, and what that looks
 * like: a leak, a cache that is warm, or neither. Knows no record.
 */
#ifndef MEMWHY_PROBES_LEAK_SERIES_H
#define MEMWHY_PROBES_LEAK_SERIES_H

#include "base/util.h"

#define LEAK_SPANS 24
#define LEAK_PARTS 6                   /* sub-intervals in each of which a leak grows */
#define LEAK_SHORTEST_NS 6000000000ULL /* that means anything */

/* The spans of time that all series of a view have in common: one drain of the tables each; when
 * there are too many, two are joined. */
struct leak_clock {
	u64 begin_ns; /* 0: not yet known */
	u64 ends_ns[LEAK_SPANS];
	u64 last_ns;  /* of the last drain */
	u32 n;        /* spans that are complete */
	u32 per_span; /* drains in one */
	u32 in_span;  /* in the present one */
	u32 drains;
};

/* Bytes allocated less freed, by span; that at clock.n is the present one. */
struct leak_series {
	s64 net[LEAK_SPANS];
};

enum leak_verdict {
	LEAK_SHORT,
	LEAK_GONE,
	LEAK_FEW,
	LEAK_SWINGS,
	LEAK_STEADY,
	LEAK_FLAT,
	LEAK_CHURN,
	LEAK_SLOWS,
	LEAK_LATE,
	LEAK_UNEVEN,
	/* Grows steadily, but what else is known speaks against a leak: */
	LEAK_RENEWED,
	LEAK_CONTRADICTED,
	LEAK_SLABS,
	/* Few, from early on, none of them freed. */
	LEAK_ONCE,
	LEAK_VERDICTS,
};

struct leak_judgement {
	enum leak_verdict verdict;
	double seconds;        /* since the start */
	s64 parts[LEAK_PARTS]; /* bytes grown in each */
	s64 thirds[3];         /* and in the first, middle and last third */
	s64 now;               /* bytes a second in the last third */
	double per_second;     /* bytes, by least squares over all */
	double fit;            /* R squared */
};

/* What happened to the objects of a site since the start. */
struct leak_counts {
	u64 live, allocated, freed;
};

/* Counting began. Later calls count until the first drain. */
void leak_clock_begin(struct leak_clock *c, u64 time_ns);
/* All that was counted until now has been fed. True: spans were joined, so every series has to be
 * (leak_series_join). */
bool leak_clock_drain(struct leak_clock *c, u64 time_ns);
/* Counting ended at this time, before the last drain: detaching can take seconds. */
void leak_clock_end(struct leak_clock *c, u64 time_ns);
void leak_series_add(struct leak_series *s, const struct leak_clock *c, s64 bytes);
void leak_series_join(struct leak_series *s);
/* Outstanding bytes at a time, interpolated within a span. */
s64 leak_series_at(const struct leak_series *s, const struct leak_clock *c, u64 time_ns);

void leak_judge(const struct leak_series *s, const struct leak_clock *c,
	const struct leak_counts *n, struct leak_judgement *ret);
const char *leak_verdict_name(enum leak_verdict v);

#endif
