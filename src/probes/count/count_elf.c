/* See count_elf.h. */
#include "probes/count/count_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/closest.h"
#include "sym/elfsym.h"

#define SYMBOL_BYTES (256UL << 20)

static const char *const library_dirs[] = {"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/",
	"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/", "/usr/local/lib/"};

static int file_open(const char *path, u32 pid, const char *dir, char *ret_path, size_t size)
{
	int n = pid && (path[0] == '/' || dir[0])
			? snprintf(ret_path, size, "/proc/%u/root%s%s", pid, dir, path)
			: snprintf(ret_path, size, "%s%s", dir, path);
	int fd;

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	fd = open(ret_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int file_find(const char *path, u32 pid, char *ret_path, size_t size)
{
	int fd = file_open(path, pid, "", ret_path, size);

	if (strchr(path, '/'))
		return fd;
	for (size_t i = 0; fd == -ENOENT && i < ARRAY_SIZE(library_dirs); i++)
		fd = file_open(path, pid, library_dirs[i], ret_path, size);
	return fd;
}

static int symbol_unknown(
	const struct elf_symbols *s, const char *path, const char *symbol, struct err *err)
{
	_cleanup_free_ const char **names = calloc(s->list.n + 1, sizeof(*names));
	const char *near = NULL;
	size_t n = 0;

	vec_each (e, &s->list)
		if (names)
			names[n++] = e->name;
	if (names)
		near = closest(symbol, names, n);
	err_set(err, -EINVAL, "%.120s has no function '%.80s'%s", path, symbol,
		s->list.n ? "" : " (nor any other name: it is stripped)");
	return near ? err_hint(err, "did you mean '%.80s'?", near) : -EINVAL;
}

static int symbol_find(const struct elf_file *file, const char *path, const char *symbol,
	u64 *ret_offset, struct err *err)
{
	_cleanup_elf_symbols_ struct elf_symbols all = {};
	struct sym_budget budget = {};
	int rc;

	budget_init(&budget, SYMBOL_BYTES, 0);
	rc = elf_symbols_add(&all, file, SHT_SYMTAB, &budget);
	if (!rc || rc == -ENOENT)
		rc = elf_symbols_add(&all, file, SHT_DYNSYM, &budget);
	if (rc && rc != -ENOENT)
		return err_errno(err, rc, "%.120s: its symbols", path);
	vec_each (e, &all.list) {
		if (strcmp(e->name, symbol) != 0)
			continue;
		vec_each (seg, &file->segments)
			if (e->address >= seg->address && e->address - seg->address < seg->size) {
				*ret_offset = e->address - seg->address + seg->offset;
				return 0;
			}
	}
	return symbol_unknown(&all, path, symbol, err);
}

int elf_symbol_place(const char *path, u32 pid, const char *symbol, char *ret_path, size_t size,
	u64 *ret_offset, struct err *err)
{
	struct elf_file file = {};
	int fd = file_find(path, pid, ret_path, size);
	int rc = fd < 0 ? fd : elf_file_open(fd, &file);

	if (rc) {
		err_errno(err, rc, "%.200s", path);
		if (err)
			err->code = rc == -EACCES ? rc : -EINVAL;
		return err ? err->code : rc;
	}
	if (symbol[0])
		rc = symbol_find(&file, path, symbol, ret_offset, err);
	else
		*ret_offset = 0;
	elf_file_close(&file);
	return rc;
}
