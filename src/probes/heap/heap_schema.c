/* See heap_schema.h. */
#include "probes/heap/heap_schema.h"

#include "probes/heap/heap.h"

#define T struct heap_total
#define S struct heap_site
#define H struct heap_thread
#define M struct heap_mapping
#define P struct heap_mapped

static const struct field total_fields[] = {
	FIELD(T, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(T, process, FIELD_U32, UNIT_ID, "number of the process in this recording"),
	FIELD(T, parent, FIELD_U32, UNIT_ID, "number of the one it is a fork of; 0: none"),
	FIELD(T, threads, FIELD_U32, UNIT_COUNT, "threads that allocated or freed"),
	FIELD(T, start_ns, FIELD_U64, UNIT_NS, "its first event"),
	FIELD(T, end_ns, FIELD_U64, UNIT_NS, "its end; 0: it goes on"),
	FIELD(T, allocations, FIELD_U64, UNIT_COUNT, "blocks allocated"),
	FIELD(T, bytes, FIELD_U64, UNIT_BYTES, "asked for"),
	FIELD(T, frees, FIELD_U64, UNIT_COUNT, "of these blocks, freed"),
	FIELD(T, temporary, FIELD_U64, UNIT_COUNT,
		"freed before the next allocation of the same thread"),
	FIELD(T, moved, FIELD_U64, UNIT_COUNT, "of the allocations, by realloc of another block"),
	FIELD(T, live_blocks, FIELD_U64, UNIT_COUNT, "allocated and not freed"),
	FIELD(T, live_bytes, FIELD_U64, UNIT_BYTES, "asked for these"),
	FIELD(T, peak_blocks, FIELD_U64, UNIT_COUNT, "live blocks when live bytes were most"),
	FIELD(T, peak_bytes, FIELD_U64, UNIT_BYTES, "most live bytes"),
	FIELD(T, peak_ns, FIELD_U64, UNIT_NS, "when that was"),
	FIELD(T, unknown_frees, FIELD_U64, UNIT_COUNT, "frees of blocks from before, or inherited"),
	FIELD(T, overwritten, FIELD_U64, UNIT_COUNT,
		"blocks whose address was given out again: their free was not seen"),
	FIELD(T, lost, FIELD_U64, UNIT_COUNT, "events lost"),
	FIELD(T, cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	FIELD_ARRAY(T, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "process name"),
	FIELD_ARRAY(T, sizes, FIELD_U32, UNIT_COUNT, HEAP_SIZES,
		"allocations by size: slot i is 2^(i-1) to 2^i bytes"),
	FIELD(T, old_ms, FIELD_U64, UNIT_NONE,
		"from which age on, in ms, live blocks count as old; 0: ages were not looked at"),
	FIELD(T, live_error_bytes, FIELD_U64, UNIT_BYTES, "standard error of live_bytes; 0: exact"),
	FIELD(T, peak_error_bytes, FIELD_U64, UNIT_BYTES, "standard error of peak_bytes"),
	FIELD(T, error_bytes, FIELD_U64, UNIT_BYTES, "standard error of bytes"),
	FIELD(T, before, FIELD_U32, UNIT_ID,
		"number of what it was before its exec, else of the one that started it; 0: none "
		"known"),
};

static const struct field site_fields[] = {
	FIELD(S, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(S, process, FIELD_U32, UNIT_ID, "as in heap_total"),
	FIELD(S, stack, FIELD_U32, UNIT_STACK, "who allocated; 0: not known"),
	FIELD(S, max_life_ms, FIELD_U32, UNIT_NONE, "longest life of a freed block, in ms"),
	FIELD(S, allocations, FIELD_U64, UNIT_COUNT, "blocks allocated"),
	FIELD(S, bytes, FIELD_U64, UNIT_BYTES, "asked for"),
	FIELD(S, frees, FIELD_U64, UNIT_COUNT, "of these blocks, freed"),
	FIELD(S, temporary, FIELD_U64, UNIT_COUNT, "as in heap_total"),
	FIELD(S, moved, FIELD_U64, UNIT_COUNT, "as in heap_total"),
	FIELD(S, live_blocks, FIELD_U64, UNIT_COUNT, "allocated and not freed"),
	FIELD(S, live_bytes, FIELD_U64, UNIT_BYTES, "asked for these"),
	FIELD(S, peak_blocks, FIELD_U64, UNIT_COUNT, "live at the peak of the process"),
	FIELD(S, peak_bytes, FIELD_U64, UNIT_BYTES, "asked for these"),
	FIELD(S, slack_bytes, FIELD_U64, UNIT_BYTES, "usable beyond what was asked for"),
	FIELD(S, life_ms, FIELD_U64, UNIT_NONE, "lives of the freed blocks, summed, in ms"),
	FIELD(S, min_bytes, FIELD_U32, UNIT_BYTES, "smallest allocation"),
	FIELD(S, max_bytes, FIELD_U32, UNIT_BYTES, "largest allocation, at most 4 GiB - 1"),
	FIELD(S, site, FIELD_U32, UNIT_ID, "number of the stack in its program"),
	FIELD(S, oldest_ms, FIELD_U32, UNIT_NONE, "age of the oldest live block, in ms"),
	FIELD(S, old_blocks, FIELD_U64, UNIT_COUNT, "old live blocks, see old_ms of heap_total"),
	FIELD(S, old_bytes, FIELD_U64, UNIT_BYTES, "asked for these"),
	FIELD_ARRAY(S, ages, FIELD_U32, UNIT_COUNT, HEAP_TIMES,
		"live blocks by age: slot 0 is below 1 ms, slot i is 2^(i-1) to 2^i ms"),
	FIELD_ARRAY(S, lives, FIELD_U32, UNIT_COUNT, HEAP_TIMES,
		"freed blocks by life: the same slots"),
	FIELD(S, live_error_bytes, FIELD_U64, UNIT_BYTES, "standard error of live_bytes; 0: exact"),
	FIELD(S, peak_error_bytes, FIELD_U64, UNIT_BYTES, "standard error of peak_bytes"),
	FIELD(S, error_bytes, FIELD_U64, UNIT_BYTES, "standard error of bytes"),
};

static const struct field thread_fields[] = {
	FIELD(H, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(H, process, FIELD_U32, UNIT_ID, "as in heap_total"),
	FIELD(H, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(H, thread, FIELD_U32, UNIT_ID, "number of the thread in its process"),
	FIELD(H, allocations, FIELD_U64, UNIT_COUNT, "blocks allocated"),
	FIELD(H, bytes, FIELD_U64, UNIT_BYTES, "asked for"),
	FIELD(H, frees, FIELD_U64, UNIT_COUNT, "blocks freed, whoever allocated them"),
	FIELD(H, freed_bytes, FIELD_U64, UNIT_BYTES, "in these"),
	FIELD(H, temporary, FIELD_U64, UNIT_COUNT, "as in heap_total"),
	FIELD(H, live_blocks, FIELD_U64, UNIT_COUNT, "allocated by it and freed by nobody"),
	FIELD(H, live_bytes, FIELD_U64, UNIT_BYTES, "asked for these"),
	FIELD_ARRAY(H, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field mapping_fields[] = {
	FIELD(M, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(M, process, FIELD_U32, UNIT_ID, "as in heap_total"),
	FIELD(M, stack, FIELD_U32, UNIT_STACK, "who mapped; 0: not known"),
	FIELD(M, site, FIELD_U32, UNIT_ID, "number of the stack in its program"),
	FIELD(M, kind, FIELD_U32, UNIT_NONE,
		"1 private anonymous, 2 shared anonymous, 3 private of a file, 4 shared of a file, "
		"5 the break; 0: not known"),
	FIELD(M, calls, FIELD_U64, UNIT_COUNT, "mmap, mremap, brk and sbrk that mapped or moved"),
	FIELD(M, failed, FIELD_U64, UNIT_COUNT, "calls that failed, munmap's too"),
	FIELD(M, mapped_bytes, FIELD_U64, UNIT_BYTES, "mapped, whole pages"),
	FIELD(M, unmapped_bytes, FIELD_U64, UNIT_BYTES, "of these, unmapped by whomever"),
	FIELD(M, live_bytes, FIELD_U64, UNIT_BYTES, "mapped and not unmapped"),
	FIELD(M, peak_bytes, FIELD_U64, UNIT_BYTES,
		"live when the process had most mapped by itself"),
};

static const struct field mapped_fields[] = {
	FIELD(P, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(P, process, FIELD_U32, UNIT_ID, "as in heap_total"),
	FIELD(P, calls, FIELD_U64, UNIT_COUNT, "as in heap_mapping"),
	FIELD(P, failed, FIELD_U64, UNIT_COUNT, "as in heap_mapping"),
	FIELD(P, unmaps, FIELD_U64, UNIT_COUNT, "munmap, and brk and sbrk that gave back"),
	FIELD(P, mapped_bytes, FIELD_U64, UNIT_BYTES, "as in heap_mapping"),
	FIELD(P, unmapped_bytes, FIELD_U64, UNIT_BYTES, "as in heap_mapping"),
	FIELD(P, live_bytes, FIELD_U64, UNIT_BYTES, "as in heap_mapping"),
	FIELD(P, peak_bytes, FIELD_U64, UNIT_BYTES, "most live bytes"),
	FIELD(P, peak_ns, FIELD_U64, UNIT_NS, "when that was"),
	FIELD(P, unknown_bytes, FIELD_U64, UNIT_BYTES,
		"unmapped though not mapped by such a call: inherited, of libc, or nothing there"),
	FIELD(P, replaced_bytes, FIELD_U64, UNIT_BYTES,
		"of those unmapped, by a mapping in their place (MAP_FIXED)"),
};

#define E struct heap_residence

static const struct field residence_fields[] = {
	FIELD(E, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(E, process, FIELD_U32, UNIT_ID, "as in heap_total"),
	FIELD(E, stack, FIELD_U32, UNIT_STACK, "who allocated or mapped; 0: not known, or nobody"),
	FIELD(E, site, FIELD_U32, UNIT_ID, "number of the stack in its program, or of the file"),
	FIELD(E, place, FIELD_U32, UNIT_NONE,
		"1 heap blocks, 2 mapped by the program itself, 3 anonymous memory of allocator "
		"and libc, 4 stack, 5 file, 6 shared memory, 7 hugetlb, 8 the kernel's, 9 in a "
		"mapping too large to be looked into, 10 not known"),
	FIELD(E, kind, FIELD_U32, UNIT_NONE, "of place 2, as in heap_mapping"),
	FIELD(E, minor, FIELD_U64, UNIT_COUNT, "minor faults there"),
	FIELD(E, major, FIELD_U64, UNIT_COUNT, "major faults there"),
	FIELD(E, resident_bytes, FIELD_U64, UNIT_BYTES,
		"in memory, at the look that found most since the interval began"),
	FIELD(E, swapped_bytes, FIELD_U64, UNIT_BYTES, "in swap then"),
	FIELD(E, live_bytes, FIELD_U64, UNIT_BYTES, "of places 1 and 2: allocated or mapped then"),
	FIELD_ARRAY(E, file, FIELD_CHARS, UNIT_NONE, AGG_NAME_LEN, "of places 5 and 6: its name"),
};

#define K struct heap_looked

static const struct field looked_fields[] = {
	FIELD(K, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(K, process, FIELD_U32, UNIT_ID, "as in heap_total"),
	FIELD(K, looks, FIELD_U32, UNIT_COUNT, "looks at its memory"),
	FIELD(K, minor, FIELD_U64, UNIT_COUNT, "minor faults"),
	FIELD(K, major, FIELD_U64, UNIT_COUNT, "major faults"),
	FIELD(K, look_ns, FIELD_U64, UNIT_NS, "the look that found most resident; 0: none"),
	FIELD(K, rss_bytes, FIELD_U64, UNIT_BYTES, "resident then, by smaps"),
	FIELD(K, beyond_bytes, FIELD_U64, UNIT_BYTES,
		"of it in mappings too large to be looked into"),
	FIELD(K, last_ns, FIELD_U64, UNIT_NS, "the last look"),
	FIELD(K, hwm_bytes, FIELD_U64, UNIT_BYTES, "VmHWM, when last read, then or later"),
	FIELD(K, kernel_minor, FIELD_U64, UNIT_COUNT, "minor faults by the kernel's count then"),
	FIELD(K, kernel_major, FIELD_U64, UNIT_COUNT, "major faults by the kernel's count then"),
	FIELD(K, hwm_faults, FIELD_U64, UNIT_COUNT,
		"minor + major when hwm_bytes was read; 0: not known"),
};

#define A struct heap_together_record

static const struct field together_fields[] = {
	FIELD(A, peak_bytes, FIELD_U64, UNIT_BYTES,
		"most live bytes of all processes at one time, as seen turn by turn, each some ms"),
	FIELD(A, peak_most_bytes, FIELD_U64, UNIT_BYTES, "it was not above this"),
	FIELD(A, peak_ns, FIELD_U64, UNIT_NS, "when that was seen"),
};

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
	KIND(REC_HEAP_TOTAL, T, "heap_total", total_fields,
		"a process's heap, since it began; a later record replaces it"),
	KIND(REC_HEAP_SITE, S, "heap_site", site_fields,
		"what one stack of a process allocated since it began, by its number there; a "
		"later record replaces it"),
	KIND(REC_HEAP_THREAD, H, "heap_thread", thread_fields,
		"what one thread did since it began; a later record replaces it"),
	KIND(REC_HEAP_MAPPING, M, "heap_mapping", mapping_fields,
		"what one stack of a process mapped by itself since it began, of one kind; a later "
		"record replaces it"),
	KIND(REC_HEAP_MAPPED, P, "heap_mapped", mapped_fields,
		"what a process mapped by itself since it began; a later record replaces it"),
	KIND(REC_HEAP_TOGETHER, A, "heap_together", together_fields,
		"what all processes held together, since the beginning; a later record replaces "
		"it"),
	KIND(REC_HEAP_RESIDENCE, E, "heap_residence", residence_fields,
		"page faults, since it began, and resident bytes of one stack or other place of a "
		"process; a later record replaces it"),
	KIND(REC_HEAP_LOOKED, K, "heap_looked", looked_fields,
		"the same of all of a process; a later record replaces it"),
	KIND(REC_HEAP_EVENTS, V, "heap_events", events_fields,
		"what a process allocated and freed, a chunk of it; to be read in their order"),
	KIND(REC_HEAP_STACKS, N, "heap_stacks", stacks_fields,
		"what numbers of stacks in heap_events stand for"),
};
