/* Files read by a process that can do nothing else: it gives the tables that are made here, it can
 * do no more than it should, its death costs one file, and no answer of it does harm. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "capture/reader/reader.h"
#include "capture/reader/reader_variables.h"
#include "capture/reader/reader_work.h"
#include "cfi/elf_table.h"

static int self_open(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void expect_table(const struct cfi_table *a, const struct cfi_table *b)
{
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->n_rules, b->n_rules);
	assert_int_equal(a->rows.n, b->rows.n);
	assert_memory_equal(a->rows.rules, b->rows.rules, a->n_rules * sizeof(*a->rows.rules));
	assert_memory_equal(a->rows.pc, b->rows.pc, a->rows.n * sizeof(*a->rows.pc));
	assert_memory_equal(a->rows.rule_of, b->rows.rule_of, a->rows.n * sizeof(*a->rows.rule_of));
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
}

/* Twice: it goes on with the next file. */
static void the_same_table(void **state)
{
	_cleanup_elf_file_ struct elf_file elf = {.fd = -1};
	_cleanup_cfi_table_ struct cfi_table *here = NULL;
	_cleanup_close_ int fd = self_open();
	struct reader *r;

	(void)state;
	assert_int_equal(elf_file_open(self_open(), &elf), 0);
	assert_int_equal(cfi_elf_compile(&elf, &here, NULL), 0);
	assert_int_equal(reader_open(&r), 0);
	for (int i = 0; i < 2; i++) {
		_cleanup_cfi_table_ struct cfi_table *there = NULL;
		struct reader_file file;

		assert_int_equal(reader_look(r, fd, &file), 0);
		assert_int_equal(file.segments.n, elf.segments.n);
		for (size_t k = 0; k < file.segments.n; k++) {
			const struct elf_segment *a = &file.segments.v[k], *b = &elf.segments.v[k];

			assert_int_equal(a->offset, b->offset);
			assert_int_equal(a->size, b->size);
			assert_int_equal(a->address, b->address);
			assert_int_equal(a->executable, b->executable);
		}
		assert_int_equal(reader_table(r, &file, &there), 0);
		expect_table(here, there);
		vec_free(&file.segments);
		assert_int_equal(reader_look(r, fd, &file), 0);
		reader_skip(r);
		vec_free(&file.segments);
	}
	assert_true(reader_cpu_ns(r) > 0);
	reader_close(r);
}

/* What the whole table says of an address one function's does, and of none of others. */
static void one_function(void **state)
{
	_cleanup_elf_file_ struct elf_file elf = {.fd = -1};
	_cleanup_cfi_table_ struct cfi_table *whole = NULL;
	_cleanup_close_ int fd = self_open();
	struct reader_file file;
	struct reader *r;
	u32 ruled = 0;

	(void)state;
	assert_int_equal(elf_file_open(self_open(), &elf), 0);
	assert_int_equal(cfi_elf_compile(&elf, &whole, NULL), 0);
	assert_int_equal(reader_open(&r), 0);
	assert_int_equal(reader_look(r, fd, &file), 0);
	reader_skip(r);
	for (u64 i = 0; i < 300; i++) {
		u64 at = file.code_start + i * ((file.code_end - file.code_start) / 300);
		const struct cfi_rule *a = cfi_table_find(whole, at), *b = NULL;
		_cleanup_cfi_table_ struct cfi_table *one = NULL;
		int rc = reader_function_table(r, fd, &file, at, &one);

		assert_true(!rc || rc == -ENOENT);
		b = one ? cfi_table_find(one, at) : NULL;
		assert_true(b || a->kind == CFI_NONE);
		/* The whole one fills the gaps between functions. */
		assert_true(!b || b->kind == CFI_NONE || !memcmp(a, b, sizeof(*a)));
		assert_true(!one || one->counts.fdes == 1);
		ruled += b && b->kind != CFI_NONE;
	}
	assert_true(ruled > 50);
	vec_free(&file.segments);
	reader_close(r);
}

