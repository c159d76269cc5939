/* See mapping_kind.h. */
#include "base/mapping_kind.h"

#include <stddef.h>

const char *mapping_kind_words(u32 kind)
{
	static const char *const words[MAPPING_KINDS] = {
		[MAPPING_ANON] = "anonymous",
		[MAPPING_HEAP] = "heap",
		[MAPPING_STACK] = "stack",
		[MAPPING_FILE] = "file",
		[MAPPING_SHMEM] = "shared memory",
		[MAPPING_HUGETLB] = "hugetlb",
		[MAPPING_VDSO] = "other",
	};

	return kind < MAPPING_KINDS ? words[kind] : NULL;
}
