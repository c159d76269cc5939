/* See program.h. */
#include "cfi/program.h"

#include "cfi/expression.h"
#include "cfi/op.h"

/* Beside enum cfi_saved. */
enum {
	PLACE_UNDEFINED = CFI_LOST + 1,
	PLACE_REGISTER, /* in the one of number `at` */
};

/* NULL: a register that nobody asks for. */
static struct cfi_place *cfi_program_place_of(struct cfi_state *s, u64 reg)
{
	switch (reg) {
	case CFI_REG_BX:
		return &s->bx;
	case CFI_REG_BP:
		return &s->bp;
	case CFI_REG_SP:
		return &s->sp;
	case CFI_REG_IP:
		return &s->ip;
	}
	return 0;
}

static void place_set(struct cfi_state *s, u64 reg, u8 how, s64 at)
{
	struct cfi_place *place = cfi_program_place_of(s, reg);

	if (!place)
		return;
	place->how = at == (s32)at ? how : CFI_LOST;
	place->at = at == (s32)at ? (s32)at : 0;
}

static void place_set_factored(struct cfi_program *p, u64 reg, s64 factored, s8 sign)
{
	s64 at;

	if (__builtin_mul_overflow(factored, p->cie->data_align, &at) ||
		__builtin_mul_overflow(at, (s64)sign, &at))
		place_set(&p->now, reg, CFI_LOST, 0);
	else
		place_set(&p->now, reg, CFI_AT_CFA, at);
}

/* Saved at an address by expression: relative to bp or sp. */
static void place_set_expression(struct cfi_program *p)
{
	u64 reg = cfi_uleb(&p->bytes);
	struct cfi_expression e;

	cfi_expression_read(&p->bytes, &e);
	if (e.form == CFI_FORM_REGISTER && e.reg == CFI_REG_SP)
		place_set(&p->now, reg, CFI_AT_SP, e.offset);
	else if (e.form == CFI_FORM_REGISTER && e.reg == CFI_REG_BP)
		place_set(&p->now, reg, CFI_AT_BP, e.offset);
	else
		place_set(&p->now, reg, CFI_LOST, 0);
}

/* The value is computed, not loaded: of sp the CFA is what is expected. */
static void place_set_value(struct cfi_program *p, u64 reg, s64 factored)
{
	if (reg != CFI_REG_SP || factored)
		place_set(&p->now, reg, CFI_LOST, 0);
}

static void place_restore(struct cfi_program *p, u64 reg)
{
	struct cfi_place *to = cfi_program_place_of(&p->now, reg),
			 *from = cfi_program_place_of(&p->initial, reg);

	if (to)
		*to = *from;
}

static void cfa_set(struct cfi_program *p, u64 reg, s64 offset)
{
	p->now.form = CFI_FORM_REGISTER;
	p->now.reg = reg < 0xff ? (u8)reg : 0xff;
	p->now.offset = offset;
}

static void cfa_set_factored(struct cfi_program *p, u64 reg, s64 factored)
{
	s64 offset;

	if (__builtin_mul_overflow(factored, p->cie->data_align, &offset))
		offset = 1LL << 62; /* out of range of every rule */
	cfa_set(p, reg, offset);
}

static void cfa_set_expression(struct cfi_program *p)
{
	struct cfi_expression e;

	cfi_expression_read(&p->bytes, &e);
	p->now.form = e.form;
	p->now.reg = e.reg;
	p->now.offset = e.offset;
	p->now.add = e.add;
}

static void program_fail(struct cfi_program *p, enum cfi_why why)
{
	p->now.why = why + 1;
	p->bytes.at = p->bytes.end;
}

static void remember(struct cfi_program *p)
{
	if (p->n_remembered == CFI_REMEMBERED_MAX)
		program_fail(p, CFI_WHY_NESTING);
	else
		p->remembered[p->n_remembered++] = p->now;
}

static void restore_state(struct cfi_program *p)
{
	if (!p->n_remembered)
		program_fail(p, CFI_WHY_NESTING);
	else
		p->now = p->remembered[--p->n_remembered];
}

