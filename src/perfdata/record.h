/*
 * One of the kernel's records: from bytes to struct perfdata_record. Private to this room. Knows
 * the layouts; must not know where the bytes come from.
 */
#ifndef MEMWHY_PERFDATA_RECORD_H
#define MEMWHY_PERFDATA_RECORD_H

#include "perfdata/events.h"

/* The time of a record, by which it is ordered; 0: it has none, or cannot be read. The cursor
 * is after the head. */
u64 record_time(struct perf_events *e, const struct perfdata_head *head, struct cursor c);
/* ret points into the bytes, which are changed if the byte order is. NULL, or why they are
 * malformed. Bytes must begin at an address that is a multiple of 8. */
const char *record_parse(struct perf_events *e, const struct perfdata_head *head, struct cursor c,
	struct perfdata_record *ret);
/* PERFDATA_SAMPLE, once its event is known. */
const char *sample_parse(
	const struct perfdata_event *event, struct cursor *c, struct perfdata_record *ret);
/* The values that READ records and samples hold. */
void read_parse(u64 format, struct cursor *c, struct perfdata_read *ret);

#endif
