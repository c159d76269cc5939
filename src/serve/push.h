/*
 * Pushes profiles to an engine, in a thread of its own without any capability: what could not be
 * sent is tried again, ever more seldom, and waits in a bounded spool, whose oldest make room.
 * Knows nothing of what is in a profile.
 */
#ifndef MEMWHY_SERVE_PUSH_H
#define MEMWHY_SERVE_PUSH_H

#include "serve/push_to.h"

struct push_counts {
	u64 sent, refused, dropped, failures; /* failures: attempts that are tried again */
	u64 spool_bytes;
};

struct push;

int push_start(const struct push_to *to, struct push **ret, struct err *err);
void push_stop(struct push *p);
/* Takes what is in `profile` over. name: static. */
void push_add(struct push *p, const char *name, u64 from_s, u64 until_s, struct str *profile);
void push_counts(struct push *p, struct push_counts *ret);
/* Since the last call, did it begin to fail (-1, with why) or to work again (1)? Else 0. */
int push_news(struct push *p, char why[160]);

#endif
