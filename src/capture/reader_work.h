/* What goes over the socket of a reader (reader.h), and the process at its end. */
#ifndef MEMWHY_CAPTURE_READER_WORK_H
#define MEMWHY_CAPTURE_READER_WORK_H

#include "base/types.h"
#include "cfi/table.h"

enum reader_what { READER_LOOK, READER_NEEDS };

/* Comes with the descriptor of the file. */
struct reader_ask {
	u32 what;
};

/* Behind it: segments, or the names of what is needed. */
struct reader_answer {
	s32 rc;
	u32 n; /* segments, or bytes */
	u64 offset, size, address;
	u64 code_start, code_end;
};

/* One byte is sent after a look: is the table wanted? Then this, rules, pcs, numbers of rules. */
struct reader_table_answer {
	s32 rc;
	u32 n_rules, n_rows;
	u64 base;
	u64 cpu_ns; /* of the process, so far */
	struct cfi_counts counts;
};

/* In a process of its own: answers until the socket is closed, and ends. */
_Noreturn void reader_work(int socket);

#endif
