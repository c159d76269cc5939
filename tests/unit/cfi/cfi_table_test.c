/*
 * Tables made of .eh_frame that was written for the purpose, by the byte: each form of rule, what
 * has none and why, and all that a hostile file may hold. That real files are understood is held
 * by cfi_oracle_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cfi_code.h"

#include "base/str.h"
#include "cfi/program.h"
#include "cfi/step.h"
#include "cfi/table.h"

#define CODE 0x400000ULL
#define CODE_SIZE 0x10000ULL
#define SECTION 0x480000ULL

/* A section as it is written. */
struct section {
	struct str bytes;
	size_t cie;
};

static void put(struct section *s, const void *data, size_t n)
{
	str_addn(&s->bytes, data, n);
}

static void put_int(struct section *s, u64 value, u32 n)
{
	put(s, &value, n); /* little-endian, as this machine */
}

static void entry_end(struct section *s, size_t at)
{
	u32 length;

	while (s->bytes.len % 4)
		put_int(s, 0, 1); /* nop */
	length = (u32)(s->bytes.len - at - 4);
	memcpy(s->bytes.buf + at, &length, 4);
}

/* With the augmentation's letters and data, and instructions. */
static void put_cie_as(struct section *s, const char *letters, const void *data, size_t n_data,
	const void *code, size_t n)
{
	size_t at = s->bytes.len;

	s->cie = at;
	put_int(s, 0, 4);
	put_int(s, 0, 4);
	put_int(s, 1, 1); /* version */
	put(s, letters, strlen(letters) + 1);
	put_int(s, 1, 1);    /* code alignment */
	put_int(s, 0x78, 1); /* data alignment: -8 */
	put_int(s, 16, 1);   /* return address */
	if (letters[0] == 'z')
		put_int(s, n_data, 1);
	put(s, data, n_data);
	put(s, code, n);
	entry_end(s, at);
}

/* As compilers begin: CFA = sp + 8, return address at CFA - 8. Addresses are 4 bytes, relative. */
static void put_cie(struct section *s)
{
	put_cie_as(s, "zR", "\x1b", 1, "\x0c\x07\x08\x90\x01", 5);
}

static void put_fde_at(
	struct section *s, size_t cie, u64 start, u64 n_code, const void *code, size_t n)
{
	size_t at = s->bytes.len;

	put_int(s, 0, 4);
	put_int(s, at + 4 - cie, 4);
	put_int(s, start - (SECTION + at + 8), 4);
	put_int(s, n_code, 4);
	put_int(s, 0, 1); /* no augmentation data */
	put(s, code, n);
	entry_end(s, at);
}

static void put_fde(struct section *s, u64 start, u64 n_code, const void *code, size_t n)
{
	put_fde_at(s, s->cie, start, n_code, code, n);
}

#define CODE_OF(bytes) bytes, sizeof(bytes) - 1

static struct cfi_source source_of(const void *bytes, size_t n)
{
	return (struct cfi_source){
		.eh_frame = {.data = bytes, .size = n, .address = SECTION},
		.code_start = CODE,
		.code_end = CODE + CODE_SIZE,
	};
}

static struct cfi_table *compile_bytes(const void *bytes, size_t n)
{
	struct cfi_source source = source_of(bytes, n);
	struct cfi_table *table;

	assert_int_equal(cfi_table_compile(&source, &table), 0);
	return table;
}

static struct cfi_table *compile(struct section *s)
{
	struct cfi_table *table = compile_bytes(s->bytes.buf, s->bytes.len);

	str_free(&s->bytes);
	return table;
}

static u32 refused(const struct cfi_table *table)
{
	u32 n = 0;

	for (int i = 0; i < CFI_REFUSALS; i++)
		n += table->counts.refused[i];
	return n;
}

/* The rule of one function that begins with the instructions. */
static struct cfi_rule rule_after(const void *code, size_t n)
{
	struct section s = {};
	struct cfi_table *table;
	struct cfi_rule rule;

	put_cie(&s);
	put_fde(&s, CODE, 64, code, n);
	table = compile(&s);
	assert_int_equal(refused(table), 0);
	rule = *cfi_table_find(table, CODE);
	cfi_table_free(table);
	return rule;
}

