/*
 * One step of unwinding: from the registers of a frame and its rule to the registers of its
 * caller. As rule.h, for user space, a library without libc and BPF.
 */
#ifndef MEMWHY_CFI_STEP_H
#define MEMWHY_CFI_STEP_H

#include "cfi/rule.h"

/* What is known of a frame. */
struct cfi_regs {
	u64 ip;
	u64 sp;
	u64 bp;
	u64 bx;
	u64 other;   /* the register that a rule of kind CFI_OTHER or CFI_RETURN_IN is about */
	u64 context; /* where the kernel saved this frame's registers (the sp) for a signal; 0 */
	/* ip is the next instruction to run, not the one behind a call: of the innermost frame, and
	 * of one that a signal interrupted. */
	u8 exact;
	u8 lost; /* CFI_LOST_… */
};

#define CFI_LOST_BP 1
#define CFI_LOST_BX 2
#define CFI_LOST_OTHER 4

/* Why a walk ended, or 0. */
enum cfi_stop {
	CFI_STEPPED,
	CFI_STOP_END,         /* the outermost frame: the stack is complete */
	CFI_STOP_NO_RULE,     /* code without call-frame information, and without frame pointers */
	CFI_STOP_UNSUPPORTED, /* call-frame information of an unsupported form */
	CFI_STOP_LOST,        /* the rule needs a register whose value is not known any more */
	CFI_STOP_MEMORY,      /* the stack could not be read there, or was not copied so far */
	CFI_STOP_ASTRAY,      /* the caller's frame would be below its callee's, or misaligned */
	CFI_STOP_NO_CODE,     /* the return address is not in any code */
	CFI_STOP_DEPTH,       /* as many frames as were asked for */
	CFI_STOPS,
};

/* Reads 8 bytes of the stack; 0: done. */
typedef int (*cfi_read_fn)(void *ctx, u64 address, u64 *ret);

/* The address to look up: a call may be the last instruction of its function. */
cfi_inline u64 cfi_lookup_ip(const struct cfi_regs *regs)
{
	return regs->exact ? regs->ip : regs->ip - 1;
}

cfi_inline int cfi_cfa(const struct cfi_rule *rule, const struct cfi_regs *regs, cfi_read_fn read,
	void *ctx, u64 *ret)
{
	u64 from_sp = regs->sp + (u64)(s64)rule->cfa, from_bp = regs->bp + (u64)(s64)rule->cfa;
	u8 kind = rule->kind;

	if (kind == CFI_SP) {
		*ret = from_sp;
	} else if (kind == CFI_BP || kind == CFI_BP_DEREF) {
		if (regs->lost & CFI_LOST_BP)
			return CFI_STOP_LOST;
		*ret = from_bp;
	} else if (kind == CFI_BX) {
		if (regs->lost & CFI_LOST_BX)
			return CFI_STOP_LOST;
		*ret = regs->bx + (u64)(s64)rule->cfa;
	} else if (kind == CFI_OTHER) {
		if (regs->lost & CFI_LOST_OTHER)
			return CFI_STOP_LOST;
		*ret = regs->other + (u64)(s64)rule->cfa;
	} else if (kind == CFI_PLT) {
		*ret = regs->sp + ((regs->ip & 15) >= (u64)rule->arg ? 16 : 8);
	} else if (kind == CFI_SP_DEREF) {
		*ret = from_sp;
	} else if (kind == CFI_RETURN_IN) {
		*ret = from_sp;
		if (regs->lost & CFI_LOST_OTHER)
			return CFI_STOP_LOST;
		return from_sp >= regs->sp && !(from_sp & 7) ? CFI_STEPPED : CFI_STOP_ASTRAY;
	} else if (kind == CFI_END) {
		return CFI_STOP_END;
	} else {
		return kind == CFI_NONE ? CFI_STOP_NO_RULE : CFI_STOP_UNSUPPORTED;
	}
	if (kind == CFI_SP_DEREF || kind == CFI_BP_DEREF) {
		if (read(ctx, *ret, ret))
			return CFI_STOP_MEMORY;
		*ret += (u64)(s64)rule->arg;
	}
	return *ret > regs->sp && !(*ret & 7) ? CFI_STEPPED : CFI_STOP_ASTRAY;
}

