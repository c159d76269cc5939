/*
 * The whole stack of a thread, from its registers and a way to read its stack: frame by frame, by
 * the rules of the code it is in, and by frame pointers where there are none. Says why it ended;
 * what it is not sure of is no frame.
 */
#ifndef MEMWHY_CFI_WALK_H
#define MEMWHY_CFI_WALK_H

#include "base/util.h"
#include "cfi/step.h"

/* What is known of an address of code. */
struct cfi_place {
	u32 module;
	/* Where to look for its name in the module, as map_hit: of the call, not behind it. */
	u64 offset;
	const struct cfi_rule *rule; /* NULL: none; good until the next place is asked for */
	bool made;                   /* at run time: it is no file's */
};

/* How it is found. 0; CFI_STOP_NO_CODE; -errno ends the walk and is its result. */
struct cfi_code {
	int (*find)(void *ctx, u64 ip, struct cfi_place *ret);
	void *ctx;
};

struct cfi_frame {
	u64 ip;
	struct cfi_place at; /* without the rule */
	bool exact;          /* ip is the next instruction, not a return address */
	bool guessed;        /* found by frame pointer, without call-frame information */
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

/* frames: room for max of them, innermost first. -errno: of find. */
int cfi_walk(const struct cfi_code *code, const struct cfi_thread *thread, struct cfi_frame *frames,
	size_t max, struct cfi_walk *ret);

/* Part of a stack, copied. */
struct cfi_stack {
	u64 start;
	const u8 *bytes;
	size_t n;
};

/* A cfi_read_fn; ctx: struct cfi_stack. */
int cfi_stack_read(void *ctx, u64 address, u64 *ret);
/* cfi_walk() of a thread of which these were copied: registers by their numbers in DWARF, and n
 * bytes of its stack from where it pointed. */
int cfi_walk_copy(const struct cfi_code *code, const u64 registers[16], u64 ip, const u8 *bytes,
	size_t n, struct cfi_frame *frames, size_t max, struct cfi_walk *ret);

#endif
