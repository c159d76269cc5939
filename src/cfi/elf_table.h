/*
 * The table of an ELF file: where its call-frame information is and which addresses are code. Knows
 * ELF; must not know processes. x86-64 only, and .eh_frame only: every file that may be unwound by
 * exceptions has it, and compilers make it by default; .debug_frame is not read.
 */
#ifndef MEMWHY_CFI_ELF_TABLE_H
#define MEMWHY_CFI_ELF_TABLE_H

#include "base/err.h"
#include "cfi/table.h"
#include "sym/elffile.h"

/* Memory that is used for one file after the other. */
typedef VEC(u8) cfi_buffer;

/* What a table is to be made of: in the buffer, or (NULL) in memory of the file, good until it is
 * closed. -ENOEXEC: another machine's. -ENOENT: no code, or no call-frame information. -EFBIG: more
 * of it than is read. -EIO: it could not be read whole. -ENOMEM. */
int cfi_elf_source(
	const struct elf_file *file, cfi_buffer *buffer, struct cfi_source *ret, struct err *err);
/* Reads the unwind data of the one function that contains the address, with the sorted index beside
 * the section (.eh_frame_hdr): a few reads, whatever the size of the file. Works on the file, not
 * on an image; the bytes go into the buffer, and are only this part of eh_frame. -ENOENT: there is
 * no index, or no such function. -EFBIG: the function has more unwind data than any compiler
 * writes. */
int cfi_elf_function(
	const struct elf_file *file, u64 address, cfi_buffer *buffer, struct cfi_source *ret);
/* The same as cfi_elf_source(), and the table. */
int cfi_elf_compile(const struct elf_file *file, struct cfi_table **ret, struct err *err);

#endif
