/*
 * Where in the first instructions of a function a uprobe is cheap. At an instruction that the
 * kernel emulates a probe costs one trap; elsewhere the instruction is run out of line with single
 * steps, which takes several times as long. Decodes plain x86-64 instructions only, and goes on
 * behind one only where the arguments are the same afterwards.
 */
#ifndef MEMWHY_SYM_PROLOGUE_H
#define MEMWHY_SYM_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct prologue {
	u32 offset;    /* of the probe: bytes behind the function's first one */
	bool emulated; /* false: no such place was found, the offset is 0 */
};

/*
 * code: the first bytes of a function. The first three arguments are still in their registers at
 * the place. same_stack: the stack pointer must be what it was at entry, as a return probe needs;
 * else it may have been lowered.
 */
struct prologue prologue_place(const u8 *code, size_t n, bool same_stack);

#endif
