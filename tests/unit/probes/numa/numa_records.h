/* For tests of what numa makes of records: a fixture, and records one ns after another. */
#ifndef MEMWHY_TESTS_NUMA_RECORDS_H
#define MEMWHY_TESTS_NUMA_RECORDS_H

#include "view_fixture.h"

#define PID 100U
#define MAP 0x7f0000000000ULL

static struct fixture f;
static u64 now;

/* Feeds a record of this type and kind with these fields. */
#define N(type_, kind_, ...)                                                                   \
	({                                                                                     \
		type_ rec_ = {.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = now++}, \
			__VA_ARGS__};                                                          \
		view_feed(&f, &rec_);                                                          \
	})

#endif
