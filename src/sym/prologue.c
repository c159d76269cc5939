/* See prologue.h. */
#include "sym/prologue.h"

#include "base/util.h"

#define NO_REGISTER 255
#define RAX 0
#define RDX 2
#define RSP 4
#define RSI 6
#define RDI 7

static const u8 own_register[PROLOGUE_ARGUMENTS] = {RDI, RSI, RDX};

/* One instruction. */
struct insn {
	u32 length;
	u8 writes;     /* general register that it changes */
	u8 copies;     /* register whose 64 bits `writes` has afterwards */
	bool products; /* it changes rax and rdx */
	bool plain;    /* goes on with the next one, and is understood */
	bool emulated; /* by uprobes of every kernel from 5.10 on */
	bool lowers;   /* the stack pointer, by a constant */
};

struct bytes {
	const u8 *p;
	size_t n, at;
	bool short_of; /* of bytes */
};

static u8 next(struct bytes *b)
{
	if (b->at < b->n)
		return b->p[b->at++];
	b->short_of = true;
	return 0;
}

static void skip(struct bytes *b, size_t n)
{
	if (b->n - b->at < n)
		b->short_of = true;
	else
		b->at += n;
}

struct modrm {
	u8 mod, reg, rm;
};

static struct modrm modrm_take(struct bytes *b, u8 rex)
{
	u8 byte = next(b);
	struct modrm m = {byte >> 6, (u8)((byte >> 3 & 7) | (rex & 4) << 1), byte & 7};
	u8 base = m.rm;

	if (m.mod != 3 && m.rm == 4)
		base = next(b) & 7; /* the SIB byte */
	if (m.mod == 1)
		skip(b, 1);
	else if (m.mod == 2 || (!m.mod && base == 5))
		skip(b, 4);
	m.rm |= (u8)((rex & 1) << 3);
	return m;
}

static u8 of_rm(struct modrm m)
{
	return m.mod == 3 ? m.rm : NO_REGISTER;
}

/* Registers 4 to 7 of a byte instruction without REX are ah to bh. */
static u8 byte_register(u8 reg, bool is_byte, u8 rex)
{
	return is_byte && !rex && reg >= 4 && reg < 8 ? reg - 4 : reg;
}

/* 0f xx */
static void two_bytes(struct bytes *b, u8 rex, bool word, bool rep, struct insn *ret)
{
	u8 op = next(b);
	struct modrm m;

	if (op >= 0x80 && op <= 0x8f) { /* jcc */
		skip(b, 4);
		ret->emulated = !word;
		return;
	}
	if (op != 0x1e && op != 0x1f && (op & 0xf0) != 0x40 && (op & 0xf0) != 0x90 && op != 0xaf &&
		(op & 0xf6) != 0xb6 && op != 0x57 && op != 0xef && op != 0x10 && op != 0x11 &&
		op != 0x28 && op != 0x29)
		return;
	m = modrm_take(b, rex);
	ret->plain = true;
	if ((op & 0xf0) == 0x90) /* setcc */
		ret->writes = byte_register(of_rm(m), true, rex);
	else if ((op & 0xf0) == 0x40 || op == 0xaf || (op & 0xf6) == 0xb6) /* cmov, imul, movx */
		ret->writes = m.reg;
	else if (op == 0x1e) /* endbr64, and hints that are nops; rdssp writes */
		ret->plain = rep && m.mod == 3 && m.reg == 7 && m.rm == 2;
}

/* add, or, adc, sbb, and, sub, xor, cmp: opcodes 00 to 3d */
static void arithmetic(struct bytes *b, u8 op, u8 rex, bool word, struct insn *ret)
{
	bool is_byte = !(op & 1), compares = op >> 3 == 7;
	struct modrm m;
	u8 dest;

	ret->plain = true;
	if ((op & 7) >= 4) {
		skip(b, is_byte ? 1 : word ? 2 : 4);
		dest = 0;
	} else {
		m = modrm_take(b, rex);
		dest = byte_register(op & 2 ? m.reg : of_rm(m), is_byte, rex);
	}
	ret->writes = compares ? NO_REGISTER : dest;
}

/* 80, 81, 83: the same with an immediate */
static void immediate(struct bytes *b, u8 op, u8 rex, bool word, struct insn *ret)
{
	struct modrm m = modrm_take(b, rex);
	size_t at = b->at;

	skip(b, op != 0x81 ? 1 : word ? 2 : 4);
	ret->plain = !b->short_of;
	ret->writes = (m.reg & 7) == 7 ? NO_REGISTER : byte_register(of_rm(m), op == 0x80, rex);
	if (!ret->plain || ret->writes != RSP || (m.reg & 7) != 5 || op == 0x80 || word ||
		!(rex & 8))
		return;
	/* sub rsp, immediate, which is signed */
	ret->lowers = b->p[op == 0x83 ? at : at + 3] < 128;
	if (ret->lowers)
		ret->writes = NO_REGISTER;
}

/* f6, f7: test, not, neg, mul, imul (div may trap) */
static void unary(struct bytes *b, u8 op, u8 rex, bool word, struct insn *ret)
{
	struct modrm m = modrm_take(b, rex);
	u8 what = m.reg & 7;

	if (what < 2)
		skip(b, op == 0xf6 ? 1 : word ? 2 : 4);
	else if (what < 4)
		ret->writes = byte_register(of_rm(m), op == 0xf6, rex);
	else
		ret->products = true;
	ret->plain = what < 6;
}

