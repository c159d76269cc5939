/*
 * Stacks of processes stopped anywhere, against libdwfl's of the same process, frame by frame. Each
 * program is run for POINTS stops (CFI_POINTS in the environment: another number), most of them
 * a few single instructions apart, so that prologues and epilogues are met too.
 */
#include <elfutils/libdwfl.h>

#include "data/sym/stopped.h"

#include "base/file.h"
#include "cfi/elf_table.h"
#include "cfi/walk.h"
#include "event/meta.h"
#include "sym/moduleelf.h"
#include "sym/process_map.h"

#define POINTS 120
#define STEPS 8 /* instructions after each stop */
#define FRAMES_MAX 2048
#define COPY_MAX 65536

/* The code of one module; file.fd is closed, its segments stay. error: there is no table. */
struct code_of_module {
	struct cfi_table *table;
	struct elf_file file;
	int error;
};

struct world_of_cfi {
	struct module_table *modules;
	VEC(struct code_of_module) code; /* by module id */
};

static struct world_of_cfi world;

struct tally {
	unsigned int points, same, frames, guessed, deeper, differ;
	unsigned int stops[CFI_STOPS]; /* of those that are shorter than they should be */
};

struct oracle {
	Dwfl *dwfl;
	pid_t pid;
	u64 ips[FRAMES_MAX];
	size_t n;
	bool complete;
};

static int no_debug_file(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)m, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)ret;
	return -1;
}

static void oracle_end(struct oracle *o)
{
	if (o->dwfl)
		dwfl_end(o->dwfl);
	o->dwfl = NULL;
}

static void oracle_start(struct oracle *o, pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debug_file,
	};

	oracle_end(o);
	o->pid = pid;
	o->dwfl = dwfl_begin(&callbacks);
	assert_non_null(o->dwfl);
	assert_int_equal(dwfl_linux_proc_report(o->dwfl, pid), 0);
	assert_int_equal(dwfl_report_end(o->dwfl, NULL, NULL), 0);
	assert_int_equal(dwfl_linux_proc_attach(o->dwfl, pid, true), 0);
}

static int oracle_frame(Dwfl_Frame *frame, void *arg)
{
	struct oracle *o = arg;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || o->n == FRAMES_MAX)
		return DWARF_CB_ABORT;
	o->ips[o->n++] = pc;
	return DWARF_CB_OK;
}

static void oracle_walk(struct oracle *o)
{
	o->n = 0;
	o->complete = !dwfl_getthread_frames(o->dwfl, o->pid, oracle_frame, o);
}

static int stopped_read_word(void *ctx, u64 address, u64 *ret)
{
	return stopped_read(*(pid_t *)ctx, address, ret, sizeof(*ret)) == sizeof(*ret) ? 0 : -1;
}

/* As struct user_regs_struct has them, by their numbers in DWARF. */
static struct cfi_thread thread_of(const struct stopped *s, u64 *registers)
{
	const struct user_regs_struct *r = &s->regs;
	const u64 all[16] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
		r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

	memcpy(registers, all, sizeof(all));
	return (struct cfi_thread){
		.regs = {.ip = r->rip, .sp = r->rsp, .bp = r->rbp, .bx = r->rbx, .exact = 1},
		.registers = registers,
		.read = stopped_read_word,
		.ctx = (void *)&s->pid,
	};
}

