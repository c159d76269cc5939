/*
 * Helper processes that read files of observed programs and can do nothing else: started before
 * anything is read, without capabilities, with no descriptors but the current file and a socket,
 * and with a seccomp filter (cage/cage.h). Their answers are checked for plausibility: the worst
 * that a file can cause is a wrong table. If one dies or does not answer, its file is skipped and
 * another reader takes the next file. Must not know BPF.
 */
#ifndef MEMWHY_CAPTURE_READER_H
#define MEMWHY_CAPTURE_READER_H

#include <sys/types.h>

#include "cfi/table.h"
#include "sym/elffile.h"

#define READERS 2
#define READER_NEEDS_MAX (64U << 10)
#define READER_FUNCTIONS_MAX 64
#define READER_FUNCTION_NAME 64 /* bytes of one, with its zero byte */
#define READER_SYMBOL_NAME 320  /* of a symbol that somebody gave, likewise */

struct reader;

/* Where the call-frame information of a file is, and what is loaded of the file. */
struct reader_file {
	u64 offset, size, address; /* of .eh_frame: in the file, and loaded */
	u64 code_start, code_end;
	VEC(struct elf_segment) segments;
};

int reader_open(struct reader **ret);
void reader_close(struct reader *r);
/* What is to be done while an answer is waited for, whenever fd is readable. take NULL: nothing. */
void reader_meanwhile(struct reader *r, int fd, void (*take)(void *arg), void *arg);
/* None is left that could be asked. */
bool reader_is_gone(const struct reader *r);
/* Process i, below READERS; 0: it is gone. */
pid_t reader_pid(const struct reader *r, u32 i);

/*
 * fd: of the file, borrowed. As cfi_elf_source() and elf_file_open() fail. -EBADMSG: the process
 * that read it died, took too long, or answered what cannot be; -ESRCH: none is left. After 0 the
 * caller must read or skip the table before asking for anything else; the segments are the
 * caller's.
 */
int reader_look(struct reader *r, int fd, struct reader_file *ret);
/* The table, to be freed with cfi_table_free(). */
int reader_table(struct reader *r, const struct reader_file *file, struct cfi_table **ret);
void reader_skip(struct reader *r);
/* The table of the one function of such a file that an address, as loaded, is in: for files whose
 * whole table is too large. -ENOENT: there is none, or no index to find it by. */
int reader_function_table(struct reader *r, int fd, const struct reader_file *file, u64 address,
	struct cfi_table **ret);
/* Where in a file the functions of these names begin, by a symbol table (SHT_DYNSYM, SHT_SYMTAB);
 * 0: it has none. -ENOENT: there is no such table. ret_static: the file needs no loader. */
int reader_functions(struct reader *r, int fd, u32 type, const char *const *names, u32 n,
	u64 *ret_offsets, bool *ret_static);
/* Where in a file one symbol of either table is. */
struct reader_symbol {
	bool found, stripped; /* stripped: there is no symbol at all */
	u64 offset;
	char near[READER_SYMBOL_NAME]; /* the nearest name, where it was not found; "": none */
};
/* "": only whether it is an ELF file. As reader_look() fails. */
int reader_symbol(struct reader *r, int fd, const char *symbol, struct reader_symbol *ret);
/* The loader and the libraries that a program names, each ending in a zero byte, one after the
 * other: n bytes. */
int reader_needs(struct reader *r, int fd, char ret[READER_NEEDS_MAX], u32 *ret_n);
/* CPU time of all of them, and by what memory they have grown at most, as far as they have told. */
u64 reader_cpu_ns(const struct reader *r);
u64 reader_grown_bytes(const struct reader *r);

/* For tests: a reader whose only process is at the other end of a socket, which it takes. */
int reader_over(int socket, struct reader **ret);

#endif
