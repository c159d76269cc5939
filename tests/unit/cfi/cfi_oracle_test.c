/*
 * Tables of call-frame information against libdw, which shares no code with them: at both ends of
 * every row of either, one step of unwinding over made-up registers and memory must give the same
 * registers.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <link.h>

#include "data/sym/helpers.h"

#include "cfi/elf_table.h"
#include "cfi/mapped.h"
#include "cfi/step.h"
#include "sym/vdso.h"

#define SP 0x7ffd00001000
#define STACK_DEEP 64
#define PADDING_MAX 15

enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_IP = 16 };

struct compared {
	Dwarf_CFI *oracle;
	const struct cfi_table *table;
	size_t same;
	size_t unsupported; /* by us, and the oracle shows why */
	size_t without;     /* neither has anything */
};

/* Each word of memory holds another stack address above SP. */
static u64 word_at(u64 address)
{
	return SP + ((address * 0x9e3779b97f4a7c15) >> 40) * 8 + 0x100000;
}

static int word_read(void *ctx, u64 address, u64 *ret)
{
	(void)ctx;
	*ret = word_at(address);
	return 0;
}

static struct cfi_regs regs_at(u64 ip)
{
	return (struct cfi_regs){
		.ip = ip, .sp = SP, .bp = SP + 0x10000, .bx = SP + 0x20000, .exact = 1};
}

/* A register was asked for that is not followed from frame to frame. */
static bool foreign;

static u64 reg_value(const struct cfi_regs *regs, u64 number, bool *ok)
{
	switch (number) {
	case REG_BX:
		return regs->bx;
	case REG_BP:
		return regs->bp;
	case REG_SP:
		return regs->sp;
	case REG_IP:
		return regs->ip;
	}
	foreign = true;
	*ok &= number < REG_IP;
	return SP + 0x30000 + number * 0x1000;
}

struct evaluation {
	const struct cfi_regs *regs;
	u64 cfa;
	u64 stack[STACK_DEEP];
	size_t n;
	bool ok;
};

static void push(struct evaluation *e, u64 value)
{
	assert_true(e->n < STACK_DEEP);
	e->stack[e->n++] = value;
}

static u64 pop(struct evaluation *e)
{
	assert_true(e->n > 0);
	return e->stack[--e->n];
}

static void evaluate_binary(struct evaluation *e, u8 atom)
{
	u64 b = pop(e), a = pop(e);

	switch (atom) {
	case DW_OP_plus:
		push(e, a + b);
		break;
	case DW_OP_minus:
		push(e, a - b);
		break;
	case DW_OP_and:
		push(e, a & b);
		break;
	case DW_OP_shl:
		push(e, a << b);
		break;
	case DW_OP_ge:
		push(e, (s64)a >= (s64)b);
		break;
	}
}

static void evaluate_one(struct evaluation *e, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_breg0 ... DW_OP_breg31:
		push(e, reg_value(e->regs, op->atom - DW_OP_breg0, &e->ok) + op->number);
		break;
	case DW_OP_bregx:
		push(e, reg_value(e->regs, op->number, &e->ok) + op->number2);
		break;
	case DW_OP_lit0 ... DW_OP_lit31:
		push(e, op->atom - DW_OP_lit0);
		break;
	case DW_OP_const1u:
	case DW_OP_const1s:
		push(e, op->number);
		break;
	case DW_OP_call_frame_cfa:
		push(e, e->cfa);
		break;
	case DW_OP_deref:
		push(e, word_at(pop(e)));
		break;
	case DW_OP_plus_uconst:
		push(e, pop(e) + op->number);
		break;
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_and:
	case DW_OP_shl:
	case DW_OP_ge:
		evaluate_binary(e, op->atom);
		break;
	default:
		e->ok = false;
	}
}

/* False: an expression that needs what is not there. */
static bool evaluate(const struct cfi_regs *regs, u64 cfa, const Dwarf_Op *ops, size_t n, u64 *ret)
{
	struct evaluation e = {.regs = regs, .cfa = cfa, .ok = true};

	for (size_t i = 0; i < n && e.ok; i++)
		evaluate_one(&e, &ops[i]);
	if (e.ok)
		*ret = pop(&e);
	return e.ok;
}

enum value { UNDEFINED, KNOWN, UNKNOWN };

static enum value oracle_register(
	Dwarf_Frame *frame, int number, const struct cfi_regs *regs, u64 cfa, u64 *ret)
{
	bool is_value, ok = true;
	Dwarf_Op *ops, mem[3];
	size_t n;

	assert_int_equal(dwarf_frame_register(frame, number, mem, &ops, &n), 0);
	if (!n && ops)
		return UNDEFINED;
	if (!n) {
		*ret = reg_value(regs, number, &ok);
		return KNOWN;
	}
	if (n == 1 && ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31) {
		*ret = reg_value(regs, ops->atom - DW_OP_reg0, &ok);
		return ok ? KNOWN : UNKNOWN;
	}
	if (n == 1 && ops->atom == DW_OP_regx) {
		*ret = reg_value(regs, ops->number, &ok);
		return ok ? KNOWN : UNKNOWN;
	}
	is_value = ops[n - 1].atom == DW_OP_stack_value;
	if (!evaluate(regs, cfa, ops, n - is_value, ret))
		return UNKNOWN;
	if (!is_value)
		*ret = word_at(*ret);
	return KNOWN;
}

