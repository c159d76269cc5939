/* What the parts of the count probe share: the events asked for, and what their keys mean. */
#ifndef MEMWHY_PROBES_COUNT_STATE_H
#define MEMWHY_PROBES_COUNT_STATE_H

#include "probes/count/count_events.h"
#include "probes/count/count_keys.h"
#include "probes/probe.h"

/* What the table's key and numbers of an event mean. */
struct bound {
	struct count_config config;
	u8 show[COUNT_KEYS];
	u8 sum_show;
	bool attached;
	bool called; /* by CLONE_CALLED, whatever the event says */
	bool plain;  /* no field of its own is looked at: a raw tracepoint does */
};

struct state {
	struct count_keys keys;
	struct filter filter;
	struct event_list events;
	struct bound *bound; /* of each event */
	u32 n_words;
	u32 attached[CLONE_HOW_N];
	/* The last program loaded for enters and exits of system calls. */
	struct {
		struct count_config config;
		int prog; /* plus one */
	} calls[2];
	bool many_calls; /* so many events of system calls that one program hands them out */
	bool chosen;     /* by the command line, not by ourselves */
	u32 left_out;
	char why[160]; /* … the first of them */
};

#define COUNT_CALLS "system calls by number" /* what the hook provides */

/* The number of the system call that an event of the category syscalls is of, and whether its
 * beginning; -ENOENT: none of these, or not known. */
int event_syscall(const struct event *e, bool *ret_enter);

/* What an event's program is to do: the keys, the filter, the fields. */
int count_bind(const struct capture *c, u32 event, struct bound *ret, struct err *err);

/* Of struct probe_bpf. */
int count_attach(struct capture *c, struct attached *a, struct err *err);
void count_stop(struct capture *c, struct attached *a);
void count_survey(struct capture *c, struct attached *a);
int count_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value);
const struct table_values *count_value_of(const struct capture *c);

#endif
