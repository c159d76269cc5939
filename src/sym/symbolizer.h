/*
 * Addresses to names: what other folders use. Capture first turns addresses into (module, offset)
 * with process_map.h, which is cheap; names are asked for here, at the end, and each answer is
 * remembered. Owns the read symbol tables and debug information, the kernel's symbols, and all
 * strings it hands out (until symbolizer_close()).
 */
#ifndef MEMWHY_SYM_SYMBOLIZER_H
#define MEMWHY_SYM_SYMBOLIZER_H

#include "base/err.h"
#include "sym/names_budget.h"
#include "sym/debugfile.h"
#include "sym/debuginfod.h"
#include "sym/module.h"

/* Where a name comes from: what it is worth. */
enum sym_source {
	SYM_NONE,    /* nothing known: only the module and the offset in it */
	SYM_DYNAMIC, /* exported functions only; others have no name */
	SYM_TABLE,   /* full symbol table: names, but no lines and no inlined calls */
	SYM_DWARF,   /* debug information */
	SYM_KERNEL,  /* kallsyms */
};

struct sym_options {
	bool dwarf;                 /* lines and inlined calls, where there is debug information */
	struct sym_budget *budget;  /* of the session; NULL: one of its own, with the limits: */
	u64 max_debug_bytes;        /* symbol tables and debug sections held; 0: the default */
	u64 max_debug_ns;           /* time in them, in all; 0: the default */
	struct debuginfod *servers; /* asked for debug files that are not here; NULL: none */
};

enum sym_flags {
	/* The address is one to return to: what is asked for is the call before it. So it is for
	 * all frames of a stack except the innermost one. */
	SYM_RETURN_ADDRESS = 1 << 0,
};

struct sym_frame {
	const char *function; /* readable; NULL: not known */
	const char *module;   /* path of the file, "[vdso]", "[kernel]", "[ext4]" … */
	const char *file;     /* of the source; NULL: not known */
	u64 offset;           /* in the function; without one, in the module; 0 if inlined */
	u32 line;             /* 0: not known */
	bool inlined;         /* into the frame that follows */
	enum sym_source source;
};

struct sym_frames {
	const struct sym_frame *v; /* innermost first; the last one is not inlined */
	size_t n;                  /* at least 1 */
};

/* What is known of a module's names, for notes in reports. */
struct sym_module_info {
	enum sym_source source; /* the best it has */
	int error;              /* why the file could not be read, as -errno (-ESTALE: replaced) */
	int debug_error;        /* why debug information was left aside: -EFBIG: over budget;
				 * -ETIMEDOUT: took too much time or memory; -ENOENT:
				 * there is none */
	u8 build_id[BUILD_ID_MAX];
	u8 build_id_len; /* 0: none */
};

/* A module that somebody else has opened. */
struct sym_file {
	enum module_kind kind;
	const char *path;
	int fd;          /* borrowed; -1: none, or see error */
	int error;       /* why it could not be opened, as -errno */
	bool other_root; /* its process has another root than we */
	const struct debug_opener *opener;
};

struct symbolizer;

/* opts NULL: all defaults, with DWARF. The table is borrowed and must live longer; NULL: modules
 * are those of symbolizer_give(). */
int symbolizer_open(
	const struct sym_options *opts, struct module_table *modules, struct symbolizer **ret);
void symbolizer_close(struct symbolizer *s);

/* Reads a module, if it was not yet, or had no time to be, under a number of the caller's. info: of
 * it; *ret_left_out: it was left out, in part or in whole, for the first time. -ENOMEM. */
int symbolizer_give(struct symbolizer *s, u32 module, const struct sym_file *file,
	struct sym_module_info *ret, bool *ret_left_out);

/* What runs at an offset of a module; flags of enum sym_flags. Always gives a frame, if only with
 * the module's name. -ENOENT for an id the table does not know, -ENOMEM. */
int symbolizer_resolve_user(
	struct symbolizer *s, u32 module, u64 offset, unsigned int flags, struct sym_frames *ret);
/* The same in the kernel, loading its symbols at the first use; without them (see
 * symbolizer_load_kernel) the frame has no name. */
int symbolizer_resolve_kernel(
	struct symbolizer *s, u64 address, unsigned int flags, struct sym_frames *ret);
/* Loads the kernel's symbols, again if they are loaded: modules and BPF programs come and go, so
 * do it while those of interest are there. Errors of kallsyms_load(). */
int symbolizer_load_kernel(struct symbolizer *s, struct err *err);
/* Reads the module, if it was not yet. -ENOENT for an unknown id. */
int symbolizer_module_info(struct symbolizer *s, u32 module, struct sym_module_info *ret);
/* Gives back what was read of the module; asked for again, it is read again. */
void symbolizer_forget(struct symbolizer *s, u32 module);
void symbolizer_forget_all(struct symbolizer *s);
/* Gives back what was read of the modules that were given longest ago, so long at least, until the
 * budget's bytes that are taken are no more than so many. The one given last stays in any case: it
 * is likely to be asked for again. */
void symbolizer_keep(struct symbolizer *s, u64 bytes, u64 for_ns);
/* Gives back what was answered: all frames and strings that were handed out are gone. */
void symbolizer_forget_answers(struct symbolizer *s);
/* True while no time is left: no module is read meanwhile. It comes back (see budget.h). */
bool symbolizer_exhausted(const struct symbolizer *s);
/* Why the kernel's symbols are not there; NULL: they are, or none was asked for. */
const struct err *symbolizer_kernel_error(const struct symbolizer *s);

static inline void symbolizer_closep(struct symbolizer **s)
{
	symbolizer_close(*s);
}
#define _cleanup_symbolizer_ _cleanup_(symbolizer_closep)

#endif
