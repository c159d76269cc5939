/* See reader_work.h. */
#include "capture/reader/reader_work.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/closest.h"
#include "base/fd_pass.h"
#include "base/str.h"
#include "cage/cage.h"
#include "capture/reader/reader.h"
#include "capture/reader/reader_names_work.h"
#include "capture/reader/reader_variables.h"
#include "cfi/elf_table.h"
#include "sym/names_budget.h"
#include "sym/elfsym.h"

#define DYNAMIC_BYTES (1U << 20)
/* In all: what names may take (sym/names_budget.h), and tables. */
#define CPU_SECONDS (BUDGET_REFILL_NS / 1000000000 + 300)
#define SYMBOL_BYTES (256UL << 20)
#define VARIABLE_NAME_MAX 512 /* longer ones are cut */

static u64 resident_begun; /* what the process had of memwhy's */

void work_write(const void *from, size_t n)
{
	const char *p = from;

	while (n) {
		ssize_t k = write(0, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			_exit(0); /* nobody reads any more */
		p += k;
		n -= (size_t)k;
	}
}

void work_read(void *to, size_t n)
{
	char *p = to;

	while (n) {
		ssize_t k = read(0, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			_exit(0);
		p += k;
		n -= (size_t)k;
	}
}

bool work_take(void *to, size_t n, int *ret_fd)
{
	*ret_fd = -1;
	return !fd_receive(0, to, n, ret_fd);
}

static u64 cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}

static u64 most_resident(void)
{
	struct rusage u = {};

	getrusage(RUSAGE_SELF, &u);
	return (u64)u.ru_maxrss * 1024;
}

struct reader_spent work_spent(void)
{
	return (struct reader_spent){cpu_now(), most_resident() - resident_begun};
}

static void table_answer(const struct cfi_source *source)
{
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	struct reader_table_answer a = {.rc = cfi_table_compile(source, &table)};

	if (!a.rc) {
		a.n_rules = table->n_rules;
		a.n_rows = table->rows.n;
		a.base = table->base;
		a.counts = table->counts;
	}
	a.spent = work_spent();
	work_write(&a, sizeof(a));
	if (a.rc)
		return;
	work_write(table->rows.rules, a.n_rules * sizeof(*table->rows.rules));
	work_write(table->rows.pc, a.n_rows * sizeof(*table->rows.pc));
	work_write(table->rows.rule_of, a.n_rows * sizeof(*table->rows.rule_of));
}

static void reader_work_look(int fd)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct cfi_source source;
	cfi_buffer section = {};
	struct reader_answer a = {.rc = elf_file_open(fd, &file)};
	char wanted = 0;

	if (!a.rc)
		a.rc = cfi_elf_source(&file, &section, &source, NULL);
	if (a.rc) {
		work_write(&a, sizeof(a));
		vec_free(&section);
		return;
	}
	a.n = (u32)file.segments.n;
	a.offset = source.file_offset;
	a.size = source.eh_frame.size;
	a.address = source.eh_frame.address;
	a.code_start = source.code_start;
	a.code_end = source.code_end;
	work_write(&a, sizeof(a));
	work_write(file.segments.v, a.n * sizeof(*file.segments.v));
	if (read(0, &wanted, 1) != 1)
		_exit(0);
	if (wanted)
		table_answer(&source);
	vec_free(&section);
}

static void function_table(int fd)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct reader_table_answer failed = {};
	struct reader_function_ask ask;
	struct cfi_source source;
	cfi_buffer bytes = {};

	work_read(&ask, sizeof(ask));
	failed.rc = elf_file_open(fd, &file);
	if (!failed.rc)
		failed.rc = cfi_elf_function(&file, ask.address, &bytes, &source);
	if (failed.rc) {
		failed.spent = work_spent();
		work_write(&failed, sizeof(failed));
	} else {
		table_answer(&source);
	}
	vec_free(&bytes);
}

/* A string of a section; NULL: it has no end. */
static const char *text_at(const Elf_Data *data, u64 at)
{
	const char *text = data->d_buf;

	return at < data->d_size && memchr(text + at, '\0', data->d_size - at) ? text + at : NULL;
}