/* The caller's bp or bx. What cannot be read is lost: it may never be needed. */
cfi_inline void cfi_restore(const struct cfi_regs *old, u64 cfa, u8 how, s32 at, u8 bit,
	cfi_read_fn read, void *ctx, u64 *reg, u8 *lost)
{
	u64 address;

	if (how == CFI_SAME)
		return;
	*lost &= (u8)~bit;
	if (how == CFI_AT_CFA)
		address = cfa;
	else if (how == CFI_AT_SP)
		address = old->sp;
	else
		address = old->bp;
	if (how == CFI_LOST || (how == CFI_AT_BP && old->lost & CFI_LOST_BP) ||
		read(ctx, address + (u64)(s64)at, reg))
		*lost |= bit;
}

/* The kernel's struct sigcontext has r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip in a row
 * (asm/sigcontext.h). */
cfi_inline int cfi_step_signal(
	const struct cfi_rule *rule, struct cfi_regs *regs, cfi_read_fn read, void *ctx)
{
	u64 at = regs->sp + (u64)(s64)rule->cfa;
	struct cfi_regs old = {.context = at, .exact = 1, .lost = CFI_LOST_OTHER};

	if (read(ctx, at, &old.sp) || read(ctx, at + 8, &old.ip) || read(ctx, at - 40, &old.bp) ||
		read(ctx, at - 32, &old.bx))
		return CFI_STOP_MEMORY;
	*regs = old;
	return CFI_STEPPED;
}

/* Where a register is, relative to sp, when a signal interrupted: by its number in DWARF. */
cfi_inline s32 cfi_context_offset(u8 reg)
{
	/* ax, dx, cx, bx, si, di, bp, sp: words before sp, four bits each from the lowest on. */
	const u32 low = 0x05764132;

	return reg < 8 ? -8 * (s32)((low >> 4 * reg) & 15) : -120 + 8 * (reg - 8);
}

/* Gets what a rule needs of the registers that the kernel saved for a signal. Before a step, where
 * regs->context is set. */
cfi_inline void cfi_other_from_context(
	const struct cfi_rule *rule, struct cfi_regs *regs, cfi_read_fn read, void *ctx)
{
	u64 at = regs->context + (u64)(s64)cfi_context_offset((u8)rule->arg & 15);

	if ((rule->kind == CFI_OTHER || rule->kind == CFI_RETURN_IN) &&
		!read(ctx, at, &regs->other))
		regs->lost &= (u8)~CFI_LOST_OTHER;
}

/* On any other return than CFI_STEPPED regs are as they were. */
cfi_inline int cfi_step(
	const struct cfi_rule *rule, struct cfi_regs *regs, cfi_read_fn read, void *ctx)
{
	struct cfi_regs caller = *regs;
	int stop;

	if (rule->kind == CFI_SIGNAL)
		return cfi_step_signal(rule, regs, read, ctx);
	stop = cfi_cfa(rule, regs, read, ctx, &caller.sp);
	if (stop)
		return stop;
	if (rule->kind == CFI_RETURN_IN)
		caller.ip = regs->other;
	else if (read(ctx, caller.sp - 8, &caller.ip))
		return CFI_STOP_MEMORY;
	if (!caller.ip)
		return CFI_STOP_END;
	cfi_restore(regs, caller.sp, rule->bp, rule->bp_at, CFI_LOST_BP, read, ctx, &caller.bp,
		&caller.lost);
	cfi_restore(regs, caller.sp, rule->bx, rule->bx_at, CFI_LOST_BX, read, ctx, &caller.bx,
		&caller.lost);
	caller.exact = 0;
	caller.context = 0;
	caller.lost |= CFI_LOST_OTHER;
	*regs = caller;
	return CFI_STEPPED;
}

/* Without a rule: as if the code kept a frame pointer. Compilers of programs at run time do, and
 * programs start with a bp of 0. A callee's 0 says that; in code that was interrupted it may be any
 * 0. */
cfi_inline int cfi_step_frame_pointer(struct cfi_regs *regs, cfi_read_fn read, void *ctx)
{
	struct cfi_regs caller = {.sp = regs->bp + 16, .lost = CFI_LOST_BX | CFI_LOST_OTHER};

	if (regs->lost & CFI_LOST_BP)
		return CFI_STOP_LOST;
	if (!regs->bp && !regs->exact)
		return CFI_STOP_END;
	if (regs->bp & 7 || regs->bp < regs->sp || caller.sp < 16)
		return CFI_STOP_NO_RULE;
	if (read(ctx, regs->bp, &caller.bp) || read(ctx, regs->bp + 8, &caller.ip))
		return CFI_STOP_MEMORY;
	if (!caller.ip)
		return CFI_STOP_END;
	*regs = caller;
	return CFI_STEPPED;
}

#endif