static void what_a_program_needs(void **state)
{
	_cleanup_close_ int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	char names[READER_NEEDS_MAX];
	bool libc = false, loader = false;
	struct reader *r;
	u32 n = 0;

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	assert_int_equal(reader_needs(r, fd, names, &n), 0);
	for (const char *name = names; name < names + n; name += strlen(name) + 1) {
		libc |= !strcmp(name, "libc.so.6");
		loader |= strstr(name, "ld-linux") != NULL;
	}
	assert_true(libc && loader);
	reader_close(r);
}

/* A line of its status, as the kernel tells it. */
static void expect_status(pid_t pid, const char *line)
{
	_cleanup_str_ struct str text = {};
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	assert_int_equal(file_read(path, &text), 0);
	if (!strstr(str_get(&text), line))
		fail_msg("no '%s' in %s", line, str_get(&text));
}

static void no_rights(void **state)
{
	_cleanup_close_ int fd = self_open();
	struct reader_file file;
	char path[64], to[64];
	struct reader *r;
	pid_t pid;

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	assert_int_equal(reader_look(r, fd, &file), 0); /* so it has shut itself in */
	pid = reader_pid(r, 0);
	expect_status(pid, "\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
	expect_status(pid, "\nNoNewPrivs:\t1\n");
#ifndef __SANITIZE_ADDRESS__
	expect_status(pid, "\nSeccomp:\t2\n");
#endif
	/* Its socket, /dev/null, how large it is itself, and the file that it has at hand. */
	for (int i = 3, n = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, i);
		n += readlink(path, to, sizeof(to)) >= 0 && !strstr(to, "/statm");
		assert_true(n <= 1);
	}
	reader_skip(r);
	vec_free(&file.segments);
	reader_close(r);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* it has ended, and was waited for */
}

static void what_is_no_program(void **state)
{
	int text = open("/proc/version", O_RDONLY | O_CLOEXEC);
	int empty = (int)syscall(SYS_memfd_create, "empty", 0);
	char names[READER_NEEDS_MAX];
	struct reader_file file;
	struct reader *r;
	u32 n;

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	assert_true(reader_look(r, text, &file) < 0);
	assert_int_equal(reader_look(r, empty, &file), -ENOEXEC);
	assert_int_equal(reader_needs(r, empty, names, &n), -ENOEXEC);
	assert_true(reader_pid(r, 0) > 0); /* it is there yet */
	reader_close(r);
	close(text);
	close(empty);
}

static void a_death_costs_one_file(void **state)
{
	_cleanup_close_ int fd = self_open();
	struct reader_file file;
	struct reader *r;

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	assert_int_equal(reader_look(r, fd, &file), 0);
	vec_free(&file.segments);
	kill(reader_pid(r, 0), SIGKILL);
	{
		struct cfi_table *table;

		assert_int_equal(reader_table(r, &file, &table), -EBADMSG);
	}
	assert_int_equal(reader_pid(r, 0), 0);
	assert_int_equal(reader_look(r, fd, &file), 0);
	reader_skip(r);
	vec_free(&file.segments);
	kill(reader_pid(r, 1), SIGKILL);
	assert_int_equal(reader_look(r, fd, &file), -EBADMSG);
	assert_int_equal(reader_look(r, fd, &file), -ESRCH);
	assert_int_equal(reader_look(r, fd, &file), -ESRCH);
	reader_close(r);
}

/* As behind a file server that does not answer. Its other files are not asked for, those of others
 * are. */
static void one_that_waits_for_ever_is_not_waited_for(void **state)
{
	_cleanup_close_ int fd = self_open(), other = memfd_create("other", MFD_CLOEXEC);
	u64 begun = clock_mono_ns();
	struct reader_file file;
	struct reader *r;
	pid_t stopped;

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	stopped = reader_pid(r, 0);
	kill(stopped, SIGSTOP);
	assert_int_equal(reader_look(r, fd, &file), -EBADMSG);
	assert_true(clock_mono_ns() - begun < 10 * NSEC_PER_SEC);
	assert_int_equal(reader_look(r, fd, &file), -EBADMSG);
	assert_true(reader_pid(r, 1) > 0);
	assert_int_equal(reader_look(r, other, &file), -ENOEXEC);
	kill(stopped, SIGKILL);
	reader_close(r);
}

/* A table of two rules and two rows, as the process at the other end might send it. */
struct forged {
	struct reader_answer look;
	struct elf_segment segment;
	struct reader_table_answer head;
	struct cfi_rule rules[2];
	u32 pc[2];
	u16 rule_of[2];
};