#define RULE(bytes) rule_after(CODE_OF(bytes))

static void assert_rule(struct cfi_rule got, struct cfi_rule want)
{
	assert_int_equal(got.kind, want.kind);
	assert_int_equal(got.cfa, want.cfa);
	assert_int_equal(got.arg, want.arg);
	assert_int_equal(got.bp, want.bp);
	assert_int_equal(got.bp_at, want.bp_at);
	assert_int_equal(got.bx, want.bx);
	assert_int_equal(got.bx_at, want.bx_at);
}

static void assert_why(struct cfi_rule rule, enum cfi_why why)
{
	assert_int_equal(rule.kind, CFI_UNSUPPORTED);
	assert_int_equal(rule.arg, why);
}

static void forms(void **state)
{
	(void)state;
	assert_rule(RULE(""), (struct cfi_rule){.kind = CFI_SP, .cfa = 8});
	assert_rule(RULE("\x0e\x10\x86\x02"), /* push %rbp */
		(struct cfi_rule){.kind = CFI_SP, .cfa = 16, .bp = CFI_AT_CFA, .bp_at = -16});
	assert_rule(RULE("\x0e\x10\x86\x02\x0d\x06\x83\x03"), /* mov %rsp,%rbp; push %rbx */
		(struct cfi_rule){.kind = CFI_BP,
			.cfa = 16,
			.bp = CFI_AT_CFA,
			.bp_at = -16,
			.bx = CFI_AT_CFA,
			.bx_at = -24});
	assert_rule(RULE("\x86\x02\xc6"), (struct cfi_rule){.kind = CFI_SP, .cfa = 8});
	assert_rule(RULE("\x0c\x03\x20"), (struct cfi_rule){.kind = CFI_BX, .cfa = 32});
	assert_rule(RULE("\x07\x06"), (struct cfi_rule){.kind = CFI_SP, .cfa = 8, .bp = CFI_LOST});
	assert_rule(
		RULE("\x09\x06\x01"), (struct cfi_rule){.kind = CFI_SP, .cfa = 8, .bp = CFI_LOST});
	assert_rule(RULE("\x07\x10"), (struct cfi_rule){.kind = CFI_END});
	/* A stack aligned anew: CFA = *(rbp - 8), rbp at rbp + 0. */
	assert_rule(RULE("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"),
		(struct cfi_rule){.kind = CFI_BP_DEREF, .cfa = -8, .bp = CFI_AT_BP});
	/* Kept by hand: CFA = *(rsp + 128) + 8. */
	assert_rule(RULE("\x0f\x06\x77\x80\x01\x06\x23\x08"),
		(struct cfi_rule){.kind = CFI_SP_DEREF, .cfa = 128, .arg = 8});
	assert_rule(RULE("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"),
		(struct cfi_rule){.kind = CFI_PLT, .arg = 11});
	assert_rule(RULE("\x0c\x0a\x00"), (struct cfi_rule){.kind = CFI_OTHER, .arg = 10});
	assert_rule(
		RULE("\x09\x10\x05\x0e\x00"), (struct cfi_rule){.kind = CFI_RETURN_IN, .arg = 5});
	/* Factored and signed forms of the same. */
	assert_rule(RULE("\x12\x07\x7e"), (struct cfi_rule){.kind = CFI_SP, .cfa = 16});
	assert_rule(RULE("\x13\x7d\x11\x06\x03"),
		(struct cfi_rule){.kind = CFI_SP, .cfa = 24, .bp = CFI_AT_CFA, .bp_at = -24});
	assert_rule(RULE("\x05\x06\x02\x2e\x10"),
		(struct cfi_rule){.kind = CFI_SP, .cfa = 8, .bp = CFI_AT_CFA, .bp_at = -16});
	assert_rule(RULE("\x2f\x06\x02"),
		(struct cfi_rule){.kind = CFI_SP, .cfa = 8, .bp = CFI_AT_CFA, .bp_at = 16});
}

