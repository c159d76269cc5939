/*
 * Names for ids. While a session runs, this sends each string, task, cgroup, frame and stack once,
 * as the records that mention them come by; at the end it resolves all frames to symbols in one
 * pass. Owns what is known of other processes' address spaces.
 */
#ifndef MEMWHY_CAPTURE_NAMES_H
#define MEMWHY_CAPTURE_NAMES_H

#include <string.h>

#include "capture/capture.h"
#include "sym/debuginfod.h"
#include "sym/process_map.h"

struct names_options {
	u8 cgroup_version; /* enum scope_cgroup */
	bool user_stacks;  /* follow address spaces as they change (perf MMAP2 events) */
	bool debug_info;   /* lines and inlined functions, not only function names */
	bool sparing;      /* see reader_names_how */
	bool unnamed;      /* no frame is resolved to its symbol */
	/* Naming reads whole tables of symbols: it rests for so many times as long as it took, five
	 * minutes at most, where somebody watches 20 seconds; 0: never. */
	u32 rest;
	struct debuginfod *servers; /* asked for debug files that are not here; NULL: none */
	struct reader *reader; /* reads files of others; NULL: this process does, in its cage */
	const struct capture *capture; /* its last pass asks whether to leave; NULL: it does not */
};

int names_open(struct sink *sink, const struct names_options *o, struct names **ret);
/* How many bytes what is read for names, and dictionaries, may take in all: before the first. */
void names_limit(struct names *n, u64 bytes);
/* Takes pending changes of address spaces; to be called at least as often as stacks are read. */
int names_follow(struct names *n);
/* All that was drained has its names: what has ended is forgotten at the second call after. last:
 * nothing follows. */
int names_drained(struct names *n, bool last);
/* The code that a process has mapped, valid until the next call; NULL: no memory. */
const struct process_map *names_map(struct names *n, u32 tgid);
/* See follow_version. */
u32 names_map_version(const struct names *n, u32 tgid);
/* Id of a text; 0 for "" and when memory is short. */
u32 names_string(struct names *n, const char *text);
/* tid 0: the process. */
int names_task(struct names *n, u32 tgid, u32 tid, const char *comm, u64 cgroup);
/* Sends the path of a cgroup, once. */
int names_cgroup(struct names *n, u64 id);
/* The same of a group that may be removed next, as after a kill: looks for it whatever walks took
 * before. For what is rare. */
int names_cgroup_now(struct names *n, u64 id);
/*
 * Id of the stack made of a kernel and a user stack of a BPF stack map (ids plus one, 0: none),
 * the latter in the address space that tgid has now. 0: neither is known.
 */
u32 names_stack(struct names *n, const struct stack_maps *maps, u32 tgid, u32 ustack, u32 kstack);
/* The same of a user stack that begins with a return address, as all of its frames are then. */
u32 names_callers(struct names *n, const struct stack_maps *maps, u32 tgid, u32 ustack);
/*
 * For members that records of tasks share by name, at places of their own (hence macros). In a
 * record of the ring: names its task, and makes its two stacks one.
 */
#define names_event(n_, maps_, e_)                                                             \
	({                                                                                     \
		names_task(n_, (e_)->tgid, (e_)->tid, (e_)->comm, (e_)->cgroup);               \
		(e_)->ustack = names_stack(n_, maps_, (e_)->tgid, (e_)->ustack, (e_)->kstack); \
		(e_)->kstack = 0;                                                              \
	})
/* In a record r_ of what was added to key k_ of a table, with the value v_: task and stack. */
#define names_added(n_, maps_, k_, v_, r_)                                                    \
	({                                                                                    \
		names_task(n_, (k_)->tgid, (k_)->tid, (v_)->comm, (v_)->cgroup);              \
		(r_)->tgid = (k_)->tgid;                                                      \
		(r_)->tid = (k_)->tid;                                                        \
		(r_)->stack = names_stack(n_, maps_, (k_)->tgid, (k_)->ustack, (k_)->kstack); \
		(r_)->cgroup = (v_)->cgroup;                                                  \
		memcpy((r_)->comm, (v_)->comm, sizeof((r_)->comm));                           \
	})
/* Id of a stack of user addresses, innermost first, all of them return addresses. 0: no memory. */
u32 names_user_stack(struct names *n, const struct process_map *map, const u64 *ips, u32 count);
/* Id of a stack of addresses, innermost first: of the kernel, then of the process that has this map
 * (NULL: not known), which were had by `method` (flags of REC_STACK). Those that are too many are
 * left out. 0: none, or no memory. */
u32 names_addresses(struct names *n, const u64 *kernel, u32 n_kernel, const struct process_map *map,
	const u64 *user, u32 n_user, u16 method);
/* Kernel addresses are those of another kernel than the one that runs: they have no names here. */
void names_kernel_is_other(struct names *n);
/* The files of all maps: what a map to be asked with is made with. */
struct module_table *names_modules(struct names *n);
/* Id of the frame that stands for a kernel address (a function pointer); 0: no memory. */
u32 names_kernel_symbol(struct names *n, u64 address);
/* Resolves and sends the symbols of all frames not yet sent. last: memory of each file is freed
 * once its frames are done, so that no two files are in memory at once. */
int names_symbolize(struct names *n, bool last);
/* Is that to be left for later? */
bool names_rest(const struct names *n);
/* Says with a note, once, that nothing is left to read files with. */
int names_tell_readers(struct names *n, struct capture *c);
/* Says with notes what could not be followed or named. */
void names_tell(struct names *n, struct capture *c);
void names_close(struct names *n);

#endif