static struct forged forged_sound(void)
{
	return (struct forged){
		.look = {.n = 1, .offset = 64, .size = 100, .code_start = 4096, .code_end = 8192},
		.segment = {.size = 8192, .executable = true},
		.head = {.n_rules = 2, .n_rows = 2, .base = 4096},
		.rules = {{.kind = CFI_NONE}, {.kind = CFI_SP, .cfa = 8}},
		.pc = {0, 16},
		.rule_of = {1, 0},
	};
}

static int forged_take(const struct forged *f, size_t cut)
{
	struct cfi_table *table = NULL;
	struct reader_file file;
	struct reader *r;
	int ends[2], fd = self_open(), rc;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(reader_over(ends[0], &r), 0);
	assert_int_equal(send(ends[1], &f->look, sizeof(f->look), 0), sizeof(f->look));
	assert_int_equal(send(ends[1], &f->segment, sizeof(f->segment), 0), sizeof(f->segment));
	assert_int_equal(send(ends[1], &f->head, sizeof(f->head), 0), sizeof(f->head));
	assert_int_equal(send(ends[1], f->rules, sizeof(f->rules), 0), sizeof(f->rules));
	assert_int_equal(send(ends[1], f->pc, sizeof(f->pc), 0), sizeof(f->pc));
	assert_int_equal(
		send(ends[1], f->rule_of, sizeof(f->rule_of) - cut, 0), sizeof(f->rule_of) - cut);
	shutdown(ends[1], SHUT_WR);
	rc = reader_look(r, fd, &file);
	if (!rc) {
		rc = reader_table(r, &file, &table);
		vec_free(&file.segments);
	}
	cfi_table_free(table);
	reader_close(r);
	close(ends[1]);
	close(fd);
	return rc;
}

static void no_answer_does_harm(void **state)
{
	struct forged f = forged_sound();

	(void)state;
	assert_int_equal(forged_take(&f, 0), 0);
	assert_int_equal(forged_take(&f, 1), -EBADMSG);
#define FORGE(change_)                                          \
	do {                                                    \
		f = forged_sound();                             \
		change_;                                        \
		assert_int_equal(forged_take(&f, 0), -EBADMSG); \
	} while (0)
	FORGE(f.look.size = 65ULL << 20);
	FORGE(f.look.size = 0);
	FORGE(f.look.offset = INT64_MAX);
	FORGE(f.look.code_end = f.look.code_start);
	FORGE(f.look.code_end = f.look.code_start + (1ULL << 32));
	FORGE(f.look.n = 1 << 20);
	FORGE(f.look.rc = 5);
	FORGE(f.look.rc = -100000);
	FORGE(f.head.n_rules = 0);
	FORGE(f.head.n_rules = 65537);
	FORGE(f.head.n_rows = 53);
	FORGE(f.head.n_rows = UINT32_MAX);
	FORGE(f.head.base = 0);
	FORGE(f.rules[1].kind = CFI_KINDS);
	FORGE(f.rules[1].bp = CFI_LOST + 1);
	FORGE(f.rules[1].bx = CFI_LOST + 1);
	FORGE(f.rules[0].kind = CFI_SP);
	FORGE(f.pc[1] = 0);
	FORGE(f.pc[1] = 4097);
	FORGE(f.rule_of[1] = 2);
	/* Of memory there is never too little for the session. */
	f = forged_sound();
	f.look.rc = -ENOMEM;
	assert_int_equal(forged_take(&f, 0), -EFBIG);
	f = forged_sound();
	f.head.rc = -ENOMEM;
	assert_int_equal(forged_take(&f, 0), -EFBIG);
}

static volatile char a_variable[100];
static __thread volatile char a_thread_variable[40];