static void unsupported_forms(void **state)
{
	(void)state;
	assert_why(RULE("\x0c\x10\x00"), CFI_WHY_REGISTER);       /* rip */
	assert_why(RULE("\x0c\xff\x7f\x00"), CFI_WHY_REGISTER);   /* r16383 */
	assert_why(RULE("\x0f\x01\x30"), CFI_WHY_EXPRESSION);     /* lit0 */
	assert_why(RULE("\x0f\x00"), CFI_WHY_EXPRESSION);         /* nothing */
	assert_why(RULE("\x0f\x02\x77\x80"), CFI_WHY_EXPRESSION); /* a cut operand */
	assert_why(RULE("\x09\x10\x11"), CFI_WHY_RETURN);         /* in xmm0 */
	assert_why(RULE("\x90\x02"), CFI_WHY_RETURN);             /* at CFA - 16 */
	assert_why(RULE("\x08\x10"), CFI_WHY_RETURN);             /* in rip: never called */
	/* As glibc's longjmp: CFA = rdi, sp in r8, bp in r9, ip in rdx. */
	assert_rule(RULE("\x0c\x05\x00\x09\x07\x08\x09\x06\x09\x09\x10\x01"),
		(struct cfi_rule){.kind = CFI_UNSUPPORTED,
			.arg = CFI_WHY_RETURN,
			.cfa = CFI_JUMP(1, 8, 9)});
	assert_why(RULE("\x0e\xff\xff\xff\xff\xff\x00"), CFI_WHY_RANGE);
	assert_why(RULE("\x0f\x06\x77\x80\x01\x06\x23\x7f\x3f"), CFI_WHY_INSTRUCTION);
	assert_why(RULE("\x0f\x07\x77\x80\x01\x06\x23\xff\x01"), CFI_WHY_RANGE);
	assert_why(RULE("\x3f"), CFI_WHY_INSTRUCTION);
	assert_why(RULE("\x0b"), CFI_WHY_NESTING);
	assert_why(RULE("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), CFI_WHY_NESTING);
	/* LEB128 of more than 64 bits. */
	assert_why(RULE("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), CFI_WHY_INSTRUCTION);
	assert_why(RULE("\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), CFI_WHY_INSTRUCTION);
	/* Cut by the end of the entry, which has no padding then. */
	assert_why(RULE("\x00\x00\x0c"), CFI_WHY_INSTRUCTION);
}

/* What went before an unknown instruction is kept. */
static void good_until_bad(void **state)
{
	struct cfi_table *table;
	struct cfi_code code;
	struct section s = {};

	(void)state;
	put_cie(&s);
	put_fde(&s, CODE, 64, CODE_OF("\x44\x0e\x10\x44\x3f"));
	table = compile(&s);
	assert_int_equal(cfi_table_find(table, CODE + 3)->cfa, 8);
	assert_int_equal(cfi_table_find(table, CODE + 7)->cfa, 16);
	assert_why(*cfi_table_find(table, CODE + 8), CFI_WHY_INSTRUCTION);
	assert_why(*cfi_table_find(table, CODE + 63), CFI_WHY_INSTRUCTION);
	assert_int_equal(cfi_table_find(table, CODE + 64)->kind, CFI_NONE);
	code = cfi_code_of(table, CODE + CODE_SIZE);
	assert_int_equal(code.unsupported[CFI_WHY_INSTRUCTION], 56);
	assert_int_equal(code.by_kind[CFI_SP], 8);
	cfi_table_free(table);
}

static void rows(void **state)
{
	struct cfi_table *table;
	struct section s = {};

	(void)state;
	put_cie(&s);
	/* Out of order; the second begins where the first ends, the third 15 bytes behind. */
	put_fde(&s, CODE + 0x100, 0x20, CODE_OF("\x41\x0e\x10\x0a\x4f\x0e\x08\x41\x0b"));
	put_fde(&s, CODE + 0x40, 0xc0, CODE_OF(""));
	put_fde(&s, CODE + 0x12f, 0x11, CODE_OF(""));
	put_fde(&s, CODE + 0x200, 0x10, CODE_OF("\x02\xff\x0e\x10")); /* advances past its end */
	put_int(&s, 0, 4);
	table = compile(&s);
	assert_int_equal(refused(table), 0);
	assert_int_equal(table->counts.fdes, 4);
	assert_int_equal(cfi_table_find(table, CODE - 1)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, 0)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, ~0ULL)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, CODE + 0x3f)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, CODE + 0x40)->cfa, 8);
	assert_int_equal(cfi_table_find(table, CODE + 0x100)->cfa, 8);
	assert_int_equal(cfi_table_find(table, CODE + 0x101)->cfa, 16);
	assert_int_equal(cfi_table_find(table, CODE + 0x10f)->cfa, 16);
	assert_int_equal(cfi_table_find(table, CODE + 0x110)->cfa, 8);
	assert_int_equal(cfi_table_find(table, CODE + 0x111)->cfa, 16);
	assert_int_equal(cfi_table_find(table, CODE + 0x12e)->cfa, 16); /* padding */
	assert_int_equal(cfi_table_find(table, CODE + 0x12f)->cfa, 8);
	assert_int_equal(cfi_table_find(table, CODE + 0x140)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, CODE + 0x20f)->cfa, 8);
	assert_int_equal(cfi_table_find(table, CODE + 0x210)->kind, CFI_NONE);
	assert_int_equal(table->rows.n, 8); /* equal neighbours are one */
	cfi_table_free(table);
}

static void to_the_end(void **state)
{
	struct cfi_table *table;
	struct section s = {};

	(void)state;
	put_cie(&s);
	put_fde(&s, CODE, CODE_SIZE, CODE_OF(""));
	table = compile(&s);
	assert_int_equal(refused(table), 0);
	assert_int_equal(table->rows.n, 1);
	assert_int_equal(cfi_table_find(table, CODE + CODE_SIZE - 1)->cfa, 8);
	cfi_table_free(table);
}

static void overlaps(void **state)
{
	struct cfi_table *table;
	struct section s = {};

	(void)state;
	put_cie(&s);
	put_fde(&s, CODE, 0x100, CODE_OF("\x0e\x10"));
	put_fde(&s, CODE + 0x40, 0x10, CODE_OF("\x0e\x20"));
	put_fde(&s, CODE + 0x40, 0x80, CODE_OF("\x0e\x30")); /* the first one stays */
	put_fde(&s, CODE + 0x80, 0x10, CODE_OF("\x0e\x40"));
	table = compile(&s);
	assert_int_equal(table->counts.refused[CFI_REFUSED_OVERLAP], 2);
	assert_int_equal(cfi_table_find(table, CODE + 0x3f)->cfa, 16);
	assert_int_equal(cfi_table_find(table, CODE + 0x4f)->cfa, 32);
	assert_int_equal(cfi_table_find(table, CODE + 0x50)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, CODE + 0x80)->cfa, 64);
	assert_int_equal(cfi_table_find(table, CODE + 0x90)->kind, CFI_NONE);
	cfi_table_free(table);
}

