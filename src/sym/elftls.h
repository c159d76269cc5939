/*
 * Where the thread-local variables of an ELF file are: each thread has a block of them, below its
 * thread pointer (x86-64: "ELF Handling For Thread-Local Storage", variant II). Knows no process.
 */
#ifndef MEMWHY_SYM_ELFTLS_H
#define MEMWHY_SYM_ELFTLS_H

#include "sym/elffile.h"

struct elf_tls {
	u64 bytes; /* of a block */
	u64 below; /* its begin is so much below the thread pointer, if this is the program itself
		    */
};

/* -ENOENT: it has none; -ENOEXEC; -ENOTSUP: another processor's. */
int elf_tls_read(const struct elf_file *file, struct elf_tls *ret);
/*
 * For a library the loader decides. It writes to this address (of the file), for the library's own
 * use, what to add to the thread pointer to reach the byte `offset` of the block. -ENOENT: the
 * library asks for no such word; its blocks may then be anywhere.
 */
int elf_tls_word(const struct elf_file *file, u64 *ret_address, u64 *ret_offset);

#endif
