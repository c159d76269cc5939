/* The multi-generational LRU. */
#ifndef MEMWHY_SYS_LRU_GEN_H
#define MEMWHY_SYS_LRU_GEN_H

#include <stdbool.h>

/* Does it reclaim here? False where the kernel has none. */
bool lru_gen_enabled(void);

#endif