static void outside(void **state)
{
	struct cfi_table *table;
	struct cfi_code code;
	struct section s = {};

	(void)state;
	put_cie(&s);
	put_fde(&s, CODE - 1, 0x10, CODE_OF(""));
	put_fde(&s, CODE + CODE_SIZE - 1, 2, CODE_OF(""));
	put_fde(&s, CODE + CODE_SIZE, 0, CODE_OF(""));
	put_fde(&s, 0, 0x10, CODE_OF("")); /* of a function that the linker left out */
	table = compile(&s);
	assert_int_equal(table->counts.refused[CFI_REFUSED_OUTSIDE], 3);
	assert_int_equal(table->rows.n, 0);
	code = cfi_code_of(table, CODE + CODE_SIZE);
	assert_int_equal(code.by_kind[CFI_NONE], CODE_SIZE);
	cfi_table_free(table);
}

static u32 refused_with_cie(const char *letters, const char *data, size_t n)
{
	struct cfi_table *table;
	struct section s = {};
	u32 found;

	put_cie_as(&s, letters, data, n, "\x0c\x07\x08\x90\x01", 5);
	put_fde(&s, CODE, 0x10, CODE_OF(""));
	table = compile(&s);
	found = table->counts.refused[CFI_REFUSED_CIE];
	if (found)
		assert_int_equal(table->rows.n, 0);
	cfi_table_free(table);
	return found;
}

