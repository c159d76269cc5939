/*
 * Where in the first instructions of a function a uprobe is cheap. At an instruction that the
 * kernel emulates a probe costs one trap; elsewhere the instruction is run out of line with single
 * steps, which takes several times as long. Decodes plain x86-64 instructions only, up to the first
 * branch, and knows at each where the arguments are.
 */
#ifndef MEMWHY_SYM_PROLOGUE_H
#define MEMWHY_SYM_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define PROLOGUE_BYTES 64 /* of a function are looked at */
#define PROLOGUE_ARGUMENTS 3

struct prologue {
	u32 offset;    /* of the probe: bytes behind the function's first one */
	bool emulated; /* false: no such place was found, the offset is 0 */
	bool moved;    /* an argument is no longer in its own register */
	/* The general register, as instructions number them, that holds each argument there: 7, 6
	 * and 2 (rdi, rsi, rdx), unless moved. */
	u8 holds[PROLOGUE_ARGUMENTS];
};

struct prologue_wants {
	u8 arguments;    /* bit n: argument n, from 0, must be in a register at the place */
	bool may_move;   /* in any register; else in its own */
	bool same_stack; /* the stack pointer is what it was at entry, as a return probe needs; else
			  * it may have been lowered */
};

/* code: the first bytes of a function. */
struct prologue prologue_place(const u8 *code, size_t n, const struct prologue_wants *wants);

#endif
