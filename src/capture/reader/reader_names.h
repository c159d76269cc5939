/*
 * Names of code from a reader (reader.h): from symbols, debug information, tables of Go programs
 * and perf-PID.map files. Answers are texts and numbers within bounds; the worst that a file can
 * cause is wrong names. Debug files are opened here, because the reader may open none: it gets a
 * descriptor of the file it names if that is a regular file that starts like an ELF file.
 */
#ifndef MEMWHY_CAPTURE_READER_NAMES_H
#define MEMWHY_CAPTURE_READER_NAMES_H

#include "capture/reader/reader.h"
#include "sym/symbolizer.h"

#define READER_PLACES_MAX 4096UL /* of an ask */

struct reader_place {
	u64 offset; /* of a perf-PID.map: address */
	u32 flags;  /* enum sym_flags */
	u32 unused;
};

struct reader_module {
	u32 id;
	enum module_kind kind; /* MODULE_FILE, MODULE_VDSO; MODULE_ANON: a perf-PID.map */
	const char *path;
	int fd;      /* borrowed; -1: none */
	int root_fd; /* of the process, or ROOT_OURS */
};

struct reader_names_how {
	bool lines;   /* of all asks of a reader the same */
	bool last;    /* nothing more will be asked of the module */
	bool sparing; /* little is to be kept between two asks, for more work */
	struct debuginfod *servers;
	u64 bytes_max, bytes_others; /* see sym/names_budget.h */
	u64 ns_max;                  /* of work */
	/* Called in the order of places, for those that have a name. */
	int (*named)(void *arg, u32 place, const struct sym_frames *frames);
	void *arg;
};

struct reader_names_ret {
	int error;       /* of a perf-PID.map: why it was not read */
	int debug_error; /* why it was left out, as in sym_module_info; 0: told before */
	u64 bytes_held;  /* by the reader, for this and other modules */
	u32 build_id_len;
	u8 build_id[BUILD_ID_MAX];
};

/* As reader_look() fails, or as named() did. */
int reader_names(struct reader *r, const struct reader_module *module,
	const struct reader_place *places, u32 n, const struct reader_names_how *how,
	struct reader_names_ret *ret);

#endif