static void reader_work_name_add(struct str *to, const char *name)
{
	if (!name || to->len + strlen(name) + 1 > READER_NEEDS_MAX)
		return;
	str_add(to, name);
	str_addc(to, '\0');
}

static void needs_add(const struct elf_file *file, struct str *to)
{
	struct elf_section dynamic, strings, interp;
	Elf_Data *data, *text;
	GElf_Dyn entry;

	if (!elf_section_find(file, ".interp", &interp) &&
		!elf_section_data(&interp, PATH_MAX, &data))
		reader_work_name_add(to, text_at(data, 0));
	if (elf_section_find_type(file, SHT_DYNAMIC, &dynamic) ||
		elf_section_data(&dynamic, DYNAMIC_BYTES, &data) ||
		elf_section_at(file, dynamic.header.sh_link, &strings) ||
		elf_section_data(&strings, DYNAMIC_BYTES, &text))
		return;
	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_NEEDED)
			reader_work_name_add(to, text_at(text, entry.d_un.d_val));
}

static void needs(int fd)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	_cleanup_str_ struct str names = {};
	struct reader_answer a = {.rc = elf_file_open(fd, &file)};

	if (!a.rc)
		needs_add(&file, &names);
	if (names.failed)
		a.rc = -EFBIG;
	a.n = a.rc ? 0 : (u32)names.len;
	work_write(&a, sizeof(a));
	work_write(names.buf, a.n);
}

static int largest_first(const void *a, const void *b)
{
	const struct elf_variable *x = a, *y = b;

	return x->size > y->size ? -1 : x->size < y->size;
}

static void variables_tell(const struct elf_file *file, const struct elf_variables *v,
	struct reader_variables_answer *a)
{
	_cleanup_free_ struct reader_variable *list = NULL;
	_cleanup_str_ struct str names = {};

	a->n = (u32)MIN(v->list.n, (size_t)READER_VARIABLES_MAX);
	list = calloc(a->n + 1, sizeof(*list));
	for (u32 i = 0; list && i < a->n; i++) {
		const struct elf_variable *e = &v->list.v[i];

		list[i] = (struct reader_variable){e->address, e->size, (u32)names.len, e->bss};
		str_addn(&names, e->name, strnlen(e->name, VARIABLE_NAME_MAX));
		str_addc(&names, '\0');
	}
	if (!list || names.failed)
		_exit(1);
	a->segments = (u32)file->segments.n;
	a->names = (u32)names.len;
	a->spent = work_spent();
	work_write(a, sizeof(*a));
	work_write(file->segments.v, a->segments * sizeof(*file->segments.v));
	work_write(list, a->n * sizeof(*list));
	work_write(str_get(&names), a->names);
}

/* Without a table of symbols there are none. */
static void variables(int fd)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	_cleanup_elf_variables_ struct elf_variables v = {};
	struct reader_variables_answer a = {};
	struct reader_variables_ask ask;
	struct elf_tls tls = {};

	work_read(&ask, sizeof(ask));
	a.rc = elf_file_open(fd, &file);
	if (a.rc) {
		work_write(&a, sizeof(a));
		return;
	}
	a.tls_error = elf_tls_read(&file, &tls);
	a.tls_bytes = tls.bytes;
	a.tls_below = tls.below;
	a.word_error = elf_tls_word(&file, &a.word_address, &a.word_offset);
	if (!elf_variables_read(&file, ask.type, ask.min_bytes, &v) && v.list.n)
		qsort(v.list.v, v.list.n, sizeof(*v.list.v), largest_first);
	variables_tell(&file, &v, &a);
}

static u64 file_offset(const struct elf_file *file, u64 address)
{
	vec_each (s, &file->segments)
		if (s->executable && address >= s->address && address - s->address < s->size)
			return address - s->address + s->offset;
	return 0;
}

static int functions_find(const struct elf_file *file, const struct reader_functions_ask *ask,
	struct reader_functions_answer *a)
{
	_cleanup_elf_symbols_ struct elf_symbols all = {};
	struct sym_budget budget;
	int rc;