/* What says where registers are. */
static void run_place(struct cfi_program *p, u8 op)
{
	struct cfi_bytes *b = &p->bytes;
	u64 reg;

	switch (op) {
	case CFI_OP_EXPRESSION:
		place_set_expression(p);
		return;
	case CFI_OP_VAL_EXPRESSION:
		reg = cfi_uleb(b);
		cfi_skip(b, cfi_uleb(b));
		place_set(&p->now, reg, CFI_LOST, 0);
		return;
	}
	reg = cfi_uleb(b);
	switch (op) {
	case CFI_OP_OFFSET_EXTENDED:
		place_set_factored(p, reg, (s64)cfi_uleb(b), 1);
		break;
	case CFI_OP_OFFSET_EXTENDED_SF:
		place_set_factored(p, reg, cfi_sleb(b), 1);
		break;
	case CFI_OP_GNU_NEGATIVE_OFFSET:
		place_set_factored(p, reg, (s64)cfi_uleb(b), -1);
		break;
	case CFI_OP_RESTORE_EXTENDED:
		place_restore(p, reg);
		break;
	case CFI_OP_UNDEFINED:
		place_set(&p->now, reg, PLACE_UNDEFINED, 0);
		break;
	case CFI_OP_SAME_VALUE:
		place_set(&p->now, reg, CFI_SAME, 0);
		break;
	case CFI_OP_REGISTER:
		place_set(&p->now, reg, PLACE_REGISTER, (s64)cfi_uleb(b));
		break;
	case CFI_OP_VAL_OFFSET:
	case CFI_OP_VAL_OFFSET_SF:
		place_set_value(p, reg, cfi_sleb(b));
		break;
	}
}

/* What says how to find the CFA, and the rest. */
static void run_other(struct cfi_program *p, u8 op)
{
	struct cfi_bytes *b = &p->bytes;
	u64 reg;

	switch (op) {
	case CFI_OP_NOP:
		break;
	case CFI_OP_REMEMBER:
		remember(p);
		break;
	case CFI_OP_RESTORE_STATE:
		restore_state(p);
		break;
	case CFI_OP_DEF_CFA:
		reg = cfi_uleb(b);
		cfa_set(p, reg, (s64)cfi_uleb(b));
		break;
	case CFI_OP_DEF_CFA_SF:
		reg = cfi_uleb(b);
		cfa_set_factored(p, reg, cfi_sleb(b));
		break;
	case CFI_OP_DEF_CFA_REGISTER:
		cfa_set(p, cfi_uleb(b), p->now.offset);
		break;
	case CFI_OP_DEF_CFA_OFFSET:
		cfa_set(p, p->now.reg, (s64)cfi_uleb(b));
		break;
	case CFI_OP_DEF_CFA_OFFSET_SF:
		cfa_set_factored(p, p->now.reg, cfi_sleb(b));
		break;
	case CFI_OP_DEF_CFA_EXPRESSION:
		cfa_set_expression(p);
		break;
	case CFI_OP_GNU_ARGS_SIZE:
		cfi_uleb(b);
		break;
	default:
		program_fail(p, CFI_WHY_INSTRUCTION);
	}
}

/* How far an instruction advances; 0 for one that does not, which is run. */
static u64 run_one(struct cfi_program *p)
{
	struct cfi_bytes *b = &p->bytes;
	u8 op = cfi_u8(b);
	u64 to;

	switch (op & 0xc0) {
	case CFI_OP_ADVANCE:
		return (op & 0x3f) * p->cie->code_align;
	case CFI_OP_OFFSET:
		place_set_factored(p, op & 0x3f, (s64)cfi_uleb(b), 1);
		return 0;
	case CFI_OP_RESTORE:
		place_restore(p, op & 0x3f);
		return 0;
	}
	switch (op) {
	case CFI_OP_ADVANCE1:
		return cfi_u8(b) * p->cie->code_align;
	case CFI_OP_ADVANCE2:
		return cfi_uint(b, 2) * p->cie->code_align;
	case CFI_OP_ADVANCE4:
		return cfi_uint(b, 4) * p->cie->code_align;
	case CFI_OP_SET_LOC:
		to = cfi_pointer(b, p->section, p->cie->pointers, 0);
		if (to < p->pc)
			program_fail(p, CFI_WHY_INSTRUCTION);
		return to < p->pc ? 0 : to - p->pc;
	case CFI_OP_OFFSET_EXTENDED ... CFI_OP_REGISTER:
	case CFI_OP_EXPRESSION:
	case CFI_OP_OFFSET_EXTENDED_SF:
	case CFI_OP_VAL_OFFSET ... CFI_OP_VAL_EXPRESSION:
	case CFI_OP_GNU_NEGATIVE_OFFSET:
		run_place(p, op);
		return 0;
	}
	run_other(p, op);
	return 0;
}

