/* See expression.h. */
#include "cfi/expression.h"

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	REG_SP = 7,
	REG_IP = 16,
};

/* An added constant, in any of the ways to write one. */
static s64 addend_read(struct cfi_bytes *b)
{
	u8 op = cfi_u8(b);
	s64 value = 0;

	if (op == OP_PLUS_UCONST)
		return (s64)cfi_uleb(b);
	if (op >= OP_LIT0 && op <= OP_LIT31)
		value = op - OP_LIT0;
	else if (op == OP_CONST1U)
		value = cfi_u8(b);
	else if (op == OP_CONST1S)
		value = (s64)cfi_sign(cfi_u8(b), 8);
	else
		cfi_fail(b);
	if (cfi_u8(b) != OP_PLUS)
		cfi_fail(b);
	return value;
}

/* Behind `breg7 8`: breg16 0; lit15; and; litN; ge; lit3; shl; plus. */
static void plt_read(struct cfi_bytes b, struct cfi_expression *e)
{
	u8 limit;

	if (cfi_u8(&b) != OP_BREG0 + REG_IP || cfi_sleb(&b) || cfi_u8(&b) != OP_LIT0 + 15 ||
		cfi_u8(&b) != OP_AND)
		return;
	limit = cfi_u8(&b);
	if (limit < OP_LIT0 || limit > OP_LIT0 + 15 || cfi_u8(&b) != OP_GE ||
		cfi_u8(&b) != OP_LIT0 + 3 || cfi_u8(&b) != OP_SHL || cfi_u8(&b) != OP_PLUS)
		return;
	if (!b.bad && !cfi_left(&b)) {
		e->form = CFI_FORM_PLT;
		e->add = limit - OP_LIT0;
	}
}

void cfi_expression_read(struct cfi_bytes *b, struct cfi_expression *ret)
{
	struct cfi_bytes block = cfi_take(b, cfi_uleb(b));
	struct cfi_expression e = {};
	u8 op = cfi_u8(&block);

	*ret = e;
	if (op < OP_BREG0 || op > OP_BREG31)
		return;
	e.reg = op - OP_BREG0;
	e.offset = cfi_sleb(&block);
	if (block.bad)
		return;
	if (!cfi_left(&block)) {
		e.form = CFI_FORM_REGISTER;
	} else if (*block.at == OP_DEREF) {
		cfi_u8(&block);
		if (cfi_left(&block))
			e.add = addend_read(&block);
		if (!block.bad && !cfi_left(&block))
			e.form = CFI_FORM_DEREF;
	} else if (e.reg == REG_SP && e.offset == 8) {
		plt_read(block, &e);
	}
	*ret = e;
}
