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
	bool late;     /* there was no time left to read all of it */
	bool left_out; /* in part or in whole, which was reported; stays when it is freed */
	u32 user;      /* account of the budget that had no time left */
	u64 used_ns;   /* when it was last asked for */
	struct sym_module_info info;
	struct elf_file file; /* its segments, no more */
	struct elf_symbols symbols;
	enum sym_source symbols_source; /* SYM_TABLE, SYM_DYNAMIC or SYM_NONE */
	struct dwarf_info *dwarf;       /* NULL: none */
	struct go_table go;             /* for lines, in memory of the symbols; n 0: none */
};

/* Is it to be read: it was not yet, or had no time to be, and there is some again. */
bool module_syms_wanted(const struct module_syms *ms, const struct sym_budget *budget);
/* What was read before is given back. Never fails: what cannot be read is missing, see info. */
void module_syms_load(struct module_syms *ms, const struct sym_file *file, bool want_dwarf,
	struct sym_budget *budget);
/* A lookup took too long: leaves its debug information aside. */
void module_syms_abandon_dwarf(struct module_syms *ms, const struct sym_budget *budget);
void module_syms_free(struct module_syms *ms);

#endif