/* Up to the next advance; how far it goes, or 0 at the end. */
static u64 cfi_program_run(struct cfi_program *p)
{
	while (cfi_left(&p->bytes)) {
		u64 by = run_one(p);

		if (p->bytes.bad) {
			program_fail(p, CFI_WHY_INSTRUCTION);
			return 0;
		}
		if (by)
			return by;
	}
	return 0;
}

void cfi_state_init(
	const struct cfi_section *section, const struct cfi_cie *cie, struct cfi_state *ret)
{
	struct cfi_program p = {.section = section, .cie = cie, .bytes = cie->instructions};

	while (cfi_program_run(&p))
		;
	*ret = p.now;
}

void cfi_program_start(struct cfi_program *p, const struct cfi_section *section,
	const struct cfi_cie *cie, const struct cfi_state *initial, const struct cfi_fde *fde)
{
	p->section = section;
	p->cie = cie;
	p->bytes = fde->instructions;
	p->now = *initial;
	p->initial = *initial;
	p->n_remembered = 0;
	p->pc = fde->start;
	p->end = fde->end;
}

static struct cfi_rule rule_unsupported(enum cfi_why why)
{
	return (struct cfi_rule){.kind = CFI_UNSUPPORTED, .arg = (s8)why};
}

/* Where the kernel saved sp, relative to sp; the others in the order of struct sigcontext. */
static struct cfi_rule rule_signal(const struct cfi_state *s)
{
	s32 at = (s32)s->offset;

	if (s->form != CFI_FORM_DEREF || s->reg != CFI_REG_SP || s->add || s->offset != at ||
		at < 40 || s->ip.how != CFI_AT_SP || s->ip.at - 8 != at || s->bp.how != CFI_AT_SP ||
		s->bp.at + 40 != at || s->bx.how != CFI_AT_SP || s->bx.at + 32 != at ||
		s->sp.how != CFI_AT_SP || s->sp.at != at)
		return rule_unsupported(CFI_WHY_SIGNAL);
	return (struct cfi_rule){.kind = CFI_SIGNAL, .cfa = at};
}

/* CFI_KINDS: there is none. */
static u8 cfi_program_kind_of(const struct cfi_state *s)
{
	if (s->form == CFI_FORM_PLT)
		return CFI_PLT;
	if (s->form == CFI_FORM_OTHER)
		return CFI_KINDS;
	switch (s->reg) {
	case CFI_REG_SP:
		return s->form == CFI_FORM_DEREF ? CFI_SP_DEREF : CFI_SP;
	case CFI_REG_BP:
		return s->form == CFI_FORM_DEREF ? CFI_BP_DEREF : CFI_BP;
	case CFI_REG_BX:
		return s->form == CFI_FORM_DEREF ? CFI_KINDS : CFI_BX;
	}
	return s->form == CFI_FORM_REGISTER && s->reg < CFI_REG_IP ? CFI_OTHER : CFI_KINDS;
}

static void rule_set_place(const struct cfi_place *place, u8 *how, s32 *at)
{
	*how = place->how < CFI_LOST ? place->how : CFI_LOST;
	*at = *how == CFI_SAME || *how == CFI_LOST ? 0 : place->at;
}