static void augmentations(void **state)
{
	(void)state;
	assert_int_equal(refused_with_cie("zR", "\x1b", 1), 0);
	assert_int_equal(refused_with_cie("zPLR", "\x9b\0\0\0\0\x1b\x1b", 7), 0);
	assert_int_equal(refused_with_cie("zRQ", "\x1b", 1), 1);
	assert_int_equal(refused_with_cie("zRRRRRRRRRR", "\x1b", 1), 1);
	assert_int_equal(refused_with_cie("eh", "\0\0\0\0\0\0\0\0", 8), 1);
	assert_int_equal(refused_with_cie("armcc+", "", 0), 1);
	assert_int_equal(refused_with_cie("zPR", "\x9b", 1), 1); /* the data is cut */
}

/* Code that returns by way of another register is none that compilers make. */
static void return_columns(void **state)
{
	struct cfi_table *table;
	struct section s = {};

	(void)state;
	put_cie(&s);
	put_fde(&s, CODE, 0x10, CODE_OF(""));
	assert_int_equal(s.bytes.buf[14], 16);
	s.bytes.buf[14] = 17;
	table = compile(&s);
	assert_int_equal(table->counts.refused[CFI_REFUSED_CIE], 1);
	assert_int_equal(table->rows.n, 0);
	cfi_table_free(table);
}

static int refused_encoding(u8 encoding)
{
	struct cfi_table *table;
	struct section s = {};
	int refusals;

	put_cie_as(&s, "zR", &encoding, 1, "\x0c\x07\x08\x90\x01", 5);
	put_fde(&s, CODE, 0x10, CODE_OF(""));
	table = compile(&s);
	refusals = (int)refused(table);
	cfi_table_free(table);
	return refusals;
}

static void encodings(void **state)
{
	(void)state;
	for (int e = 0; e < 256; e++)
		assert_in_range(refused_encoding((u8)e), 0, 1);
	assert_int_equal(refused_encoding(0x1b), 0);
	assert_int_equal(refused_encoding(0x9b), 1); /* by way of memory */
	assert_int_equal(refused_encoding(0x2b), 1); /* relative to text: of nobody */
	assert_int_equal(refused_encoding(0xff), 1);
}

static void signal_frame(void **state)
{
	/* CFA = *(rsp + 160); rbx, rbp, rsp, rip at rsp + 128, 120, 160, 168. */
	static const char code[] =
		"\x0f\x04\x77\xa0\x01\x06\x10\x03\x03\x77\x80\x01\x10\x06\x03\x77\xf8"
		"\x00\x10\x07\x03\x77\xa0\x01\x10\x10\x03\x77\xa8\x01";
	struct cfi_table *table;
	struct section s = {};

	(void)state;
	put_cie_as(&s, "zRS", "\x1b", 1, "", 0);
	put_fde(&s, CODE, 0x10, code, sizeof(code) - 1);
	put_fde(&s, CODE + 0x10, 0x10, code, sizeof(code) - 1 - 6); /* without rip */
	put_fde(&s, CODE + 0x20, 0x10, CODE_OF("\x0c\x07\x08\x90\x01"));
	table = compile(&s);
	assert_rule(
		*cfi_table_find(table, CODE), (struct cfi_rule){.kind = CFI_SIGNAL, .cfa = 160});
	assert_why(*cfi_table_find(table, CODE + 0x10), CFI_WHY_SIGNAL);
	assert_why(*cfi_table_find(table, CODE + 0x20), CFI_WHY_SIGNAL);
	cfi_table_free(table);
}

static int code_read(void *ctx, u64 address, void *buf, size_t n)
{
	memcpy(buf, (u8 *)ctx + (address - CODE), n);
	return 0;
}

