/*
 * What the rules of `check` say of the last seconds, for somebody who looks each second: a rule
 * needs more than one second of evidence. They are fed all records, and look at windows of ten
 * seconds; at the beginning of a window what the last one found stands. Knows no rule.
 */
#ifndef MEMWHY_TOP_RECENT_FINDINGS_H
#define MEMWHY_TOP_RECENT_FINDINGS_H

#include "report/view.h"

struct held {
	void **rules; /* their states */
	u64 begin_ns; /* of the window; 0: at the next record */
	u64 now_ns;
	struct arena arena; /* of the texts of `last` */
	VEC(struct finding) last;
	bool repeated; /* intervals follow one another */
};

int held_init(struct held *h, const struct view_options *o, struct err *err);
int held_feed(struct held *h, const struct rec *r);
/* Adds findings to the report. */
int held_report(struct held *h, struct report *r);
/* The next interval begins. */
void held_reset(struct held *h);
/* A window goes on: the names of what ended in it are needed yet. */
bool held_remembers(const struct held *h);
void held_destroy(struct held *h);

#endif
