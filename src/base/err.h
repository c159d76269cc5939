/*
 * The reason something failed, for the person who has to fix it. Library code never prints: it
 * fills a struct err and returns the same -errno; the command prints once.
 */
#ifndef MEMWHY_BASE_ERR_H
#define MEMWHY_BASE_ERR_H

#include "base/util.h"

struct err {
	int code;       /* -errno, 0 when nothing failed */
	char msg[512];  /* one line: the cause */
	char hint[256]; /* one line: what to do about it; may be empty */
};

/* Sets the message and returns code, so that callers write `return err_set(err, -ENOENT, …)`.
 * A NULL err only hands the code on. */
int err_set(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);
/* As err_set, and appends ": " and the text of errno -code. */
int err_errno(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);
/* Room for a word of a command in a hint. */
#define HINT_WORD 96
/* `word` as a shell takes it (base/shell.h), or `instead` where that does not fit. Returns ret. */
const char *hint_word(char ret[HINT_WORD], const char *word, const char *instead);
/* Adds the fix to an error already set. Returns err->code. */
int err_hint(struct err *err, const char *fmt, ...) _printf_(2, 3);

#endif