	budget_init(&budget, SYMBOL_BYTES, 0);
	rc = elf_symbols_add(&all, file, ask->type, &budget);
	vec_each (e, &all.list)
		for (u32 i = 0; i < ask->n && !rc; i++)
			if (e->name[0] == ask->names[i][0] && !strcmp(e->name, ask->names[i]))
				a->offsets[i] = file_offset(file, e->address);
	return rc;
}

static void functions(int fd)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct reader_functions_answer a = {};
	struct reader_functions_ask ask;
	struct elf_section section;

	work_read(&ask, sizeof(ask));
	a.rc = elf_file_open(fd, &file);
	if (!a.rc) {
		a.is_static = elf_section_find(&file, ".interp", &section) &&
			      elf_section_find(&file, ".dynsym", &section);
		a.rc = functions_find(&file, &ask, &a);
	}
	work_write(&a, sizeof(a));
}

static void symbol_nearest(const struct elf_symbols *all, const char *name, char *ret, size_t size)
{
	_cleanup_free_ const char **names = calloc(all->list.n + 1, sizeof(*names));
	const char *near;
	size_t n = 0;

	vec_each (e, &all->list)
		if (names)
			names[n++] = e->name;
	near = names ? closest(name, names, n) : NULL;
	snprintf(ret, size, "%s", near ? near : "");
}

static int symbol_find(
	const struct elf_file *file, const char *name, struct reader_symbol_answer *a)
{
	_cleanup_elf_symbols_ struct elf_symbols all = {};
	struct sym_budget budget;
	int rc;

	budget_init(&budget, SYMBOL_BYTES, 0);
	rc = elf_symbols_add(&all, file, SHT_SYMTAB, &budget);
	if (!rc || rc == -ENOENT)
		rc = elf_symbols_add(&all, file, SHT_DYNSYM, &budget);
	if (rc && rc != -ENOENT)
		return rc;
	vec_each (e, &all.list)
		vec_each (s, &file->segments)
			if (!a->found && !strcmp(e->name, name) && e->address >= s->address &&
				e->address - s->address < s->size) {
				a->found = true;
				a->offset = e->address - s->address + s->offset;
			}
	a->stripped = !all.list.n;
	if (!a->found)
		symbol_nearest(&all, name, a->near, sizeof(a->near));
	return 0;
}

static void symbol(int fd)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct reader_symbol_answer a = {};
	struct reader_symbol_ask ask;

	work_read(&ask, sizeof(ask));
	ask.name[sizeof(ask.name) - 1] = '\0';
	a.rc = elf_file_open(fd, &file);
	if (!a.rc && ask.name[0])
		a.rc = symbol_find(&file, ask.name, &a);
	work_write(&a, sizeof(a));
}

/* Beside the socket, what the process is told of itself is open. */
static void reader_work_shut_in(int socket)
{
	struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS}, none = {};
	struct err err = {};
	int rc;

	child_shut_in("memwhy-reader", socket);
	signal(SIGPIPE, SIG_IGN);
	names_work_begin(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &(struct rlimit){READER_MEMORY_MAX, READER_MEMORY_MAX});
#endif
	rc = cage_enter(CAGE_READER, &err);
	if (rc && rc != -EOPNOTSUPP) /* a kernel without filters: without capabilities at least */
		_exit(1);
}

_Noreturn void reader_work(int socket)
{
	struct reader_ask ask;
	int fd;

	reader_work_shut_in(socket);
	resident_begun = most_resident();
	while (work_take(&ask, sizeof(ask), &fd)) {
		if (ask.what == READER_NEEDS)
			needs(fd);
		else if (ask.what == READER_NAMES)
			names_work(fd);
		else if (ask.what == READER_VARIABLES)
			variables(fd);
		else if (ask.what == READER_FUNCTIONS)
			functions(fd);
		else if (ask.what == READER_SYMBOL)
			symbol(fd);
		else if (ask.what == READER_FUNCTION_TABLE)
			function_table(fd);
		else
			reader_work_look(fd);
	}
	_exit(0);
}