static void assert_register(
	Dwarf_Frame *frame, int number, const struct cfi_regs *old, u64 cfa, bool lost, u64 got)
{
	enum value value;
	u64 want = 0;

	foreign = false;
	value = oracle_register(frame, number, old, cfa, &want);

	/* The oracle (elfutils 0.188) takes rax for rbx where it knows what calls preserve: it is
	 * undefined to it until it was saved. */
	if (number == REG_BX && value == UNDEFINED && !lost)
		assert_int_equal(got, old->bx);
	else if (value != KNOWN)
		assert_true(lost);
	else if (lost && !foreign)
		fail_msg("register %d is lost at %llx", number, old->ip);
	else if (!lost)
		assert_int_equal(got, want);
}

/* Our rule says nothing: is what the oracle has beyond the forms that rules have? */
static void assert_beyond(Dwarf_Frame *frame, const struct cfi_regs *regs, bool cfa_ok, u64 cfa)
{
	u64 ip;

	if (cfa_ok && oracle_register(frame, REG_IP, regs, cfa, &ip) == KNOWN)
		assert_int_not_equal(ip, word_at(cfa - 8));
}

static void compare_frame(struct compared *c, Dwarf_Frame *frame, u64 address)
{
	const struct cfi_rule *rule = cfi_table_find(c->table, address);
	struct cfi_regs old = regs_at(address), now;
	enum value ip_known;
	u64 cfa = 0, ip = 0;
	Dwarf_Op *ops;
	bool cfa_ok;
	size_t n;
	int stop;

	cfa_ok = !dwarf_frame_cfa(frame, &ops, &n) && n && evaluate(&old, 0, ops, n, &cfa);
	if (rule->kind == CFI_OTHER || rule->kind == CFI_RETURN_IN)
		old.other = reg_value(&old, (u64)rule->arg, &cfa_ok);
	now = old;
	stop = cfi_step(rule, &now, word_read, NULL);
	if (stop == CFI_STOP_UNSUPPORTED) {
		assert_beyond(frame, &old, cfa_ok, cfa);
		c->unsupported++;
		return;
	}
	ip_known = oracle_register(frame, REG_IP, &old, cfa, &ip);
	if (stop == CFI_STOP_END) {
		assert_int_equal(ip_known, UNDEFINED);
	} else {
		if (stop)
			fail_msg("at %llx: stop %d, rule of kind %d", address, stop, rule->kind);
		assert_true(cfa_ok);
		assert_int_equal(ip_known, KNOWN);
		assert_int_equal(now.sp, cfa);
		assert_int_equal(now.ip, ip);
		assert_register(frame, REG_BP, &old, cfa, now.lost & CFI_LOST_BP, now.bp);
		assert_register(frame, REG_BX, &old, cfa, now.lost & CFI_LOST_BX, now.bx);
	}
	c->same++;
}

/* The end of the oracle's row; 0: it has nothing there. */
static u64 compare_at(struct compared *c, u64 address)
{
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;
	bool is_signal;

	if (dwarf_cfi_addrframe(c->oracle, address, &frame))
		return 0;
	assert_true(dwarf_frame_info(frame, &start, &end, &is_signal) >= 0);
	compare_frame(c, frame, address);
	free(frame);
	return end;
}

/* Both ends of each row of the oracle. Where it has none there is none of ours, but for padding,
 * which belongs to the function before, and returns from signal handlers. */
static void compare_rows_of_oracle(struct compared *c, u64 start, u64 end)
{
	u64 last = 0;

	for (u64 at = start; at < end;) {
		u64 next = compare_at(c, at);
		const struct cfi_rule *rule = cfi_table_find(c->table, at);

		if (!next) {
			if (at - last >= PADDING_MAX && rule->kind != CFI_SIGNAL)
				assert_int_equal(rule->kind, CFI_NONE);
			c->without++;
			at++;
			continue;
		}
		assert_true(next > at);
		compare_at(c, next - 1);
		at = last = next;
	}
}

static void compare_own_rows(struct compared *c)
{
	const struct cfi_rows *rows = &c->table->rows;

	for (u32 i = 0; i < rows->n; i++) {
		u64 at = c->table->base + rows->pc[i];
		u8 kind = rows->rules[rows->rule_of[i]].kind;

		if (i)
			assert_true(rows->pc[i] > rows->pc[i - 1]);
		if (kind == CFI_NONE)
			assert_int_equal(compare_at(c, at), 0);
		else if (kind != CFI_SIGNAL)
			assert_true(compare_at(c, at) > at);
	}
}

