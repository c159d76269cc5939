/*
 * Names of code, as a reader finds them: what goes over its socket for that (reader_names.h is what
 * others see of it), and how it is done in its process. Opens no file: of debug files it asks for
 * them, by path or build-id.
 */
#ifndef MEMWHY_CAPTURE_READER_NAMES_WORK_H
#define MEMWHY_CAPTURE_READER_NAMES_WORK_H

#include "capture/reader/reader_names.h"
#include "capture/reader/reader_work.h"

#define NAMES_TEXT_MAX (32U << 10) /* a longer one is left out */
#define NAMES_BLOCK_MAX \
	(8U << 20)         /* that of a frame with the most calls in it, all of the longest */
#define NAMES_OPENS_MAX 64 /* of a module: a few are tried */

/* Behind the ask, with the descriptor; then the two paths, with a zero byte each, and the places.
 */
struct names_ask {
	u32 module, kind; /* enum module_kind; MODULE_ANON: a perf-PID.map */
	u32 n;            /* places */
	u32 path, where;  /* bytes */
	bool other_root, lines, servers, last, sparing;
	u64 bytes_max, bytes_others;
};

enum names_says { NAMES_OPEN, NAMES_OPEN_OURS, NAMES_FETCH, NAMES_BLOCK, NAMES_DONE };

/* What the reader says: bytes follow, a path with its zero byte, a build-id, some frames, or
 * struct names_done. */
struct names_says_head {
	u32 what, bytes;
};

/* What it is given for a path or build-id, with the descriptor: where the file is follows. */
struct names_given {
	s32 rc;
	u32 where; /* bytes, with a zero byte; 0: not known */
};

/* A frame: its lines follow, the texts behind each, with a zero byte. */
struct names_frame {
	u32 place, n;
};

struct names_line {
	u64 offset;
	u32 line;
	u32 function, file; /* bytes; 0: not known */
	u32 unused;
};

struct names_done {
	s32 rc, debug_error;
	u64 bytes_held;
	struct reader_spent spent;
	u32 build_id_len;
	u8 build_id[BUILD_ID_MAX];
	u32 unused;
};

/* statm: of the process itself. */
void names_work_begin(int statm);
/* Answers one ask. */
void names_work(int fd);

#endif
