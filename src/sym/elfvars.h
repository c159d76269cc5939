/*
 * The variables of an ELF file by address, from its symbol table, and where a mapping of the file
 * puts them; those of threads by their place in a thread's block (elftls.h). Copies what it needs.
 * Must not know of processes.
 */
#ifndef MEMWHY_SYM_ELFVARS_H
#define MEMWHY_SYM_ELFVARS_H

#include "sym/elffile.h"

struct elf_variable {
	u64 address, size; /* of a thread-local one: from the start of the block */
	const char *name;
	bool bss; /* it has no bytes in the file */
};

struct elf_variables {
	VEC(struct elf_variable) list;
	char *names;
};

/* The variables of at least min_bytes in .symtab or, where there is none, in .dynsym. type:
 * STT_OBJECT, or STT_TLS: the thread-local ones. -ENOENT: there is no such table; -EFBIG: it is too
 * large; -ENOEXEC, -ENOMEM. */
int elf_variables_read(
	const struct elf_file *file, u32 type, u64 min_bytes, struct elf_variables *ret);
void elf_variables_free(struct elf_variables *v);
#define _cleanup_elf_variables_ _cleanup_(elf_variables_free)

/* What to add to addresses of the file where its data from this offset on (of whole pages) is
 * mapped at start. -ENOENT: no segment of data is there. */
int elf_variables_bias(const struct elf_file *file, u64 offset, u64 start, u64 *ret);

#endif
