/*
 * How to get from a frame to its caller's: the rule for one stretch of code, and the search for it
 * in a sorted table. Made from call-frame information (.eh_frame) by the rest of this room, used by
 * unwinders in user space, in a preloaded library without libc, and in BPF: fixed-width integers
 * only, no calls, bounded loops. x86-64 only.
 *
 * CFA is the canonical frame address: the stack pointer before the call. The return address is at
 * CFA - 8, but for CFI_SIGNAL and CFI_RETURN_IN.
 */
#ifndef MEMWHY_CFI_RULE_H
#define MEMWHY_CFI_RULE_H

#include "base/types.h"

/* Numbers of registers in DWARF (System V ABI for x86-64, figure 3.36). */
enum {
	CFI_REG_BX = 3,
	CFI_REG_BP = 6,
	CFI_REG_SP = 7,
	CFI_REG_IP = 16,
};

enum cfi_kind {
	CFI_NONE,        /* no call-frame information for this code */
	CFI_UNSUPPORTED, /* there is, in a form that has no rule here; arg: enum cfi_why */
	CFI_END,         /* the outermost frame: it has no caller */
	CFI_SP,          /* CFA = sp + cfa */
	CFI_BP,          /* CFA = bp + cfa */
	CFI_BX,          /* CFA = bx + cfa */
	CFI_SP_DEREF,    /* CFA = *(sp + cfa) + arg */
	CFI_BP_DEREF,    /* CFA = *(bp + cfa) + arg */
	CFI_PLT,         /* CFA = sp + 8, and 8 more where (ip & 15) >= arg */
	CFI_SIGNAL,      /* the kernel's signal frame: it saved sp at sp + cfa */
	/* Another register, by its DWARF number; its value is known only where code was
	 * interrupted. */
	CFI_OTHER,     /* CFA = register arg + cfa (stacks being aligned, code written by hand) */
	CFI_RETURN_IN, /* CFA = sp + cfa, the return address is in register arg (vfork) */
	CFI_KINDS,
};

/* Where the caller's bp or bx is. */
enum cfi_saved {
	CFI_SAME,   /* still in the register */
	CFI_AT_CFA, /* at CFA + the offset */
	CFI_AT_SP,  /* at sp + the offset */
	CFI_AT_BP,  /* at bp + the offset */
	CFI_LOST,   /* nowhere, or where no rule here can say */
};

/* Why call-frame information has no rule here. */
enum cfi_why {
	CFI_WHY_REGISTER,    /* CFA is relative to a register that nobody has */
	CFI_WHY_EXPRESSION,  /* CFA or return address by another expression */
	CFI_WHY_RETURN,      /* the return address is not at CFA - 8; cfa: CFI_JUMP, or 0 */
	CFI_WHY_RANGE,       /* an offset of 2 GiB and more */
	CFI_WHY_INSTRUCTION, /* an unknown instruction, or a cut one */
	CFI_WHY_SIGNAL,      /* a signal frame of another form */
	CFI_WHY_NESTING,     /* more states remembered than anybody needs, or one too few */
	CFI_WHY_RULES,       /* more different rules in one file than have numbers */
	CFI_WHYS,
};

/* Where the caller's ip, sp and bp are in registers (longjmp): their numbers, for a walk that knows
 * all registers. Others, and earlier versions, find no rule. Never 0, as sp is not in ax. */
#define CFI_JUMP(ip, sp, bp) ((ip) | (sp) << 4 | (bp) << 8)

struct cfi_rule {
	u8 kind; /* enum cfi_kind */
	u8 bp;   /* enum cfi_saved */
	u8 bx;
	s8 arg;
	s32 cfa;
	s32 bp_at;
	s32 bx_at;
};

/* A rule as two words, little-endian: kind, bp, bx, arg, cfa; bp_at, bx_at. */
struct cfi_words {
	u64 head, at;
};

/*
 * A sorted table: row i is for code from pc[i] to below pc[i + 1], relative to the start of the
 * table's code, and its rule is rules[rule_of[i]]. Six bytes a row, since the search touches the
 * first array only, and files have few different rules. rules[0] is CFI_NONE.
 */
struct cfi_rows {
	const u32 *pc;
	const u16 *rule_of;
	const struct cfi_rule *rules;
	u32 n;
};

#define CFI_NO_ROW (~0U)

#define cfi_inline static inline __attribute__((always_inline, unused))

/* pc of row i. */
typedef u32 (*cfi_pc_fn)(const void *ctx, u32 i);

/* The last of n rows (sorted) that does not begin behind pc; CFI_NO_ROW: there is none. The caller
 * gives a function that the compiler can see, so that no call is left. */
cfi_inline u32 cfi_search(cfi_pc_fn pc_at, const void *ctx, u32 n, u32 pc)
{
	u32 lo = 0, hi = n;

	for (u32 step = 0; step < 32 && lo < hi; step++) {
		u32 mid = lo + ((hi - lo) >> 1);

		if (pc_at(ctx, mid) <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

cfi_inline u32 cfi_rows_pc(const void *rows, u32 i)
{
	return ((const struct cfi_rows *)rows)->pc[i];
}

/* The rule for code at pc; NULL: before the first row. */
cfi_inline const struct cfi_rule *cfi_rows_find(const struct cfi_rows *rows, u32 pc)
{
	u32 row = cfi_search(cfi_rows_pc, rows, rows->n, pc);

	return row == CFI_NO_ROW ? 0 : &rows->rules[rows->rule_of[row]];
}

#endif
