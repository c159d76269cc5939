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
#include "sym/elffile.h"
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

#endif