/* The start of a walk over a copy of the stack is that of a walk over the stack. */
static void copy_check(struct stopped *s, const struct cfi_code *code,
	const struct cfi_frame *frames, const struct cfi_walk *whole)
{
	static struct cfi_frame copied[FRAMES_MAX];
	static u8 bytes[COPY_MAX];
	struct cfi_stack stack = {.start = s->regs.rsp, .bytes = bytes};
	u64 registers[16];
	struct cfi_thread thread = thread_of(s, registers);
	struct cfi_walk walk;
	ssize_t n = stopped_read(s->pid, stack.start, bytes, sizeof(bytes));

	assert_true(n > 0);
	stack.n = (size_t)n;
	thread.read = cfi_stack_read;
	thread.ctx = &stack;
	assert_int_equal(cfi_walk(code, &thread, copied, FRAMES_MAX, &walk), 0);
	assert_true(walk.n <= whole->n);
	for (size_t i = 0; i < walk.n; i++)
		assert_int_equal(copied[i].ip, frames[i].ip);
	if (walk.n < whole->n)
		assert_true(walk.stop == CFI_STOP_MEMORY || walk.stop == CFI_STOP_NO_RULE ||
			    walk.stop == CFI_STOP_LOST);
}

/* As REC_STACK has it. */
static u16 walk_method(int stop)
{
	return stop == CFI_STOP_END ? STACK_EXACT : (u16)(STACK_CUT | stop << 8);
}

static void frames_print(struct stopped *s, const struct cfi_frame *frames,
	const struct cfi_walk *walk, const struct oracle *o)
{
	print_message("%s: ours %zu (%s), oracle %zu\n", s->command, walk->n,
		stack_method_text(walk_method(walk->stop)), o->n);
	for (size_t i = 0; i < MAX(walk->n, o->n); i++) {
		u64 ours = i < walk->n ? frames[i].ip : 0, theirs = i < o->n ? o->ips[i] : 0;

		if (ours == theirs && i > 2 && i + 1 < walk->n && frames[i + 1].ip == o->ips[i + 1])
			continue;
		print_message("  %zu %llx %llx %s+%llx%s\n", i, ours, theirs,
			ours ? module_table_get(world.modules, frames[i].at.module)->path : "",
			ours ? frames[i].at.offset : 0,
			ours && frames[i].guessed ? " guessed" : "");
		if (i > 30)
			break;
	}
}

/* The oracle's last frame is at an address without code: where registers are being put back for an
 * exception to land, what it reads is no return address. We have left it out. */
static bool is_no_code(const struct process_map *map, const struct oracle *o, size_t n)
{
	struct map_hit hit;

	return o->n == n + 1 && process_map_find(map, o->ips[n] - 1, &hit);
}

static struct code_of_module *code_of(u32 id)
{
	const struct code_of_module none = {.file.fd = -1};
	struct code_of_module *code;
	struct err err = {};

	while (world.code.n <= id)
		assert_int_equal(vec_push(&world.code, none), 0);
	code = &world.code.v[id];
	if (!code->table && !code->error)
		code->error = module_elf_open(world.modules, id, &code->file);
	if (!code->table && !code->error)
		code->error = cfi_elf_compile(&code->file, &code->table, &err);
	return code;
}

/* For cfi_walk; ctx: the struct process_map. */
static int code_find(void *ctx, u64 ip, struct cfi_place *ret)
{
	static const struct cfi_rule unsupported = {.kind = CFI_UNSUPPORTED};
	const struct code_of_module *code;
	struct map_hit hit;
	u64 address;

	if (process_map_find(ctx, ip, &hit))
		return CFI_STOP_NO_CODE;
	*ret = (struct cfi_place){.module = hit.module, .offset = hit.offset};
	code = code_of(hit.module);
	if (code->error)
		ret->rule = code->error == -ENOEXEC ? &unsupported : NULL;
	else
		ret->rule = cfi_table_find(code->table,
			elf_file_address(&code->file, hit.offset, &address) ? ~0ULL : address);
	return 0;
}

static void compare_stack(
	struct stopped *s, const struct process_map *map, struct oracle *o, struct tally *tally)
{
	static struct cfi_frame frames[FRAMES_MAX];
	u64 registers[16];
	const struct cfi_thread thread = thread_of(s, registers);
	const struct cfi_code code = {code_find, (void *)map};
	struct cfi_walk walk;
	size_t n = 0;

