/*
 * Counting any event: what the BPF program, the probe and its view agree on, and the records. Each
 * event has a copy of the program, with a count_config of its own as constant data.
 */
#ifndef MEMWHY_PROBES_COUNT_H
#define MEMWHY_PROBES_COUNT_H

#include "bpf/shared.h"

#define COUNT_EVENTS 1024  /* at once */
#define COUNT_SYSCALLS 512 /* numbers of native system calls */
#define COUNT_TESTS 8      /* comparisons of a filter */
#define COUNT_KEYS 8       /* what --by may name */
#define COUNT_FIELDS 4     /* of them, fields of the event */
#define COUNT_TEXT 32      /* bytes of a text that are looked at, with a NUL */
#define COUNT_SLOTS 40     /* of a histogram */

enum count_from {
	COUNT_NOTHING = 0,
	COUNT_FIELD, /* a number in the event's record */
	COUNT_TID,
	COUNT_CPU,
	COUNT_NODE,
	COUNT_CGROUP,
	COUNT_PID,
	COUNT_STACK,
	COUNT_COMM,
	/* texts: */
	COUNT_CHARS,    /* in the record */
	COUNT_DATA_LOC, /* in the record, where a u32 of it says: its offset in the low 16 bits */
	COUNT_REL_LOC,  /* the same, from the end of that u32 */
	COUNT_KERNEL,   /* where a pointer of the record points */
	COUNT_USER,
};

/* Where a number or a text is found when the event happens. */
struct count_source {
	u8 from; /* enum count_from */
	u8 size; /* of the number: 1, 2, 4, 8; of COUNT_CHARS: how many */
	u8 is_signed;
	u8 word; /* where in the key it goes, in u64 */
	u32 offset;
};

enum count_op { COUNT_EQUAL, COUNT_BELOW, COUNT_ABOVE, COUNT_BITS };

/* Where a comparison leads to: the index of another, which is a later one, or: */
enum { COUNT_PASS = 64, COUNT_FAIL };

struct count_test {
	struct count_source source;
	u8 op;      /* enum count_op; texts have COUNT_EQUAL only */
	u8 yes, no; /* the next one */
	u8 reserved[5];
	u64 value;
	u64 text[COUNT_TEXT / 8], mask[COUNT_TEXT / 8]; /* equal in the bits of the mask */
};

/* Programs of system calls that differ in the event only are one: it looks up which. */
enum count_by_call { COUNT_BY_CALL_NOT, COUNT_BY_ENTER, COUNT_BY_EXIT };

/* The place of an event among those of system calls, by number. */
#define COUNT_CALL_EVENT(by_call, number) \
	((number) + ((by_call) == COUNT_BY_EXIT ? COUNT_SYSCALLS : 0))

/*
 * A program of a classic tracepoint or a probe that returns 0 takes the event away from all who
 * look at it with perf (trace_call_bpf), so ours returns 1. fentry programs must return 0.
 */
struct count_config {
	u32 event;
	u8 n_tests, n_words; /* of the key */
	u8 skip;             /* frames of the kernel's stack that are ours */
	u8 task;             /* by process or thread: keep its name, too */
	u8 returns;          /* by the program: see above */
	u8 by_call;          /* enum count_by_call */
	u8 reserved[6];
	struct count_source sum, hist;
	struct count_source keys[COUNT_KEYS];
	struct count_test tests[COUNT_TESTS];
};

/*
 * The key is u64s. The first is the event and, where it is counted by process or thread, the
 * process << 32. Then comes what --by named, in that order: a number takes one, a stack too (user,
 * then kernel << 32), a name of a task two, a text COUNT_TEXT / 8.
 */
#define COUNT_WORDS (1 + (COUNT_KEYS - COUNT_FIELDS) * 2 + COUNT_FIELDS * COUNT_TEXT / 8)

/* The value of one key on one CPU; hist is left off unless asked for. */
struct count_value {
	u64 count;
	u64 sum, min, max;
	u64 cgroup;
	char comm[COMM_LEN];
	u32 hist[COUNT_SLOTS];
};

#define COUNT_VALUE_LEAN __builtin_offsetof(struct count_value, hist)

/* How a number of an event is shown. */
enum count_show {
	COUNT_SHOW_UNSIGNED = 1,
	COUNT_SHOW_SIGNED,
	COUNT_SHOW_HEX,
	COUNT_SHOW_TEXT,   /* the number is a REC_STRING */
	COUNT_SHOW_SYMBOL, /* … a REC_FRAME */
	COUNT_SHOW_FLAGS,  /* REC_ENUM has names of bits */
	COUNT_SHOW_NAMED,  /* REC_ENUM has names of numbers */
};

/* On disk: an event that is counted. */
#define COUNT_EVENT_FIELDS(F, R)                                                               \
	F(R, u32, event, ID, "number of the event")                                            \
	F(R, u32, name, STRING, "its name")                                                    \
	F(R, u8, n_fields, COUNT, "fields it is counted by")                                   \
	F(R, u8, sum_show, ID,                                                                 \
		"what sum is: 1 unsigned, 2 signed, 3 hexadecimal; 0: there is none")          \
	F(R, u8[6], reserved, HIDDEN, "")                                                      \
	F(R, u32, sum, STRING, "the field that was summed up")                                 \
	F(R, u32, hist, STRING, "the field of the histogram")                                  \
	F(R, u32[COUNT_FIELDS], fields, STRING, "names of the fields it is counted by")        \
	F(R, u8[COUNT_FIELDS], show, ID,                                                       \
		"what each is: as sum_show, and 4 string, 5 frame, 6 flags, 7 name")           \
	F(R, u8[4], reserved2, HIDDEN, "")                                                     \
	F(R, char[24], set_1, NONE, "set of enum records that names the numbers of the first") \
	F(R, char[24], set_2, NONE, "… of the second")                                         \
	F(R, char[24], set_3, NONE, "… of the third")                                          \
	F(R, char[24], set_4, NONE, "… of the fourth")
RECORD(count_event, COUNT_EVENT_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define COUNT_AGG_FIELDS(F, R)                                                             \
	F(R, u32, event, ID, "number of the event")                                        \
	F(R, u32, tgid, ID, "process; 0: not counted by process")                          \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                             \
	F(R, u32, stack, STACK, "where it happened")                                       \
	F(R, u32, cpu, ID, "processor, plus one")                                          \
	F(R, u32, node, ID, "NUMA node, plus one")                                         \
	F(R, u64, cgroup, CGROUP, "control group of the task")                             \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                    \
	F(R, u64, count, COUNT, "events")                                                  \
	F(R, u64, sum, NONE, "sum of the field, as sum_show says")                         \
	F(R, u64, min, NONE, "its smallest value since the start")                         \
	F(R, u64, max, NONE, "its largest value since the start")                          \
	F(R, u64[COUNT_FIELDS], fields, NONE, "the fields it is counted by, as show says") \
	F(R, u32[COUNT_SLOTS], hist, COUNT,                                                \
		"log2 histogram: slot i is 2^(i-1) to 2^i, slot 0 is 0 and less")
RECORD(count_agg, COUNT_AGG_FIELDS);

#endif
