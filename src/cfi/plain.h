/*
 * The instructions of an FDE where they are what compilers write for nearly all functions: a frame
 * relative to sp or bp (cfi_state_plain), registers saved relative to it. The state is the rule
 * then, and running them is a few operations on its two words. All else is odd: it is for
 * program.h, which says of what is plain the same.
 */
#ifndef MEMWHY_CFI_PLAIN_H
#define MEMWHY_CFI_PLAIN_H

#include "cfi/op.h"
#include "cfi/program.h"

/* As compilers for x86-64 have them; a CIE with others is odd. */
#define CFI_PLAIN_CODE_ALIGN 1
#define CFI_PLAIN_DATA_ALIGN (-8)

struct cfi_plain {
	struct cfi_words now, initial;
	struct cfi_words remembered[CFI_REMEMBERED_MAX];
	u32 n_remembered;
	const u8 *at, *end;
	u8 odd;
};

/* Which words hold how a register is saved, and at which offset. */
struct cfi_plain_place {
	u32 how_shift, at_shift;
};
#define CFI_PLAIN_BP ((struct cfi_plain_place){8, 0})
#define CFI_PLAIN_BX ((struct cfi_plain_place){16, 32})

/* A uleb of at most two bytes. */
cfi_inline u64 cfi_plain_number(struct cfi_plain *p)
{
	u8 low = p->at < p->end ? *p->at++ : 0xff, high;

	if (low < 0x80)
		return low;
	high = p->at < p->end ? *p->at++ : 0xff;
	p->odd |= high >= 0x80;
	return (low & 0x7f) | (u64)high << 7;
}

cfi_inline void cfi_plain_put(struct cfi_plain *p, struct cfi_plain_place place, u64 how, u64 at)
{
	u64 how_mask = 0xffULL << place.how_shift, at_mask = 0xffffffffULL << place.at_shift;

	p->now.head = (p->now.head & ~how_mask) | how << place.how_shift;
	p->now.at = (p->now.at & ~at_mask) | (at & 0xffffffff) << place.at_shift;
}

cfi_inline void cfi_plain_save(struct cfi_plain *p, u64 reg)
{
	u64 at = cfi_plain_number(p) * (u64)CFI_PLAIN_DATA_ALIGN;

	if (reg == CFI_REG_BP)
		cfi_plain_put(p, CFI_PLAIN_BP, CFI_AT_CFA, at);
	else if (reg == CFI_REG_BX)
		cfi_plain_put(p, CFI_PLAIN_BX, CFI_AT_CFA, at);
	else
		p->odd |= reg == CFI_REG_SP || reg == CFI_REG_IP;
}

cfi_inline void cfi_plain_restore(struct cfi_plain *p, u64 reg)
{
	const struct cfi_words *from = &p->initial;

	if (reg == CFI_REG_BP)
		cfi_plain_put(p, CFI_PLAIN_BP, from->head >> 8 & 0xff, from->at);
	else if (reg == CFI_REG_BX)
		cfi_plain_put(p, CFI_PLAIN_BX, from->head >> 16 & 0xff, from->at >> 32);
}

cfi_inline void cfi_plain_frame(struct cfi_plain *p, u64 reg)
{
	p->odd |= reg != CFI_REG_SP && reg != CFI_REG_BP;
	p->now.head = (p->now.head & ~0xffULL) | (reg == CFI_REG_SP ? CFI_SP : CFI_BP);
}

cfi_inline void cfi_plain_offset(struct cfi_plain *p, u64 offset)
{
	p->now.head = (u32)p->now.head | offset << 32;
}

/* All but the most frequent ones. */
cfi_inline void cfi_plain_other(struct cfi_plain *p, u8 op)
{
	switch (op) {
	case CFI_OP_NOP:
		return;
	case CFI_OP_DEF_CFA:
		cfi_plain_frame(p, cfi_plain_number(p));
		cfi_plain_offset(p, cfi_plain_number(p));
		return;
	case CFI_OP_DEF_CFA_REGISTER:
		cfi_plain_frame(p, cfi_plain_number(p));
		return;
	case CFI_OP_REMEMBER:
		if (p->n_remembered < CFI_REMEMBERED_MAX)
			p->remembered[p->n_remembered++] = p->now;
		else
			p->odd = 1;
		return;
	case CFI_OP_RESTORE_STATE:
		if (p->n_remembered)
			p->now = p->remembered[--p->n_remembered];
		else
			p->odd = 1;
		return;
	}
	p->odd = 1;
}

/* How far an advance of n bytes goes. */
cfi_inline u64 cfi_plain_advance(struct cfi_plain *p, u32 n)
{
	u64 by = 0;

	if ((u64)(p->end - p->at) < n) {
		p->odd = 1;
		return 0;
	}
	for (u32 i = 0; i < n; i++)
		by |= (u64)p->at[i] << 8 * i;
	p->at += n;
	return by;
}

/* From here to there. Entries are padded with nops, which are left away; should the operand of the
 * last instruction end so, it is cut, and odd. */
cfi_inline void cfi_plain_start(struct cfi_plain *p, const u8 *at, u64 size)
{
	u64 last;

	p->n_remembered = p->odd = 0;
	p->at = at;
	p->end = at + size;
	if (size < sizeof(last))
		return;
	__builtin_memcpy(&last, p->end - sizeof(last), sizeof(last));
	p->end -= last ? __builtin_clzll(last) / 8 : (int)sizeof(last);
}

/* Those of no operand in their first byte: how far it advances, 0 for all others. */
cfi_inline u64 cfi_plain_extended(struct cfi_plain *p, u8 op)
{
	switch (op) {
	case CFI_OP_DEF_CFA_OFFSET:
		cfi_plain_offset(p, cfi_plain_number(p));
		return 0;
	case CFI_OP_ADVANCE1:
		return cfi_plain_advance(p, 1);
	case CFI_OP_ADVANCE2:
		return cfi_plain_advance(p, 2);
	}
	cfi_plain_other(p, op);
	return 0;
}

/* Up to the next advance: how far it goes; 0 at the end. Means nothing where it was odd. */
cfi_inline u64 cfi_plain_next(struct cfi_plain *p)
{
	while (p->at < p->end) {
		u8 op = *p->at++;
		u64 by = 0;

		if ((op & 0xc0) == CFI_OP_ADVANCE)
			by = op & 0x3f;
		else if ((op & 0xc0) == CFI_OP_OFFSET)
			cfi_plain_save(p, op & 0x3f);
		else if ((op & 0xc0) == CFI_OP_RESTORE)
			cfi_plain_restore(p, op & 0x3f);
		else
			by = cfi_plain_extended(p, op);
		if (by)
			return by;
	}
	return 0;
}

#endif
