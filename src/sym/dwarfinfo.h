/*
 * Functions, inlined calls and source lines of an address, from DWARF. Owns the use of libdw, and
 * the limits that keep hostile debug information from taking all time and memory. Must not know
 * of modules or symbol tables.
 *
 * Split DWARF (.dwo files) is not followed: the names of those files are whatever the program's
 * author wrote, and libdw would open them. Lines are in the program itself even then.
 */
#ifndef MEMWHY_SYM_DWARFINFO_H
#define MEMWHY_SYM_DWARFINFO_H

#include "sym/names_budget.h"
#include "sym/elffile.h"

/* Deeper inlining is cut: the innermost calls and the function itself are kept. */
#define DWARF_FRAMES_MAX 96

struct dwarf_info;

/* Strings belong to the dwarf_info. */
struct dwarf_frame {
	const char *function; /* the linker's name where there is one; NULL: not known */
	const char *file;     /* NULL: not known */
	const char *dir;      /* what a relative file is relative to; NULL: not known */
	u32 line;             /* 0: not known */
	bool inlined;
};

struct dwarf_frames {
	struct dwarf_frame v[DWARF_FRAMES_MAX]; /* innermost first */
	size_t n;
	u64 start; /* of the piece of code (a function may have several); 0: not known */
};

/* alt: the file that dwz put shared debug information in; NULL for none. Both may be closed
 * afterwards. -ENOENT: no debug information; -EFBIG: more bytes, -ETIMEDOUT: more time or memory
 * than the budget allows. The budget must outlive the result. */
int dwarf_info_open(const struct elf_file *file, const struct elf_file *alt,
	struct sym_budget *budget, struct dwarf_info **ret);
void dwarf_info_close(struct dwarf_info *info);
/* -ENOENT: nothing is known of the address; -ETIMEDOUT: over the limits of time or memory, and
 * so would be more tries: close it. */
int dwarf_info_find(struct dwarf_info *info, u64 address, struct dwarf_frames *ret);

static inline void dwarf_info_closep(struct dwarf_info **info)
{
	dwarf_info_close(*info);
}
#define _cleanup_dwarf_info_ _cleanup_(dwarf_info_closep)

#endif
