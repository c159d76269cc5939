/*
 * .gnu_debugdata: a small ELF file, compressed with xz, that some distributions put into stripped
 * programs for the names of their functions.
 */
#ifndef MEMWHY_SYM_MINIDEBUG_H
#define MEMWHY_SYM_MINIDEBUG_H

#include "sym/names_budget.h"
#include "sym/elffile.h"

/* -ENOENT when the file has none; -EFBIG: it unpacks to more than the budget allows. *ret_bytes is
 * what was taken from it, to be given back when the image is closed. */
int minidebug_open(const struct elf_file *file, struct sym_budget *budget, struct elf_file *ret,
	u64 *ret_bytes);

#endif
