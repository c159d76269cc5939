/* See lru_gen.h. */
#include "sys/memory/lru_gen.h"

#include <stdlib.h>

#include "sys/root.h"

bool lru_gen_enabled(void)
{
	_cleanup_str_ struct str text = {};

	/* "0x0007": bit 0 is the LRU itself (Documentation/admin-guide/mm/multigen_lru.rst) */
	return !sys_read(&text, "/sys/kernel/mm/lru_gen/enabled") &&
	       strtoul(str_get(&text), NULL, 0) & 1;
}
