/* --faults: the page faults of the command, counted by the collector (residence.h). */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_HEAP_FAULTS_H
#define MEMWHY_PROBES_HEAP_COLLECT_HEAP_FAULTS_H

#include "capture/capture.h"

struct collector;

/* Before the collector starts. Without --faults it does nothing. */
int heap_faults_open(struct capture *c, struct collector *collector, struct err *err);
/* What a reader would miss. */
void heap_faults_tell(struct capture *c, const struct collector *collector);

#endif
