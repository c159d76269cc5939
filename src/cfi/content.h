/* What a file's table is made of, as a number: files of the same content have the same table. */
#ifndef MEMWHY_CFI_CONTENT_H
#define MEMWHY_CFI_CONTENT_H

#include <xxhash.h>

#include "cfi/table.h"

/* So that nobody can make a file that passes for another one. -EIO. */
int cfi_content_seed(u64 *ret);
XXH128_hash_t cfi_content_hash(const struct cfi_source *source, u64 seed);

#endif
