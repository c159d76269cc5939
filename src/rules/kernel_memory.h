/* The part of the rule kernel_memory that is about tasks. */
#ifndef MEMWHY_RULES_KERNEL_MEMORY_H
#define MEMWHY_RULES_KERNEL_MEMORY_H

#include "rules/holdings.h"

void tell_tasks(struct report *r, const struct held *h);

#endif
