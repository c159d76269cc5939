/*
 * Strings kept once each, until the pool is freed; with each, on demand, its readable
 * (demangled) form.
 */
#ifndef MEMWHY_SYM_STRPOOL_H
#define MEMWHY_SYM_STRPOOL_H

#include "base/util.h"

struct strpool_entry;

struct strpool {
	struct strpool_entry *entries;
	u64 bytes;
};

void strpool_free(struct strpool *pool);
/* The pool's copy of the text; NULL for NULL, and when there is no memory. */
const char *strpool_add(struct strpool *pool, const char *text);
/* The same, of a linker's symbol name in readable form. */
const char *strpool_add_demangled(struct strpool *pool, const char *mangled);

#endif
