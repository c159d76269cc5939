/*
 * Where distributions put the debug information they took out of a program: below
 * /usr/lib/debug by build-id, or by the name in .gnu_debuglink; and what dwz shared between
 * several of those. Looks below the root of the process first, then below ours, then asks servers
 * if it may, and hands out a file only when it is proven to belong to the program. Opens nothing by
 * itself. Must not know what DWARF says.
 */
#ifndef MEMWHY_SYM_DEBUGFILE_H
#define MEMWHY_SYM_DEBUGFILE_H

#include <limits.h>

#include "sym/elffile.h"

/* Who opens files: whoever reads them may be allowed to open none. */
struct debug_opener {
	/* The regular file at a path below the root of the process, or below ours. */
	int (*open)(void *arg, bool ours, const char *path, int *ret_fd);
	/* Where an open file is, links followed. -ENOENT: not known. */
	int (*where)(void *arg, int fd, char ret[PATH_MAX]);
	/* The debug file of a build-id, from servers; NULL: none are asked. */
	int (*fetch)(void *arg, const u8 *build_id, size_t n, int *ret_fd);
	void *arg;
};

struct debug_search {
	const char *path; /* of the program, as the process sees it */
	bool other_root;  /* the process has another root than we */
	u64 max_bytes;    /* a file larger than this is not checked by its CRC */
	const struct debug_opener *opener;
};

/* The separate debug file of a program. -ENOENT: none found that fits. */
int debugfile_open(
	const struct debug_search *search, const struct elf_file *program, struct elf_file *ret);
/* The file that .gnu_debugaltlink of a debug file names; a relative path begins where the debug
 * file is, or the program. -ENOENT: no link, or nothing found. */
int debugfile_open_alt(
	const struct debug_search *search, const struct elf_file *debug, struct elf_file *ret);

#endif
