/*
 * What the tests of src/sym share: a scratch directory, running other programs, building the
 * sample programs beside this file, and a module table with a symbolizer over it.
 */
#ifndef MEMWHY_TEST_SYM_HELPERS_H
#define MEMWHY_TEST_SYM_HELPERS_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/util.h"
#include "sym/elfsym.h"
#include "sym/symbolizer.h"

#define UNUSED __attribute__((unused))

/* Prints why, and leaves the test as skipped. */
#define skip_because(...)                                            \
	do {                                                         \
		print_message("[  SKIPPED ] because: " __VA_ARGS__); \
		print_message("\n");                                 \
		skip();                                              \
	} while (0)

static char scratch[64];

UNUSED static int scratch_setup(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/memwhy-sym-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

UNUSED static int scratch_teardown(void **state)
{
	(void)state;
	return nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A path in the scratch directory, in one of a few rotating buffers. */
UNUSED static const char *in_scratch(const char *name)
{
	static char paths[8][PATH_MAX];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, PATH_MAX, "%s/%s", scratch, name);
	return path;
}

/* Runs a command of the shell in the scratch directory, its output to "log" there. The exit
 * status; 127 when there is no such program. */
UNUSED static _printf_(1, 2) int run(const char *fmt, ...)
{
	_cleanup_str_ struct str cmd = {};
	char *line = NULL;
	va_list ap;
	int status;

	va_start(ap, fmt);
	assert_true(vasprintf(&line, fmt, ap) >= 0);
	va_end(ap);
	/* A preloaded sanitizer and leak checks are not for the tools that are run. */
	str_addf(&cmd, "cd '%s' && { %s; } >log 2>&1", scratch, line);
	free(line);
	status = system(cmd.buf);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

UNUSED static bool have(const char *program)
{
	return run("command -v %s", program) == 0;
}

/* The absolute path of a file beside this one. */
UNUSED static const char *data_path(const char *name)
{
	static char path[PATH_MAX];
	char here[PATH_MAX], *slash;

	assert_non_null(realpath(__FILE__, here));
	slash = strrchr(here, '/');
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - here), here, name);
	return path;
}

/* Compiles a sample with the given compiler and flags into the scratch directory. False when the
 * compiler cannot (for want of a static library, say); the caller skips then. */
UNUSED static bool build(
	const char *compiler, const char *flags, const char *sample, const char *output)
{
	return run("%s %s -o %s %s", compiler, flags, output, data_path(sample)) == 0;
}

UNUSED static void file_write(const char *path, const void *data, size_t n)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), n);
}

#define NEEDS(condition)                                           \
	do {                                                       \
		if (!(condition))                                  \
			skip_because("a tool does not work here"); \
	} while (0)

struct world {
	struct module_table *modules;
	struct symbolizer *syms;
};

UNUSED static struct world world_new(const struct sym_options *opts)
{
	struct world w = {};

	assert_int_equal(module_table_new(0, &w.modules), 0);
	assert_int_equal(symbolizer_open(opts, w.modules, &w.syms), 0);
	return w;
}

UNUSED static void world_free(struct world *w)
{
	symbolizer_close(w->syms);
	module_table_free(w->modules);
}
#define _cleanup_world_ _cleanup_(world_free)

/* The module of a file that this process itself sees. */
UNUSED static u32 world_module(struct world *w, const char *path)
{
	struct module_sight sight = {.pid = getpid(), .path = path};
	struct stat st;
	u32 id;

	assert_int_equal(stat(path, &st), 0);
	sight.ino = st.st_ino;
	sight.dev = st.st_dev;
	assert_int_equal(module_table_sight(w->modules, &sight, &id), 0);
	return id;
}

UNUSED static struct elf_file elf_of(const char *path)
{
	struct elf_file file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	return file;
}

/* The reverse of elf_file_address(). */
UNUSED static u64 offset_of(const struct elf_file *file, u64 address)
{
	for (size_t i = 0; i < file->segments.n; i++) {
		const struct elf_segment *s = &file->segments.v[i];

		if (s->executable && address >= s->address && address - s->address < s->size)
			return s->offset + (address - s->address);
	}
	fail_msg("%llx is not in the file", address);
	return 0;
}

/* The address and size of a function in a file of the scratch directory that has symbols. */
UNUSED static struct elf_symbol symbol_of(const char *file, const char *name)
{
	_cleanup_elf_symbols_ struct elf_symbols s = {};
	_cleanup_elf_file_ struct elf_file elf = elf_of(in_scratch(file));
	struct sym_budget budget;

	budget_init(&budget, 1 << 24, 1);
	assert_int_equal(elf_symbols_add(&s, &elf, SHT_SYMTAB, &budget), 0);
	for (size_t i = 0; i < s.list.n; i++) {
		if (!strcmp(s.list.v[i].name, name))
			return s.list.v[i];
	}
	fail_msg("no %s in %s", name, file);
	return (struct elf_symbol){};
}

/* Frames of an address of a program in the scratch directory. */
UNUSED static struct sym_frames resolve(
	struct world *w, const char *program, u64 address, unsigned int flags)
{
	_cleanup_elf_file_ struct elf_file elf = elf_of(in_scratch(program));
	u32 module = world_module(w, in_scratch(program));
	struct sym_frames frames;

	assert_int_equal(
		symbolizer_resolve_user(w->syms, module, offset_of(&elf, address), flags, &frames),
		0);
	assert_true(frames.n > 0);
	assert_false(frames.v[frames.n - 1].inlined);
	return frames;
}

UNUSED static struct sym_module_info info_of(struct world *w, const char *program)
{
	struct sym_module_info info;

	assert_int_equal(
		symbolizer_module_info(w->syms, world_module(w, in_scratch(program)), &info), 0);
	return info;
}

UNUSED static bool ends_with(const char *text, const char *tail)
{
	size_t n = strlen(text), m = strlen(tail);

	return n >= m && !strcmp(text + n - m, tail);
}

#endif
