/* Which part of the kernel a function is of, by its name: those of 5.10 to 7.3. */
#ifndef MEMWHY_ANALYSIS_KERNEL_CODE_H
#define MEMWHY_ANALYSIS_KERNEL_CODE_H

#include "base/util.h"

/* The page allocator itself, its tracepoint, and what runs BPF programs there. */
bool code_is_page_allocator(const char *function);
/* The slab allocator where it takes pages. */
bool code_is_slab_allocator(const char *function);

#endif
