/* What the command line asks of the syscalls probe: which calls, and when to dump those kept. */
#ifndef MEMWHY_PROBES_SYSCALLS_WORDS_H
#define MEMWHY_PROBES_SYSCALLS_WORDS_H

#include "capture/syscall_hook.h"
#include "probes/syscalls/syscalls.h"

struct syscalls_wish {
	struct syscalls_config set;
	bool flight;
	u32 ring_calls; /* a power of two */
	u64 dump_ns;
	s32 dump_error; /* as in syscalls_probe_config */
	bool dump_exit, dump_crash;
};

/* The words after the command's name, --flight and --dump-on; any may be NULL. -EINVAL: err says
 * which word is none. */
int syscalls_wish_parse(char *const *operands, u32 n, const char *flight, const char *dump_on,
	struct syscalls_wish *ret, struct err *err);

#endif
