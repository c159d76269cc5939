/*
 * One ELF file, opened with every size in it held against limits before anything is read. Owns
 * the use of libelf; must not know of DWARF, symbols or modules.
 *
 * Always ELF_C_READ, never ELF_C_READ_MMAP: whoever may write the file can truncate it while it
 * is mapped, and touching the lost pages would kill this process with SIGBUS. A short pread()
 * is just an error.
 */
#ifndef MEMWHY_SYM_ELFFILE_H
#define MEMWHY_SYM_ELFFILE_H

#include <gelf.h>
#include <limits.h>

#include "base/vec.h"

struct elf_segment {
	u64 offset;
	u64 size; /* in the file */
	u64 address;
	bool executable;
};

struct elf_file {
	Elf *elf;
	int fd;      /* owned; -1 for an image */
	void *image; /* owned memory behind an image; NULL for a file */
	VEC(struct elf_segment) segments;
};

struct elf_section {
	Elf_Scn *scn;
	GElf_Shdr header;
};

/* Take the descriptor, or the malloc()ed image, in every case. -ENOEXEC: not a sound ELF file. */
int elf_file_open(int fd, struct elf_file *ret);
int elf_image_open(void *image, size_t size, struct elf_file *ret);
void elf_file_close(struct elf_file *file);
/* Nothing is read any more: closes all but the segments, for elf_file_address(). */
void elf_file_keep_segments(struct elf_file *file);
/* Hands it to the caller and leaves an empty one, fit to be closed. */
struct elf_file elf_file_take(struct elf_file *file);
#define _cleanup_elf_file_ _cleanup_(elf_file_close)

/* The address that the byte at an offset of the file is loaded to. -ENOENT: to none. */
int elf_file_address(const struct elf_file *file, u64 offset, u64 *ret);
/* -ENOENT when there is none, or it has no bytes in the file (SHT_NOBITS). */
int elf_section_find(const struct elf_file *file, const char *name, struct elf_section *ret);
int elf_section_find_type(const struct elf_file *file, u32 type, struct elf_section *ret);
int elf_section_at(const struct elf_file *file, size_t index, struct elf_section *ret);
/* The bytes of a section that is not compressed; libelf's, good until the file is closed. */
int elf_section_data(const struct elf_section *section, u64 max_bytes, Elf_Data **ret);
/* The same into memory of the caller's, sh_size bytes, which libelf then needs no copy of. */
int elf_section_copy(const struct elf_file *file, const struct elf_section *section, void *to);

/* Bytes of build-id copied to buf (BUILD_ID_MAX large), or -errno. */
int elf_file_build_id(const struct elf_file *file, u8 *buf);
/* .gnu_debuglink: a file name without any directory, and the CRC-32 of that file. */
int elf_file_debuglink(const struct elf_file *file, char name[NAME_MAX + 1], u32 *ret_crc);

#endif
