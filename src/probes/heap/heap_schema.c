/* See heap_inner.h. */
#include "probes/heap/heap_inner.h"

#include "probes/heap/heap.h"

#define V struct heap_events
#define N struct heap_stacks

static const struct field events_fields[] = {
	FIELD(V, process, FIELD_U32, UNIT_ID, "as in heap_total"),
	FIELD(V, program, FIELD_U32, UNIT_ID, "number of its program, as in heap_stacks"),
	FIELD(V, before, FIELD_U64, UNIT_COUNT, "events in the chunks before"),
	FIELD(V, bytes, FIELD_U32, UNIT_BYTES, "of code"),
	{"code", offsetof(V, code), FIELD_U32S, UNIT_NONE, 0,
		"allocations and frees in their order, as src/probes/heap/events/event_model.h "
		"says"},
};

static const struct field stacks_fields[] = {
	FIELD(N, program, FIELD_U32, UNIT_ID, "number of the program"),
	FIELD(N, n, FIELD_U32, UNIT_COUNT, "stacks"),
	{"v", offsetof(N, v), FIELD_U32S, UNIT_NONE, 0,
		"of each its number in the program, and the id of a stack (0: not known)"},
};

const struct kind heap_kinds[HEAP_KINDS] = {
	RECORD_KIND(REC_HEAP_TOTAL, struct heap_total, "heap_total", HEAP_TOTAL_FIELDS,
		"a process's heap, since it began; a later record replaces it"),
	RECORD_KIND(REC_HEAP_SITE, struct heap_site, "heap_site", HEAP_SITE_FIELDS,
		"what one stack of a process allocated since it began, by its number there; a "
		"later record replaces it"),
	RECORD_KIND(REC_HEAP_THREAD, struct heap_thread, "heap_thread", HEAP_THREAD_FIELDS,
		"what one thread did since it began; a later record replaces it"),
	RECORD_KIND(REC_HEAP_MAPPING, struct heap_mapping, "heap_mapping", HEAP_MAPPING_FIELDS,
		"what one stack of a process mapped by itself since it began, of one kind; a later "
		"record replaces it"),
	RECORD_KIND(REC_HEAP_MAPPED, struct heap_mapped, "heap_mapped", HEAP_MAPPED_FIELDS,
		"what a process mapped by itself since it began; a later record replaces it"),
	RECORD_KIND(REC_HEAP_TOGETHER, struct heap_together_record, "heap_together",
		HEAP_TOGETHER_RECORD_FIELDS,
		"what all processes held together, since the beginning; a later record replaces "
		"it"),
	RECORD_KIND(REC_HEAP_RESIDENCE, struct heap_residence, "heap_residence",
		HEAP_RESIDENCE_FIELDS,
		"page faults, since it began, and resident bytes of one stack or other place of a "
		"process; a later record replaces it"),
	RECORD_KIND(REC_HEAP_LOOKED, struct heap_looked, "heap_looked", HEAP_LOOKED_FIELDS,
		"the same of all of a process; a later record replaces it"),
	KIND(REC_HEAP_EVENTS, V, "heap_events", events_fields,
		"what a process allocated and freed, a chunk of it; to be read in their order"),
	KIND(REC_HEAP_STACKS, N, "heap_stacks", stacks_fields,
		"what numbers of stacks in heap_events stand for"),
};
