/* Where a function is in a file, for uprobes. Owns the search for the file; a reader without rights
 * reads it (capture/reader/reader.h). */
#ifndef MEMWHY_PROBES_COUNT_ELF_H
#define MEMWHY_PROBES_COUNT_ELF_H

#include "base/err.h"
#include "capture/reader/reader.h"

/*
 * path: a file, or the name of a shared library without a slash. pid: of the process whose files
 * are meant, 0: ours. reader: NULL: one is begun for it. *ret_offset is the symbol's place in the
 * file, whose path goes to ret_path.
 */
int elf_symbol_place(struct reader *reader, const char *path, u32 pid, const char *symbol,
	char *ret_path, size_t size, u64 *ret_offset, struct err *err);

#endif