	oracle_walk(o);
	assert_int_equal(cfi_walk(&code, &thread, frames, FRAMES_MAX, &walk), 0);
	copy_check(s, &code, frames, &walk);
	while (n < walk.n && n < o->n && frames[n].ip == o->ips[n])
		n++;
	tally->points++;
	tally->frames += walk.n;
	tally->guessed += walk.guessed > 0;
	if (n == walk.n && (n == o->n || is_no_code(map, o, n)))
		tally->same++;
	else if (n == walk.n)
		tally->stops[walk.stop]++;
	else if (n == o->n && (!o->complete || walk.stop == CFI_STOP_END))
		tally->deeper++; /* the oracle takes the resolver of ld.so for the end, at times */
	else
		tally->differ++;
	if ((n != walk.n || n != o->n) && getenv("CFI_VERBOSE"))
		frames_print(s, frames, &walk, o);
}

static void maps_text(pid_t pid, struct str *out)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	assert_int_equal(file_read(path, out), 0);
}

static struct tally compare_program(const char *command, unsigned int points)
{
	_cleanup_stopped_ struct stopped s = {.command = command};
	_cleanup_process_map_ struct process_map map;
	_cleanup_(oracle_end) struct oracle o = {};
	_cleanup_str_ struct str maps = {}, now = {};
	struct tally tally = {};

	process_map_init(&map, world.modules, 0);
	while (tally.points < points) {
		stopped_run(&s, 100 + chance(s.pid ? 20000 : 300000));
		for (int i = 0; i < STEPS && tally.points < points; i++) {
			maps_text(s.pid, &now);
			if (o.pid != s.pid || strcmp(str_get(&now), str_get(&maps))) {
				map.pid = s.pid;
				assert_int_equal(process_map_read(&map), 0);
				oracle_start(&o, s.pid);
				str_clear(&maps);
				str_add(&maps, str_get(&now));
			}
			compare_stack(&s, &map, &o, &tally);
			if (!stopped_step(&s))
				break;
		}
	}
	print_message("%s: %u points, %.1f frames, same %.2f %%, deeper %u, differ %u, guessed %u",
		command, tally.points, (double)tally.frames / tally.points,
		100.0 * tally.same / tally.points, tally.deeper, tally.differ, tally.guessed);
	for (int i = 0; i < CFI_STOPS; i++) {
		if (tally.stops[i])
			print_message(
				", %u: %s", tally.stops[i], stack_method_text(walk_method(i)));
	}
	print_message("\n");
	return tally;
}

static unsigned int points_wanted(void)
{
	const char *text = getenv("CFI_POINTS");

	return text ? (unsigned int)atoi(text) : POINTS;
}

static void assert_same(const char *command)
{
	struct tally t = compare_program(command, points_wanted());

	assert_int_equal(t.differ, 0);
	assert_true((t.same + t.deeper) * 100 >= t.points * 99);
}

static int world_setup(void **state)
{
	return scratch_setup(state) || module_table_new(0, &world.modules) ? -1 : 0;
}

static int world_teardown(void **state)
{
	vec_each (code, &world.code) {
		cfi_table_free(code->table);
		elf_file_close(&code->file);
	}
	vec_free(&world.code);
	module_table_free(world.modules);
	return scratch_teardown(state);
}

static void compare_built(const char *compiler, const char *flags, const char *sample)
{
	if (!build(compiler, flags, sample, "program"))
		skip_because("%s %s does not work here", compiler, flags);
	print_message("%s %s: ", compiler, flags);
	assert_same("./program");
}

static void deep_O3(void **state)
{
	(void)state;
	compare_built("gcc", "-O3 -fomit-frame-pointer", "stack_deep.c");
}

static void deep_Os(void **state)
{
	(void)state;
	compare_built("gcc", "-Os -fomit-frame-pointer -fno-plt", "stack_deep.c");
}

