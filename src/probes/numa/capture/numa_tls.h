/*
 * Private to the capture of numa: thread-local variables. All threads of a process have them at the
 * same distance below their thread pointers, which the kernel keeps (task->thread.fsbase) and the
 * BPF programs send with each sample. Remembers both, and sends the variables of a thread when it
 * is first seen to access memory near its own.
 *
 * Of blocks that are allocated when a variable is first used (libraries that were built with the
 * dynamic models and ask for no offset) nothing is told: those are heap blocks of the loader.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_TLS_H
#define MEMWHY_PROBES_NUMA_CAPTURE_TLS_H

#include "base/groups.h"
#include "probes/numa/capture/numa_data.h"

struct numa_tls {
	struct tls_thread *threads; /* hash table, by tid */
	struct groups spaces;       /* tgid -> struct tls_space * */
};

void numa_tls_init(struct numa_tls *t);
void numa_tls_free(struct numa_tls *t);
/* A thread begins, or runs another program from now on. pointer 0: not known. */
int numa_tls_thread(struct numa_tls *t, u32 tgid, u32 tid, u64 pointer, u64 time_ns);
/* The end of a thread. */
void numa_tls_thread_drop(struct numa_tls *t, u32 tid);
/* Forgets a process: it ran another program, or ended. */
void numa_tls_drop(struct numa_tls *t, u32 tgid);
/* Sends REC_NUMA_VARIABLEs of the sample's thread, unless that was done. pointer 0: not known. */
int numa_tls_sample(struct numa_tls *t, const struct numa_data *d, struct capture *c,
	const struct numa_sample *s, u64 pointer);

#endif
