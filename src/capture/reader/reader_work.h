/* What goes over the socket of a reader (reader.h), and the process at its end. */
#ifndef MEMWHY_CAPTURE_READER_WORK_H
#define MEMWHY_CAPTURE_READER_WORK_H

#include "base/types.h"
#include "capture/reader/reader.h"
#include "cfi/table.h"

#define READER_MEMORY_MAX (2ULL << 30)

enum reader_what {
	READER_LOOK,
	READER_NEEDS,
	READER_NAMES, /* see reader_names_work.h */
	READER_VARIABLES,
	READER_FUNCTIONS,
	READER_SYMBOL,
	READER_FUNCTION_TABLE,
};

/* Comes with the descriptor of the file, where there is one. */
struct reader_ask {
	u32 what;
};

/* By the process, so far. */
struct reader_spent {
	u64 cpu_ns, grown_bytes;
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
	struct reader_spent spent;
	struct cfi_counts counts;
};

/* Comes behind the ask for the table of one function, which is answered with a table. */
struct reader_function_ask {
	u64 address; /* as loaded */
};

/* Comes behind the ask for variables. */
struct reader_variables_ask {
	u64 min_bytes;
	u32 type, unused;
};

/* Comes behind the ask for functions. */
struct reader_functions_ask {
	u32 type, n;
	char names[READER_FUNCTIONS_MAX][READER_FUNCTION_NAME];
};

struct reader_functions_answer {
	s32 rc;
	u32 is_static;
	u64 offsets[READER_FUNCTIONS_MAX];
};

/* Comes behind the ask for a symbol. */
struct reader_symbol_ask {
	char name[READER_SYMBOL_NAME];
};

struct reader_symbol_answer {
	s32 rc;
	u32 found, stripped, unused;
	u64 offset;
	char near[READER_SYMBOL_NAME];
};

/* Behind it: segments, variables, their names. */
struct reader_variables_answer {
	s32 rc;
	u32 segments, n, names; /* of names: bytes */
	s32 tls_error, word_error;
	u64 tls_bytes, tls_below;
	u64 word_address, word_offset;
	struct reader_spent spent;
};

struct reader_variable {
	u64 address, size;
	u32 name; /* where it begins among the names */
	u32 bss;
};

/* In a process of its own: answers until the socket is closed, and ends. */
_Noreturn void reader_work(int socket);

/* For what the process does, in files of its own. Where the other end is gone they end it. */
void work_write(const void *from, size_t n);
void work_read(void *to, size_t n);
/* Some bytes with which a descriptor may come; -1: none did. False: it is over. */
bool work_take(void *to, size_t n, int *ret_fd);
struct reader_spent work_spent(void);

#endif