static void one_byte(struct bytes *b, u8 op, u8 rex, bool word, struct insn *ret)
{
	struct modrm m;

	if (op < 0x40 && (op & 7) < 6) {
		arithmetic(b, op, rex, word, ret);
	} else if (op >= 0x50 && op <= 0x57) { /* push */
		ret->emulated = !word && (!rex || rex == 0x41);
	} else if ((op >= 0x70 && op <= 0x7f) || op == 0xeb) { /* jcc, jmp */
		skip(b, 1);
		ret->emulated = !word;
	} else if (op == 0xe8 || op == 0xe9) { /* call, jmp */
		skip(b, 4);
		ret->emulated = !word;
	} else if (op == 0x90 && !(rex & 1)) {
		ret->plain = true;
		ret->emulated = !word && !rex;
	} else if (op == 0x80 || op == 0x81 || op == 0x83) {
		immediate(b, op, rex, word, ret);
	} else if (op == 0x84 || op == 0x85) { /* test */
		modrm_take(b, rex);
		ret->plain = true;
	} else if (op >= 0x88 && op <= 0x8b) { /* mov */
		m = modrm_take(b, rex);
		ret->writes = byte_register(op & 2 ? m.reg : of_rm(m), !(op & 1), rex);
		if (op & 1 && rex & 8)
			ret->copies = op & 2 ? of_rm(m) : m.reg;
		ret->plain = true;
	} else if (op == 0x63 || op == 0x8d) { /* movsxd, lea */
		m = modrm_take(b, rex);
		ret->writes = m.reg;
		ret->plain = true;
	} else if (op == 0xa8 || op == 0xa9) { /* test of al, eax */
		skip(b, op == 0xa8 ? 1 : word ? 2 : 4);
		ret->plain = true;
	} else if (op >= 0xb0 && op <= 0xbf) { /* mov of an immediate */
		skip(b, op < 0xb8 ? 1 : rex & 8 ? 8 : word ? 2 : 4);
		ret->writes = byte_register((u8)((op & 7) | (rex & 1) << 3), op < 0xb8, rex);
		ret->plain = true;
	} else if ((op & 0xfe) == 0xc0 || (op & 0xfc) == 0xd0 || (op & 0xfe) == 0xc6) {
		/* shifts; mov of an immediate */
		m = modrm_take(b, rex);
		skip(b, (op & 0xfe) == 0xc0 || op == 0xc6 ? 1 : op != 0xc7 ? 0 : word ? 2 : 4);
		ret->writes = byte_register(of_rm(m), !(op & 1), rex);
		ret->plain = op < 0xc6 || op > 0xc7 || !(m.reg & 7);
	} else if (op == 0xf6 || op == 0xf7) {
		unary(b, op, rex, word, ret);
	}
}

static struct insn insn_decode(const u8 *p, size_t n)
{
	struct insn ret = {.writes = NO_REGISTER, .copies = NO_REGISTER};
	struct bytes b = {.p = p, .n = n};
	bool word = false, rep = false;
	u8 op, rex = 0;

	for (op = next(&b); op == 0x66 || op == 0xf3 || op == 0x64 || op == 0x2e; op = next(&b)) {
		word |= op == 0x66;
		rep |= op == 0xf3;
	}
	if ((op & 0xf0) == 0x40) {
		rex = op;
		op = next(&b);
	}
	if (op == 0x0f)
		two_bytes(&b, rex, word, rep, &ret);
	else if (!rep)
		one_byte(&b, op, rex, word, &ret);
	ret.length = (u32)b.at;
	if (b.short_of)
		ret.plain = ret.emulated = false;
	return ret;
}

/* For each argument the registers that have its value. */
struct held {
	u16 in[PROLOGUE_ARGUMENTS];
};

static void held_follow(struct held *h, const struct insn *i)
{
	for (size_t k = 0; k < PROLOGUE_ARGUMENTS; k++) {
		bool copied = i->copies != NO_REGISTER && h->in[k] >> i->copies & 1;

		if (i->products)
			h->in[k] &= (u16) ~(1U << RAX | 1U << RDX);
		if (i->writes == NO_REGISTER)
			continue;
		h->in[k] &= (u16) ~(1U << i->writes);
		h->in[k] |= (u16)((u32)copied << i->writes);
	}
}

/* Are the wanted ones at hand? */
static bool held_suffice(const struct held *h, const struct prologue_wants *w)
{
	for (size_t k = 0; k < PROLOGUE_ARGUMENTS; k++) {
		u16 fit = w->may_move ? h->in[k] : h->in[k] & (u16)(1U << own_register[k]);

		if (w->arguments >> k & 1 && !fit)
			return false;
	}
	return true;
}

static void held_tell(const struct held *h, const struct prologue_wants *w, struct prologue *ret)
{
	for (size_t k = 0; k < PROLOGUE_ARGUMENTS; k++) {
		ret->holds[k] = own_register[k];
		if (!(w->arguments >> k & 1) || h->in[k] >> own_register[k] & 1)
			continue;
		ret->holds[k] = (u8)__builtin_ctz(h->in[k]);
		ret->moved = true;
	}
}

struct prologue prologue_place(const u8 *code, size_t n, const struct prologue_wants *wants)
{
	struct held held = {{1U << RDI, 1U << RSI, 1U << RDX}};
	struct prologue entry = {.holds = {RDI, RSI, RDX}}, at = entry;

	n = MIN(n, (size_t)PROLOGUE_BYTES);
	while (at.offset < n) {
		struct insn i = insn_decode(code + at.offset, n - at.offset);

		if (i.emulated) {
			at.emulated = true;
			held_tell(&held, wants, &at);
			return at;
		}
		if (!i.plain || i.writes == RSP || (i.lowers && wants->same_stack))
			break;
		held_follow(&held, &i);
		if (!held_suffice(&held, wants))
			break;
		at.offset += i.length;
	}
	return entry;
}