static void deep_O0(void **state)
{
	(void)state;
	compare_built("gcc", "-O0 -fno-omit-frame-pointer -no-pie", "stack_deep.c");
}

static void deep_avx(void **state)
{
	(void)state;
	compare_built("gcc", "-O3 -fomit-frame-pointer -mavx2 -static", "stack_deep.c");
}

static void jumps(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -fomit-frame-pointer", "stack_jumps.c");
}

static void deep_clang(void **state)
{
	(void)state;
	compare_built("clang", "-O2 -fomit-frame-pointer", "stack_deep.c");
}

static void signals(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -fomit-frame-pointer", "stack_signal.c");
}

static void signals_static(void **state)
{
	(void)state;
	compare_built("gcc", "-O2 -static-pie -fomit-frame-pointer", "stack_signal.c");
}

static void exceptions(void **state)
{
	(void)state;
	compare_built("g++", "-O2 -fomit-frame-pointer", "stack_throw.cc");
}

static void file_of(const char *name, const char *line, int n)
{
	_cleanup_str_ struct str text = {};

	for (int i = 0; i < n; i++)
		str_addf(&text, line, i, i, i * 7919 % 10007);
	file_write(in_scratch(name), text.buf, text.len);
}

static void jq(void **state)
{
	(void)state;
	NEEDS(have("jq"));
	file_of("in.json", "{\"id\": %d, \"name\": \"n%d\", \"list\": [1, 2.5, {\"x\": %d}]}\n",
		20000);
	assert_same("jq -c '[.. | numbers] | sort | map(. * 2 | tostring)' in.json");
}

static void sqlite(void **state)
{
	(void)state;
	NEEDS(have("sqlite3"));
	assert_same(
		"sqlite3 :memory: 'create table t(a,b,c); with recursive n(i) as (select 1 union "
		"all select i+1 from n where i < 200000) insert into t select i, random(), "
		"printf(\"%08x\", i) from n; create index x on t(c, b); select count(*), "
		"max(length(c)) from t group by b % 100 order by 2;'");
}

static void python(void **state)
{
	static const char program[] =
		"import re, json\n"
		"def f(n):\n"
		"  return [f(n - 1), n] if n else sorted(str(i) for i in range(50))\n"
		"while True:\n"
		"  re.sub('(a|b)+c', lambda m: m.group()[::-1], json.dumps(f(80)) + 'abac' * "
		"100)\n";

	(void)state;
	NEEDS(have("python3"));
	file_write(in_scratch("p.py"), program, sizeof(program) - 1);
	assert_same("python3 p.py");
}

static void clang(void **state)
{
	(void)state;
	NEEDS(have("clang"));
	file_of("in.c",
		"int f%d(int a) { int s = %d; for (int i = 0; i < a; i++) s += i * %d; return s; "
		"}\n",
		2000);
	assert_same("/usr/lib/llvm-14/bin/clang -cc1 -O2 -emit-obj -o /dev/null in.c");
}

/* CFI_COMMAND in the environment: another command, whose points are only counted. */
static void asked_for(void **state)
{
	(void)state;
	if (!getenv("CFI_COMMAND"))
		skip_because("CFI_COMMAND is not set");
	compare_program(getenv("CFI_COMMAND"), points_wanted());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_O3),
		cmocka_unit_test(deep_Os),
		cmocka_unit_test(deep_O0),
		cmocka_unit_test(deep_avx),
		cmocka_unit_test(jumps),
		cmocka_unit_test(deep_clang),
		cmocka_unit_test(signals),
		cmocka_unit_test(signals_static),
		cmocka_unit_test(exceptions),
		cmocka_unit_test(jq),
		cmocka_unit_test(sqlite),
		cmocka_unit_test(python),
		cmocka_unit_test(clang),
		cmocka_unit_test(asked_for),
	};

	if (getenv("CFI_COMMAND"))
		cmocka_set_test_filter("asked_for");
	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