static struct compared compare_elf(const struct elf_file *file, const char *name)
{
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	struct compared c = {};
	struct cfi_source source;
	struct err err = {};

	if (cfi_elf_compile(file, &table, &err))
		fail_msg("%s: %s", name, err.msg);
	c.oracle = dwarf_getcfi_elf(file->elf);
	assert_non_null(c.oracle);
	c.table = table;
	assert_int_equal(cfi_elf_source(file, NULL, &source, NULL), 0);
	for (int i = 0; i < CFI_REFUSALS; i++)
		assert_int_equal(table->counts.refused[i], 0);
	assert_int_equal(table->base, source.code_start);
	compare_rows_of_oracle(&c, source.code_start, source.code_end);
	compare_own_rows(&c);
	dwarf_cfi_end(c.oracle);
	assert_true(table->bytes <= 4 * table->counts.section_bytes + 65536);
	print_message("%s: %zu same, %zu unsupported\n", name, c.same, c.unsupported);
	c.oracle = NULL;
	c.table = NULL;
	return c;
}

static void compare_file(const char *path, size_t same_min)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct compared c;

	if (fd < 0)
		skip_because("%s is not there", path);
	assert_int_equal(elf_file_open(fd, &file), 0);
	c = compare_elf(&file, path);
	assert_true(c.same >= same_min);
	/* Where much is written by hand (cryptography) it is 0.7 %. */
	assert_true(c.unsupported * 50 <= c.same);
}

static void own_program(void **state)
{
	(void)state;
	compare_file("/proc/self/exe", 200); /* memwhy's own objects have no tables */
}

static int libraries_visit(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)size;
	if (info->dlpi_name[0] == '/') {
		compare_file(info->dlpi_name, 100);
		(*(int *)n)++;
	}
	return 0;
}

/* libc, ld.so, libdw, libstdc++ … */
static void own_libraries(void **state)
{
	int n = 0;

	(void)state;
	dl_iterate_phdr(libraries_visit, &n);
	assert_true(n >= 4);
}

static void cryptography(void **state)
{
	(void)state;
	compare_file("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 10000);
}

static void vdso(void **state)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct compared c;
	void *image;
	size_t size;

	(void)state;
	if (vdso_read(&image, &size))
		skip_because("there is no vdso");
	assert_int_equal(elf_image_open(image, size, &file), 0);
	c = compare_elf(&file, "vdso");
	assert_true(c.same > 10);
	assert_int_equal(c.unsupported, 0);
}

static struct cfi_section segment_around(const struct dl_phdr_info *info, u64 address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && address >= start && address - start < p->p_memsz)
			return (struct cfi_section){
				.data = (void *)start, .size = p->p_memsz, .address = start};
	}
	fail_msg("%s: no segment around %llx", info->dlpi_name, address);
	return (struct cfi_section){};
}

static void compare_mapped(const struct dl_phdr_info *info, const ElfW(Phdr) * header)
{
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	u64 at = info->dlpi_addr + header->p_vaddr;
	struct cfi_section memory = segment_around(info, at);
	struct cfi_mapped mapped;
	size_t n = 0;
	int fd =
		open(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(cfi_elf_compile(&file, &table, NULL), 0);
	assert_int_equal(cfi_mapped_init(&mapped, &memory, at, header->p_memsz), 0);
	for (u32 i = 0; i < table->rows.n; i++) {
		const struct cfi_rule *rule = &table->rows.rules[table->rows.rule_of[i]];
		u64 address = table->base + table->rows.pc[i];
		struct cfi_row row;

		if (rule->kind == CFI_NONE) {
			assert_false(cfi_mapped_find(&mapped, info->dlpi_addr + address, &row));
			continue;
		}
		assert_true(cfi_mapped_find(&mapped, info->dlpi_addr + address, &row));
		assert_memory_equal(&row.rule, rule, sizeof(*rule));
		n++;
	}
	assert_true(n > 50);
}

static int mapped_visit(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_GNU_EH_FRAME)
			continue;
		if (info->dlpi_name[0] && info->dlpi_name[0] != '/')
			continue; /* the vdso has no file */
		compare_mapped(info, &info->dlpi_phdr[i]);
		(*(int *)n)++;
	}
	return 0;
}

/* What this process runs, from its own memory and from its files. */
static void mapped_as_compiled(void **state)
{
	int n = 0;

	(void)state;
	dl_iterate_phdr(mapped_visit, &n);
	assert_true(n >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_program),
		cmocka_unit_test(own_libraries),
		cmocka_unit_test(cryptography),
		cmocka_unit_test(vdso),
		cmocka_unit_test(mapped_as_compiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