/* Returns from signal handlers without call-frame information, in gaps only. */
static void signal_code(void **state)
{
	static const u8 sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static u8 code[CODE_SIZE];
	struct cfi_source source;
	struct cfi_table *table;
	struct section s = {};

	(void)state;
	memcpy(code, sigreturn, sizeof(sigreturn));
	memcpy(code + 0x104, sigreturn, sizeof(sigreturn)); /* within the function */
	memcpy(code + 0x8001, sigreturn, sizeof(sigreturn));
	memcpy(code + CODE_SIZE - sizeof(sigreturn), sigreturn, sizeof(sigreturn));
	put_cie(&s);
	put_fde(&s, CODE + 0x100, 0x100, CODE_OF(""));
	source = source_of(s.bytes.buf, s.bytes.len);
	source.read_code = code_read;
	source.ctx = code;
	assert_int_equal(cfi_table_compile(&source, &table), 0);
	assert_int_equal(cfi_table_find(table, CODE)->kind, CFI_SIGNAL);
	assert_int_equal(cfi_table_find(table, CODE + 8)->kind, CFI_SIGNAL);
	assert_int_equal(cfi_table_find(table, CODE + 9)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, CODE + 0x104)->kind, CFI_SP);
	assert_int_equal(cfi_table_find(table, CODE + 0x7fff)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, CODE + 0x8000)->kind, CFI_SIGNAL);
	assert_int_equal(cfi_table_find(table, CODE + 0x800a)->kind, CFI_NONE);
	assert_int_equal(cfi_table_find(table, CODE + CODE_SIZE - 1)->kind, CFI_SIGNAL);
	assert_true(table->rows.pc[table->rows.n - 1] < CODE_SIZE);
	cfi_table_free(table);
	str_free(&s.bytes);
}

/* However it is cut, what is whole before the cut is there. */
static void cut(void **state)
{
	struct section s = {};
	size_t second;

	(void)state;
	put_cie(&s);
	put_fde(&s, CODE, 0x10, CODE_OF("\x44\x0e\x10\x86\x02\x43\x0d\x06"));
	second = s.bytes.len;
	put_fde(&s, CODE + 0x100, 0x10, CODE_OF("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"));
	for (size_t n = 0; n <= s.bytes.len; n++) {
		/* A copy of that size, so that a sanitizer sees what is read behind it. */
		void *copy = malloc(n ? n : 1);
		struct cfi_table *table;

		memcpy(copy, s.bytes.buf, n);
		table = compile_bytes(copy, n);
		assert_int_equal(cfi_table_find(table, CODE + 4)->cfa, n >= second ? 16 : 0);
		assert_int_equal(cfi_table_find(table, CODE + 0x100)->kind,
			n == s.bytes.len ? CFI_BP_DEREF : CFI_NONE);
		cfi_table_free(table);
		free(copy);
	}
	str_free(&s.bytes);
}

static void broken_entries(void **state)
{
	struct cfi_table *table;
	struct section s = {};

	(void)state;
	put_cie(&s);
	/* Its CIE is itself, then before the section. */
	put_fde_at(&s, s.bytes.len, CODE, 0x10, CODE_OF(""));
	put_fde(&s, CODE + 0x20, 0x10, CODE_OF(""));
	put_fde_at(&s, s.bytes.len + 8, CODE + 0x40, 0x10, CODE_OF("")); /* id: -4 */
	put_fde(&s, CODE + 0x60, 0x10, CODE_OF(""));
	table = compile(&s);
	assert_int_equal(table->counts.refused[CFI_REFUSED_CIE], 1);
	assert_int_equal(table->counts.refused[CFI_REFUSED_ENTRY], 1);
	assert_int_equal(cfi_table_find(table, CODE + 0x20)->cfa, 8);
	assert_int_equal(cfi_table_find(table, CODE + 0x60)->kind, CFI_NONE);
	cfi_table_free(table);
}

/* A CIE as long as the section, run for each of very many FDEs. */
static void effort(void **state)
{
	enum { LONG = 100000, FDES = 5000 };
	_cleanup_free_ char *nops = calloc(1, LONG);
	struct cfi_table *table;
	struct section s = {};
	size_t cies[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		/* Both in the same place of those at hand. */
		while (s.bytes.len / 4 % 64)
			put_fde_at(&s, s.bytes.len, CODE, 0, CODE_OF(""));
		cies[i] = s.bytes.len;
		put_cie_as(&s, "zR", "\x1b", 1, nops, LONG);
	}
	for (int i = 0; i < FDES; i++)
		put_fde_at(&s, cies[i & 1], CODE + 8 * (u64)i, 8, CODE_OF(""));
	table = compile(&s);
	assert_int_equal(table->counts.refused[CFI_REFUSED_EFFORT], 1);
	assert_true(table->counts.fdes < 200);
	cfi_table_free(table);
}

