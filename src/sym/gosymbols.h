/* The table of a Go program (gotable.h) found in its ELF file, as symbols. */
#ifndef MEMWHY_SYM_GOSYMBOLS_H
#define MEMWHY_SYM_GOSYMBOLS_H

#include "sym/elfsym.h"
#include "sym/gotable.h"

/* Adds the functions, if names; *ret is for lines, and good until the symbols are freed. -ENOENT:
 * there is no such table, or nothing sound in it; -EFBIG: it is beyond the budget. */
int go_symbols_load(struct elf_symbols *s, const struct elf_file *file, bool names,
	struct sym_budget *budget, struct go_table *ret);

#endif
