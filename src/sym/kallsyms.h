/*
 * The kernel's functions by address, from text in the form of /proc/kallsyms: those of the
 * kernel, of its modules, and of BPF programs ("bpf_prog_…"). Keeps text symbols only, names once
 * each in one block. Must not know of ELF or of processes.
 */
#ifndef MEMWHY_SYM_KALLSYMS_H
#define MEMWHY_SYM_KALLSYMS_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct kallsym {
	u64 address;
	u32 name;   /* offset in names */
	u32 module; /* index + 1 in modules; 0: the kernel itself */
};

struct kallsyms {
	VEC(struct kallsym) list; /* ascending; one for each address */
	struct str names;         /* each with its NUL */
	VEC(u32) modules;         /* offsets in names of "[ext4]" */
	u64 lines_skipped;        /* not of the form of kallsyms */

	/* While reading. */
	struct str partial; /* the line that the last chunk ended in */
	bool overlong;      /* ... has been given up */
	u64 text_lines;
	u32 last_module;
};

struct kallsyms_hit {
	const char *name;   /* the kallsyms' own */
	const char *module; /* "[ext4]"; NULL for the kernel itself */
	u64 offset;
};

/* Reads /proc/kallsyms. -EPERM: the kernel hides addresses from this user; -ENOENT: it has no
 * kallsyms. The hint in err says what to do. On failure k is empty. */
int kallsyms_load(struct kallsyms *k, struct err *err);
int kallsyms_load_fd(struct kallsyms *k, int fd, struct err *err);
/* Reading in pieces, of any size; then the end, which gives the errors above. */
int kallsyms_feed(struct kallsyms *k, const char *text, size_t n);
int kallsyms_finish(struct kallsyms *k, struct err *err);
/* -ENOENT: no function there. */
int kallsyms_find(const struct kallsyms *k, u64 address, struct kallsyms_hit *ret);
void kallsyms_free(struct kallsyms *k);
#define _cleanup_kallsyms_ _cleanup_(kallsyms_free)

#endif
