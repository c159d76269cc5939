/*
 * The variables of a program's file, from a reader (reader.h): their addresses and names, and where
 * a thread's thread-local ones start.
 */
#ifndef MEMWHY_CAPTURE_READER_VARIABLES_H
#define MEMWHY_CAPTURE_READER_VARIABLES_H

#include "capture/reader/reader.h"
#include "sym/elftls.h"
#include "sym/elfvars.h"

#define READER_VARIABLES_MAX 16384U

struct reader_variables {
	struct elf_file file;           /* its segments, no more */
	struct elf_variables variables; /* the largest first */
	struct elf_tls tls;
	int tls_error;
	u64 word_address, word_offset; /* see elf_tls_word() */
	int word_error;
};

/* type and min_bytes as of elf_variables_read(); the largest of them. fd: borrowed. Fails as
 * reader_look() does, or as elf_file_open(); without variables there are none. */
int reader_variables(
	struct reader *r, int fd, u32 type, u64 min_bytes, struct reader_variables *ret);
void reader_variables_free(struct reader_variables *v);
#define _cleanup_reader_variables_ _cleanup_(reader_variables_free)

#endif