u8 cfi_state_plain(const struct cfi_state *s, const struct cfi_cie *cie, struct cfi_words *ret)
{
	u8 bp = s->bp.how < CFI_LOST ? s->bp.how : CFI_LOST;
	u8 bx = s->bx.how < CFI_LOST ? s->bx.how : CFI_LOST;
	u64 bp_at = bp == CFI_SAME || bp == CFI_LOST ? 0 : (u32)s->bp.at;
	u64 bx_at = bx == CFI_SAME || bx == CFI_LOST ? 0 : (u32)s->bx.at;
	u8 kind = s->reg == CFI_REG_SP ? CFI_SP : CFI_BP;

	if (s->why || cie->signal || s->form != CFI_FORM_REGISTER ||
		(s->reg != CFI_REG_SP && s->reg != CFI_REG_BP) || s->ip.how != CFI_AT_CFA ||
		s->ip.at != -8 || s->sp.how != CFI_SAME || s->offset != (s32)s->offset)
		return 0;
	ret->head = kind | (u64)bp << 8 | (u64)bx << 16 | (u64)s->offset << 32;
	ret->at = bp_at | bx_at << 32;
	return 1;
}

static u8 is_in_register(const struct cfi_place *place)
{
	return place->how == PLACE_REGISTER && place->at > 0 && place->at < CFI_REG_IP;
}

static struct cfi_rule rule_return(const struct cfi_state *s)
{
	struct cfi_rule rule = rule_unsupported(CFI_WHY_RETURN);

	if (is_in_register(&s->ip) && is_in_register(&s->sp) && is_in_register(&s->bp))
		rule.cfa = CFI_JUMP(s->ip.at, s->sp.at, s->bp.at);
	return rule;
}

static struct cfi_rule rule_of(const struct cfi_state *s, const struct cfi_cie *cie)
{
	struct cfi_rule rule = {.kind = cfi_program_kind_of(s)};

	if (s->why)
		return rule_unsupported(s->why - 1);
	if (s->ip.how == PLACE_UNDEFINED)
		return (struct cfi_rule){.kind = CFI_END};
	if (cie->signal)
		return rule_signal(s);
	if (rule.kind == CFI_KINDS)
		return rule_unsupported(
			s->form == CFI_FORM_REGISTER ? CFI_WHY_REGISTER : CFI_WHY_EXPRESSION);
	if (s->ip.how == PLACE_REGISTER && rule.kind == CFI_SP && s->ip.at >= 0 &&
		s->ip.at < CFI_REG_IP)
		rule.kind = CFI_RETURN_IN;
	else if (s->ip.how != CFI_AT_CFA || s->ip.at != -8)
		return rule_return(s);
	if (s->sp.how != CFI_SAME)
		return rule_unsupported(CFI_WHY_RETURN);
	if (s->form == CFI_FORM_REGISTER || s->form == CFI_FORM_DEREF) {
		rule.cfa = (s32)s->offset;
		if (rule.cfa != s->offset)
			return rule_unsupported(CFI_WHY_RANGE);
	}
	if (s->form == CFI_FORM_DEREF || s->form == CFI_FORM_PLT) {
		rule.arg = (s8)s->add;
		if (rule.arg != s->add)
			return rule_unsupported(CFI_WHY_RANGE);
	}
	if (rule.kind == CFI_OTHER || rule.kind == CFI_RETURN_IN)
		rule.arg = (s8)(rule.kind == CFI_OTHER ? s->reg : s->ip.at);
	rule_set_place(&s->bp, &rule.bp, &rule.bp_at);
	rule_set_place(&s->bx, &rule.bx, &rule.bx_at);
	return rule;
}

u8 cfi_program_next(struct cfi_program *p, struct cfi_row *ret)
{
	u64 by;

	if (p->pc >= p->end)
		return 0;
	by = cfi_program_run(p);
	ret->start = p->pc;
	ret->end = by && by < p->end - p->pc ? p->pc + by : p->end;
	ret->rule = rule_of(&p->now, p->cie);
	p->pc = ret->end;
	return 1;
}
