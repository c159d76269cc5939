/*
 * The functions of an ELF file by address, from its symbol tables. Copies what it needs, so the
 * file may be closed afterwards. Must not know of DWARF or of modules.
 */
#ifndef MEMWHY_SYM_ELFSYM_H
#define MEMWHY_SYM_ELFSYM_H

#include "sym/names_budget.h"
#include "sym/elffile.h"

struct elf_symbol {
	u64 address;
	u64 size; /* after elf_symbols_finish(): never 0, not beyond its section */
	const char *name;
	u8 rank;    /* which of several names at one address is shown: the highest */
	bool sized; /* size is what the file says */
};

struct elf_symbols {
	VEC(struct elf_symbol) list;
	VEC(u64) reach; /* the furthest end among symbols 0 to i: where looking back may stop */
	VEC(char *) names;
	struct sym_budget *budget; /* that bytes were taken from, for this user; NULL: none were */
	u32 user;
	u64 bytes;
};

/* Adds the functions of a symbol table: type is SHT_SYMTAB or SHT_DYNSYM. -ENOENT when there is
 * no such table, -EFBIG when it is beyond the budget, which must outlive the symbols. */
int elf_symbols_add(
	struct elf_symbols *s, const struct elf_file *file, u32 type, struct sym_budget *budget);
/* Takes bytes that are held until elf_symbols_free() from the budget. 0 or -EFBIG. */
int elf_symbols_pay(struct elf_symbols *s, struct sym_budget *budget, u64 bytes);
/* Memory for names, which the symbols own and pay for: size bytes and a NUL. */
int elf_symbols_hold(struct elf_symbols *s, struct sym_budget *budget, u64 size, char **ret);
/* Adds one whose name lies in such memory. size is not 0. */
int elf_symbols_put(struct elf_symbols *s, u64 address, u64 size, const char *name);
/* Sorts: after the last elf_symbols_add(), before the first elf_symbols_find(). */
int elf_symbols_finish(struct elf_symbols *s);
/* The innermost function that holds the address; NULL for none. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, u64 address);
void elf_symbols_free(struct elf_symbols *s);
#define _cleanup_elf_symbols_ _cleanup_(elf_symbols_free)

#endif
