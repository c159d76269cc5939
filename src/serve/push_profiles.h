/*
 * The profiles of an interval that are pushed: page faults and stalls by code path and group, of
 * what the service sees anyway. Belongs to the session's thread.
 */
#ifndef MEMWHY_SERVE_PUSH_PROFILES_H
#define MEMWHY_SERVE_PUSH_PROFILES_H

#include "report/view.h"
#include "serve/push.h"

struct push_profiles;

/* stack_every: one page fault in so many has its stack, and stands for all of them. */
int push_profiles_new(u32 stack_every, struct push_profiles **ret, struct err *err);
void push_profiles_free(struct push_profiles *p);
int push_profiles_feed(struct push_profiles *p, const struct rec *r);
/* Hands on those of the interval that ends; the next begins. */
int push_profiles_make(struct push_profiles *p, const struct stream *names, struct push *to);

#endif
