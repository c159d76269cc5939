/*
 * The whole stack of a thread, from its registers and a way to read its stack: frame by frame, by
 * the tables of the modules its code is in, and by frame pointers where there are none. Says why it
 * ended; what it is not sure of is no frame.
 */
#ifndef MEMWHY_CFI_WALK_H
#define MEMWHY_CFI_WALK_H

#include "cfi/step.h"
#include "cfi/tables.h"
#include "sym/process_map.h"

struct cfi_frame {
	u64 ip;
	u32 module;
	/* Where to look for its name in the module, as map_hit: of the call, not behind it. */
	u64 offset;
	bool exact;   /* ip is the next instruction, not a return address */
	bool guessed; /* found by frame pointer, without call-frame information */
};

struct cfi_walk {
	size_t n; /* frames */
	enum cfi_stop stop;
	u32 guessed; /* frames that were */
};

/* A thread, as it stopped. */
struct cfi_thread {
	struct cfi_regs regs; /* other and context are not looked at */
	const u64 *registers; /* all 16, by their numbers in DWARF; NULL: not known */
	cfi_read_fn read;     /* of its stack, at any address that the stack gives */
	void *ctx;
};

/* frames: room for max of them, innermost first. -ENOMEM. */
int cfi_walk(struct cfi_tables *tables, const struct process_map *map,
	const struct cfi_thread *thread, struct cfi_frame *frames, size_t max,
	struct cfi_walk *ret);

/* Part of a stack, copied. */
struct cfi_stack {
	u64 start;
	const u8 *bytes;
	size_t n;
};

/* A cfi_read_fn; ctx: struct cfi_stack. */
int cfi_stack_read(void *ctx, u64 address, u64 *ret);

#endif
