/*
 * Returns from signal handlers that have no call-frame information (musl's, Go's): found by their
 * instructions, which debuggers know them by too and which therefore never change. Searched are the
 * first 64 MiB of such code in a file; a few are enough.
 */
#ifndef MEMWHY_CFI_SIGNAL_H
#define MEMWHY_CFI_SIGNAL_H

#include "cfi/table.h"

#define SIGNAL_FOUND_MAX 16 /* in one file */

struct signal_finder {
	const struct cfi_source *source;
	u64 left; /* bytes of code that may still be read: files may be large and mostly holes */
	u32 found;
	u64 start; /* address of what buf holds */
	size_t n;
	u8 *buf;
};

extern const struct cfi_rule signal_rule;

void signal_finder_init(struct signal_finder *f, const struct cfi_source *source);
void signal_finder_free(struct signal_finder *f);
/* The first one within [start, end): the code it is, with the byte before it where that is within
 * too, since a return address is looked up by the byte before it. False: none. */
bool signal_find(struct signal_finder *f, u64 start, u64 end, u64 *ret_from, u64 *ret_to);

#endif