static const struct elf_variable *variable_find(const struct reader_variables *v, const char *name)
{
	vec_each (e, &v->variables.list)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

static void variables(void **state)
{
	_cleanup_elf_file_ struct elf_file elf = {.fd = -1};
	_cleanup_elf_variables_ struct elf_variables here = {};
	_cleanup_close_ int fd = self_open();
	struct reader_variables v;
	struct elf_tls tls;
	struct reader *r;

	(void)state;
	a_thread_variable[0] = a_variable[0];
	assert_int_equal(elf_file_open(self_open(), &elf), 0);
	assert_int_equal(elf_variables_read(&elf, STT_OBJECT, 64, &here), 0);
	assert_int_equal(elf_tls_read(&elf, &tls), 0);
	assert_int_equal(reader_open(&r), 0);
	assert_int_equal(reader_variables(r, fd, STT_OBJECT, 64, &v), 0);
	assert_int_equal(v.variables.list.n, here.list.n);
	assert_int_equal(v.file.segments.n, elf.segments.n);
	assert_int_equal(v.tls_error, 0);
	assert_memory_equal(&v.tls, &tls, sizeof(tls));
	vec_each (e, &here.list) {
		const struct elf_variable *there = variable_find(&v, e->name);

		assert_non_null(there);
	}
	assert_int_equal(variable_find(&v, "a_variable")->size, sizeof(a_variable));
	assert_null(variable_find(&v, "a_thread_variable"));
	for (size_t i = 1; i < v.variables.list.n; i++)
		assert_true(v.variables.list.v[i].size <= v.variables.list.v[i - 1].size);
	reader_variables_free(&v);
	assert_int_equal(reader_variables(r, fd, STT_TLS, 1, &v), 0);
	assert_int_equal(variable_find(&v, "a_thread_variable")->size, sizeof(a_thread_variable));
	reader_variables_free(&v);
	kill(reader_pid(r, 0), SIGKILL);
	assert_int_equal(reader_variables(r, fd, STT_TLS, 1, &v), -EBADMSG);
	assert_int_equal(reader_variables(r, fd, STT_TLS, 1, &v), 0);
	reader_variables_free(&v);
	reader_close(r);
}

int a_function_to_find(void);

__attribute__((noinline)) int a_function_to_find(void)
{
	return a_variable[1];
}

/* In the file at the offset stands the code that runs. */
static void functions(void **state)
{
	static const char *const names[] = {"a_function_to_find", "no_such_function", "main"};
	_cleanup_close_ int fd = self_open(), sh = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	u64 offsets[ARRAY_SIZE(names)];
	bool is_static = true;
	struct reader *r;
	u8 code[8];

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	assert_int_equal(
		reader_functions(r, fd, SHT_SYMTAB, names, ARRAY_SIZE(names), offsets, &is_static),
		0);
	assert_int_equal(pread(fd, code, sizeof(code), (off_t)offsets[0]), sizeof(code));
	assert_memory_equal(code, (const void *)a_function_to_find, sizeof(code));
	assert_int_equal(offsets[1], 0);
	assert_int_not_equal(offsets[2], 0);
	assert_int_equal(
		reader_functions(r, sh, SHT_SYMTAB, names, 1, offsets, &is_static), -ENOENT);
	assert_false(is_static);
	assert_int_equal(reader_functions(r, sh, SHT_SYMTAB, names, READER_FUNCTIONS_MAX + 1,
				 offsets, &is_static),
		-EINVAL);
	reader_close(r);
}

static void one_symbol(void **state)
{
	_cleanup_close_ int fd = self_open(), none = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct reader_symbol s;
	struct reader *r;
	u8 code[8];

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	assert_int_equal(reader_symbol(r, fd, "a_function_to_find", &s), 0);
	assert_true(s.found && !s.stripped);
	assert_int_equal(pread(fd, code, sizeof(code), (off_t)s.offset), sizeof(code));
	assert_memory_equal(code, (const void *)a_function_to_find, sizeof(code));
	assert_int_equal(reader_symbol(r, fd, "a_function_to_fine", &s), 0);
	assert_false(s.found || s.stripped);
	assert_string_equal(s.near, "a_function_to_find");
	assert_int_equal(reader_symbol(r, fd, "", &s), 0);
	assert_int_equal(reader_symbol(r, none, "main", &s), -ENOEXEC);
	kill(reader_pid(r, 0), SIGKILL);
	assert_int_equal(reader_symbol(r, fd, "main", &s), -EBADMSG);
	assert_int_equal(reader_symbol(r, fd, "main", &s), 0);
	reader_close(r);
}

/* What the process at the other end might send: a name without an end, a place beyond all files. */
static void forged_symbol(void **state)
{
	struct reader_symbol_answer answers[3] = {
		{.found = 1, .offset = 1ULL << 63}, {}, {.rc = 1}};

	(void)state;
	memset(answers[1].near, 'n', sizeof(answers[1].near));
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct reader_symbol s = {};
		struct reader *r;
		int ends[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		assert_int_equal(reader_over(ends[0], &r), 0);
		assert_int_equal(
			write(ends[1], &answers[i], sizeof(answers[i])), sizeof(answers[i]));
		assert_int_equal(reader_symbol(r, 0, "main", &s), -EBADMSG);
		assert_false(s.found);
		reader_close(r);
		close(ends[1]);
	}
}

/* One segment and two variables, as the process at the other end might send them. */
struct forged_variables {
	struct reader_variables_answer head;
	struct elf_segment segment;
	struct reader_variable list[2];
	char names[8];
};

static int forged_variables_take(const struct forged_variables *f)
{
	struct reader_variables v;
	struct reader *r;
	int ends[2], fd = self_open(), rc;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(reader_over(ends[0], &r), 0);
	assert_int_equal(send(ends[1], &f->head, sizeof(f->head), 0), sizeof(f->head));
	assert_int_equal(send(ends[1], &f->segment, sizeof(f->segment), 0), sizeof(f->segment));
	assert_int_equal(send(ends[1], f->list, sizeof(f->list), 0), sizeof(f->list));
	assert_int_equal(send(ends[1], f->names, sizeof(f->names), 0), sizeof(f->names));
	shutdown(ends[1], SHUT_WR);
	rc = reader_variables(r, fd, STT_OBJECT, 1, &v);
	if (!rc) {
		assert_string_equal(v.variables.list.v[1].name, "two");
		assert_true(v.tls_error == 0 || v.tls_error == -EFBIG);
		reader_variables_free(&v);
	}
	reader_close(r);
	close(ends[1]);
	close(fd);
	return rc;
}

static void no_variable_does_harm(void **state)
{
	const struct forged_variables sound = {.head = {.segments = 1, .n = 2, .names = 8},
		.segment = {.size = 8192},
		.list = {{64, 8, 0, 0}, {128, 8, 4, 1}},
		.names = "one\0two"};
	struct forged_variables f = sound;

	(void)state;
	assert_int_equal(forged_variables_take(&f), 0);
#define FORGE_VARIABLE(change_)                                        \
	do {                                                           \
		f = sound;                                             \
		change_;                                               \
		assert_int_equal(forged_variables_take(&f), -EBADMSG); \
	} while (0)
	FORGE_VARIABLE(f.head.rc = 5);
	FORGE_VARIABLE(f.head.n = READER_VARIABLES_MAX + 1);
	FORGE_VARIABLE(f.head.n = UINT32_MAX);
	FORGE_VARIABLE(f.head.names = UINT32_MAX);
	FORGE_VARIABLE(f.head.segments = 1 << 20);
	FORGE_VARIABLE(f.head.tls_error = 1);
	FORGE_VARIABLE(f.head.word_error = -5000);
	FORGE_VARIABLE(f.list[1].name = 8);
	FORGE_VARIABLE(f.list[0].size = UINT64_MAX);
	/* Of memory there is never too little for the session, and texts end. */
	f = sound;
	f.head.tls_error = -ENOMEM;
	f.head.names = 7; /* without the last zero byte */
	assert_int_equal(forged_variables_take(&f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_table),
		cmocka_unit_test(one_function),
		cmocka_unit_test(what_a_program_needs),
		cmocka_unit_test(no_rights),
		cmocka_unit_test(what_is_no_program),
		cmocka_unit_test(a_death_costs_one_file),
		cmocka_unit_test(one_that_waits_for_ever_is_not_waited_for),
		cmocka_unit_test(no_answer_does_harm),
		cmocka_unit_test(variables),
		cmocka_unit_test(functions),
		cmocka_unit_test(one_symbol),
		cmocka_unit_test(forged_symbol),
		cmocka_unit_test(no_variable_does_harm),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("capture_reader", tests, NULL, NULL);
}
