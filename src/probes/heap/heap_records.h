/* How the account of a process stands, as records; their stacks have numbers, but no names yet. */
#ifndef MEMWHY_PROBES_HEAP_RECORDS_H
#define MEMWHY_PROBES_HEAP_RECORDS_H

#include "probes/heap/heap.h"
#include "probes/heap/account/process.h"
#include "probes/heap/collect/combined_peak.h"
#include "probes/heap/collect/block_lookup.h"
#include "probes/numa/numa.h"

struct heap_total heap_total_of(const struct heap_process *p);
/* The record of a site, by its index. It counts as sent. */
struct heap_site heap_site_of(struct heap_process *p, size_t index);
struct heap_thread heap_thread_of(const struct heap_process *p, size_t index);
struct heap_together_record heap_together_of(const struct combined_peak *t);
struct heap_mapped heap_mapped_of(const struct heap_process *p);
/* As heap_site_of. */
struct heap_mapping heap_mapping_of(struct heap_process *p, size_t index);
/* As heap_site_of, of the sums with this index; its file is not filled in. */
struct heap_residence heap_residence_of(struct heap_process *p, size_t index);
struct heap_looked heap_looked_of(const struct heap_process *p);
struct numa_block heap_block_of(const struct block_lookup_block *t);

#endif
