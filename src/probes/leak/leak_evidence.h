/*
 * The evidence for a leak, for kernel objects, kernel pages and heap blocks alike: which of the
 * growing ones are reported, and the lines that say why. Private to the view.
 */
#ifndef MEMWHY_PROBES_LEAK_EVIDENCE_H
#define MEMWHY_PROBES_LEAK_EVIDENCE_H

#include "analysis/durations.h"
#include "probes/leak/leak_series.h"

/* What a suspect holds, how that grew, how much of it stayed. */
struct leak_evidence {
	const void *of; /* the row it is evidence of */
	const struct leak_judgement *judged;
	u64 live, bytes, allocated;
	u64 least; /* fewer objects make no suspect */
	double stayed;
};

typedef void leak_tell_fn(struct report *r, const struct leak_evidence *e, const void *arg);

/* Tells of the suspects that grow most, and in a note how many more there are. Reorders v. */
void leak_suspects_tell(struct report *r, struct leak_evidence *v, size_t n, const char *what,
	leak_tell_fn *tell, const void *arg);

/* Would it fill the machine within a day? */
int leak_suspect_level(const struct report *r, const struct leak_judgement *j);
void leak_tell_growth(struct report *r, struct finding *f, const struct leak_evidence *e);
/* The second line of it: how much in each third of the time. */
void leak_tell_thirds(struct report *r, struct finding *f, const struct leak_judgement *j);
void leak_tell_lives(struct report *r, struct finding *f, u64 freed, const struct durations *lives);
void leak_tell_stack(struct report *r, struct finding *f, u32 stack);

#endif