/* More different rules than have numbers. */
static void many_rules(void **state)
{
	enum { FUNCTIONS = 70000 };
	struct cfi_table *table;
	struct section s = {};
	struct cfi_source source;
	char code[4] = {0x0e};

	(void)state;
	put_cie(&s);
	for (u32 i = 0; i < FUNCTIONS; i++) {
		u32 cfa = 16 + 8 * i;

		code[1] = (char)(cfa | 0x80);
		code[2] = (char)(cfa >> 7 | 0x80);
		code[3] = (char)(cfa >> 14);
		put_fde(&s, CODE + 16 * i, 16, code, 4);
	}
	source = source_of(s.bytes.buf, s.bytes.len);
	source.code_end = CODE + 16 * FUNCTIONS;
	assert_int_equal(cfi_table_compile(&source, &table), 0);
	assert_int_equal(refused(table), 0);
	assert_in_range(table->n_rules, 60000, 65536);
	assert_int_equal(cfi_table_find(table, CODE + 16 * 50000)->cfa, 16 + 8 * 50000);
	assert_why(*cfi_table_find(table, CODE + 16 * (FUNCTIONS - 1)), CFI_WHY_RULES);
	cfi_table_free(table);
	str_free(&s.bytes);
}

/* A stack of eight words at 0x1000. */
static int stack_read(void *ctx, u64 address, u64 *ret)
{
	if (address < 0x1000 || address > 0x1038 || address & 7)
		return -1;
	*ret = ((u64 *)ctx)[(address - 0x1000) / 8];
	return 0;
}

static int step(struct cfi_rule rule, struct cfi_regs *regs, u64 *stack)
{
	return cfi_step(&rule, regs, stack_read, stack);
}

static void steps(void **state)
{
	u64 stack[8] = {11, 22, 33, 0x1030, 55, 66, 0, 88};
	struct cfi_regs start = {.ip = 1, .sp = 0x1000, .bp = 0x1010, .bx = 7, .exact = 1}, r;
	struct cfi_rule rule = {.kind = CFI_SP, .cfa = 16, .bp = CFI_AT_CFA, .bp_at = -16};

	(void)state;
	r = start;
	assert_int_equal(cfi_lookup_ip(&r), 1);
	assert_int_equal(step(rule, &r, stack), CFI_STEPPED);
	assert_int_equal(r.ip, 22);
	assert_int_equal(r.sp, 0x1010);
	assert_int_equal(r.bp, 11);
	assert_int_equal(r.bx, 7);
	assert_int_equal(cfi_lookup_ip(&r), 21);
	r = start;
	rule = (struct cfi_rule){.kind = CFI_BP, .cfa = 16, .bp = CFI_LOST};
	assert_int_equal(step(rule, &r, stack), CFI_STEPPED);
	assert_int_equal(r.ip, 0x1030);
	assert_int_equal(step(rule, &r, stack), CFI_STOP_LOST);
	assert_int_equal(r.ip, 0x1030); /* as it was */
	r = start;
	rule = (struct cfi_rule){.kind = CFI_SP_DEREF, .cfa = 24};
	assert_int_equal(step(rule, &r, stack), CFI_STEPPED);
	assert_int_equal(r.ip, 66);
	r = start;
	rule = (struct cfi_rule){.kind = CFI_PLT, .arg = 11};
	r.ip = 0x5b;
	assert_int_equal(step(rule, &r, stack), CFI_STEPPED);
	assert_int_equal(r.sp, 0x1010);
	r = start;
	assert_int_equal(
		step((struct cfi_rule){.kind = CFI_SP, .cfa = 56}, &r, stack), CFI_STOP_END);
	assert_int_equal(step((struct cfi_rule){.kind = CFI_END}, &r, stack), CFI_STOP_END);
	assert_int_equal(step((struct cfi_rule){}, &r, stack), CFI_STOP_NO_RULE);
	assert_int_equal(
		step((struct cfi_rule){.kind = CFI_KINDS}, &r, stack), CFI_STOP_UNSUPPORTED);
	assert_int_equal(step((struct cfi_rule){.kind = CFI_SP}, &r, stack), CFI_STOP_ASTRAY);
	assert_int_equal(
		step((struct cfi_rule){.kind = CFI_SP, .cfa = 12}, &r, stack), CFI_STOP_ASTRAY);
	assert_int_equal(
		step((struct cfi_rule){.kind = CFI_SP, .cfa = -8}, &r, stack), CFI_STOP_ASTRAY);
	assert_int_equal(
		step((struct cfi_rule){.kind = CFI_SP, .cfa = 80}, &r, stack), CFI_STOP_MEMORY);
	assert_memory_equal(&r, &start, sizeof(r));
}

