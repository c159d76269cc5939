/*
 * Opens perf events that copy the stack of one thread at its page faults, including faults that the
 * kernel takes on its behalf, as read() does into new memory. Kernels refuse the latter without
 * CAP_PERFMON if kernel.perf_event_paranoid is 2 (their default), and all of them without
 * CAP_SYS_ADMIN if it is higher (Debian's); and a session has dropped these by the time it knows
 * which threads to observe. So a helper process keeps the right: it receives a thread and a number,
 * opens this one kind of event, and passes it back; a seccomp filter leaves it nothing else.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_SAMPLE_OPENER_H
#define MEMWHY_CAPTURE_UNWIND_SAMPLE_OPENER_H

#include <sys/types.h>

#include "base/util.h"

/* Registers of a sample, by asm/perf_regs.h: ax to ip, then r8 to r15. */
#define SAMPLE_REGISTERS 17
/* A sample is to be whole where it goes over the end of the ring (perf_ring.c): below 8 KiB. */
#define SAMPLE_STACK_BYTES 7168

struct sample_opener;

/* Before rights are given up. *ret is NULL where no such process is needed. */
int sample_opener_begin(struct sample_opener **ret);
/* 0: there is none. */
pid_t sample_opener_pid(const struct sample_opener *o);
/* A descriptor: one in `every` minor faults of a thread is sampled (where the rights do not
 * reach so far, in user mode), as
 * PERF_SAMPLE_TID, _ADDR, _REGS_USER and _STACK_USER. -errno of perf_event_open(2). o: may be NULL.
 */
int sample_opener_open(struct sample_opener *o, int tid, u64 every);
void sample_opener_close(struct sample_opener *o);

#endif
