/*
 * Which rights memwhy needs for what, in the words in which every command says so, and whether we
 * have them. Knows no probe.
 */
#ifndef MEMWHY_SYS_RIGHTS_H
#define MEMWHY_SYS_RIGHTS_H

#include <stdbool.h>

#include "base/err.h"

/* What a file of memwhy's has to be given for a user without rights to run nearly all of it. */
#define RIGHTS_SETCAP                                                                       \
	"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog,cap_checkpoint_" \
	"restore+ep"
/* What provides data that this user may not see, as `needs` of REC_METHOD. */
#define RIGHTS_ROOT "root (sudo memwhy, or CAP_BPF and CAP_PERFMON)"

/* Have we every right, also those that no single capability of RIGHTS_SETCAP gives? */
bool rights_are_root(void);
/* May we look into processes of other users, and of more rights than ours? */
bool rights_over_others(void);
/* The remedy where a process may not be looked into; none for other errors. Returns err->code. */
int rights_over_others_hint(struct err *err);
/* What it takes where loading BPF programs was refused, in up to 60 bytes: RIGHTS_ROOT for a user
 * who is not root, else what refuses it to root. */
const char *rights_needs(void);
/* The same as a remedy. Returns err->code. */
int rights_hint(struct err *err);
/* Does the kernel keep its memory from root, too (lockdown=confidentiality, kernel_lockdown(7))?
 * False where it does not say so. */
bool rights_kernel_is_locked(void);

#endif