static void steps_by_another_register(void **state)
{
	/* A context of which sp is at 0x1028. */
	u64 stack[8] = {11, 0x1018, 33, 44, 55, 0x1010, 66, 77};
	struct cfi_rule rule = {.kind = CFI_OTHER, .cfa = 8, .arg = 2}; /* cx: the word before sp */
	struct cfi_regs start = {.ip = 1, .sp = 0x1000, .exact = 1, .lost = CFI_LOST_OTHER},
			r = start;

	(void)state;
	assert_int_equal(step(rule, &r, stack), CFI_STOP_LOST);
	r.lost = 0;
	r.other = 0x1010;
	assert_int_equal(step(rule, &r, stack), CFI_STEPPED);
	assert_int_equal(r.ip, 33);
	assert_int_equal(r.lost, CFI_LOST_OTHER);
	r = start;
	rule = (struct cfi_rule){.kind = CFI_RETURN_IN, .arg = 5};
	assert_int_equal(step(rule, &r, stack), CFI_STOP_LOST);
	r.lost = 0;
	r.other = 99;
	assert_int_equal(step(rule, &r, stack), CFI_STEPPED);
	assert_int_equal(r.ip, 99);
	assert_int_equal(r.sp, 0x1000);
	r = start;
	r.context = 0x1028;
	cfi_other_from_context(&rule, &r, stack_read, stack); /* di: outside of the stack */
	assert_int_equal(r.lost, CFI_LOST_OTHER);
	rule.arg = 2;
	cfi_other_from_context(&rule, &r, stack_read, stack);
	assert_int_equal(r.lost, 0);
	assert_int_equal(r.other, 55);
	for (u8 reg = 0; reg < 16; reg++) {
		/* struct sigcontext begins 120 bytes before sp with r8. */
		static const s32 at[] = {
			104, 96, 112, 88, 72, 64, 80, 120, 0, 8, 16, 24, 32, 40, 48, 56};

		assert_int_equal(cfi_context_offset(reg), at[reg] - 120);
	}
}

static void steps_without_rule(void **state)
{
	u64 stack[8] = {11, 22, 0x1020, 44, 0, 66, 77, 0};
	struct cfi_regs r = {.ip = 1, .sp = 0x1008, .bp = 0x1010, .exact = 1};

	(void)state;
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STEPPED);
	assert_int_equal(r.ip, 44);
	assert_int_equal(r.sp, 0x1020);
	assert_int_equal(r.bp, 0x1020);
	assert_int_equal(r.lost, CFI_LOST_BX | CFI_LOST_OTHER);
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STEPPED);
	assert_int_equal(r.ip, 66);
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STOP_END);
	r.bp = 8; /* below sp: the register holds something else */
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STOP_NO_RULE);
	r.bp = ~7ULL;
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STOP_NO_RULE);
	r.lost = CFI_LOST_BP;
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STOP_LOST);
	r = (struct cfi_regs){.ip = 1, .sp = 0x1008};
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STOP_END);
	r.exact = 1;
	assert_int_equal(cfi_step_frame_pointer(&r, stack_read, stack), CFI_STOP_NO_RULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(unsupported_forms),
		cmocka_unit_test(good_until_bad),
		cmocka_unit_test(rows),
		cmocka_unit_test(to_the_end),
		cmocka_unit_test(overlaps),
		cmocka_unit_test(outside),
		cmocka_unit_test(augmentations),
		cmocka_unit_test(return_columns),
		cmocka_unit_test(encodings),
		cmocka_unit_test(signal_frame),
		cmocka_unit_test(signal_code),
		cmocka_unit_test(cut),
		cmocka_unit_test(broken_entries),
		cmocka_unit_test(effort),
		cmocka_unit_test(many_rules),
		cmocka_unit_test(steps),
		cmocka_unit_test(steps_by_another_register),
		cmocka_unit_test(steps_without_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
