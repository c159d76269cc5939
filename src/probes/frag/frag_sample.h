/* The part of the frag probe that reads /proc: free blocks, watermarks, migratetypes. */
#ifndef MEMWHY_PROBES_FRAG_SAMPLE_H
#define MEMWHY_PROBES_FRAG_SAMPLE_H

#include "probes/probe.h"

extern const struct probe_sampler frag_sampler;

#endif
