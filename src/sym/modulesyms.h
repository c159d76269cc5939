/*
 * All that is known of the names in one module: its symbols, from wherever there are any, and its
 * debug information. Must not know of module tables.
 */
#ifndef MEMWHY_SYM_MODULESYMS_H
#define MEMWHY_SYM_MODULESYMS_H

#include "sym/dwarfinfo.h"
#include "sym/elfsym.h"
#include "sym/gotable.h"
#include "sym/symbolizer.h"

struct module_syms {
	bool loaded;
	u64 used_ns; /* when it was last asked for */
	struct sym_module_info info;
	struct elf_file file; /* its segments, no more */
	struct elf_symbols symbols;
	enum sym_source symbols_source; /* SYM_TABLE, SYM_DYNAMIC or SYM_NONE */
	struct dwarf_info *dwarf;       /* NULL: none */
	struct go_table go;             /* for lines, in memory of the symbols; n 0: none */
};

/* Never fails: what cannot be read is missing, see info. */
void module_syms_load(struct module_syms *ms, const struct sym_file *file, bool want_dwarf,
	struct sym_budget *budget);
/* Leaves its debug information aside from now on. */
void module_syms_abandon_dwarf(struct module_syms *ms);
void module_syms_free(struct module_syms *ms);

#endif
