/*
 * Perf events that copy the stack of one thread at its page faults, also at those that the kernel
 * takes for it, as read() does into new memory. Kernels refuse the latter to whoever lacks
 * CAP_PERFMON where kernel.perf_event_paranoid is 2, their default, and all to whoever lacks
 * CAP_SYS_ADMIN where it is above (Debian's), and a session has given these up by the time it
 * knows whom to look at. There a process of its own keeps the right: it is told a thread and a
 * number, opens this one kind of event, and hands it back; a filter of system calls leaves it
 * nothing else.
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
