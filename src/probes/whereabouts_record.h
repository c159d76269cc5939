/* What sys/process/whereabouts.h finds out about a process, as a record, for the probes that look
 * at placement. */
#ifndef MEMWHY_PROBES_WHEREABOUTS_RECORD_H
#define MEMWHY_PROBES_WHEREABOUTS_RECORD_H

#include "capture/capture.h"
#include "sys/process/whereabouts.h"

struct whereabouts_of {
	u32 pid;
	u64 start_ns; /* of CLOCK_MONOTONIC; 0: not known */
	char comm[COMM_LEN];
	bool asked; /* for by the user: its command line is sent also where no policy is */
};

/* Sends a struct process_numa. maps, ran: see whereabouts_read(). */
int whereabouts_send(struct capture *c, const struct host *host, const struct numa_maps *maps,
	struct groups *ran, const struct whereabouts_of *of);

#endif
