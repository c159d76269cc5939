/*
 * The debug sections of a file that are needed for names and lines, read, decompressed and put
 * together as an ELF file in memory, for libdw to work on.
 *
 * libdw trusts its input in places: it reads numbers and strings on past the end of a section
 * when the last one is cut. Here each section is followed by zeros, which end any number and any
 * string, so that this stays inside of the image. Leaving sections out also saves much memory
 * (locations of variables are the largest), and keeps libdw from opening other files by itself:
 * the section that would make it is not there.
 */
#ifndef MEMWHY_SYM_DEBUGIMAGE_H
#define MEMWHY_SYM_DEBUGIMAGE_H

#include "sym/names_budget.h"
#include "sym/elffile.h"

/* -ENOENT: no debug information; -EFBIG: over the budget. *ret_bytes is what was taken from it,
 * to be given back when the image is closed. */
int debug_image_open(const struct elf_file *file, struct sym_budget *budget, struct elf_file *ret,
	u64 *ret_bytes);
/* Whether there is any, without reading it. */
bool debug_image_possible(const struct elf_file *file);

#endif
