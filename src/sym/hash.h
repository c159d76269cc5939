/* uthash, set up to report a failed allocation instead of ending the program. After
 * HASH_ADD…, `elt->hh.tbl == NULL` says that the element was not added for want of memory. */
#ifndef MEMWHY_SYM_HASH_H
#define MEMWHY_SYM_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
