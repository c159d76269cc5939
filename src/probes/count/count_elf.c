/* See count_elf.h. */
#include "probes/count/count_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *const library_dirs[] = {"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/",
	"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/", "/usr/local/lib/"};

static int count_elf_file_open(
	const char *path, u32 pid, const char *dir, char *ret_path, size_t size)
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
	int fd = count_elf_file_open(path, pid, "", ret_path, size);

	if (strchr(path, '/'))
		return fd;
	for (size_t i = 0; fd == -ENOENT && i < ARRAY_SIZE(library_dirs); i++)
		fd = count_elf_file_open(path, pid, library_dirs[i], ret_path, size);
	return fd;
}

static int symbol_unknown(
	const struct reader_symbol *s, const char *path, const char *symbol, struct err *err)
{
	err_set(err, -EINVAL, "%.120s has no function '%.80s'%s", path, symbol,
		s->stripped ? " (nor any other name: it is stripped)" : "");
	return s->near[0] ? err_hint(err, "did you mean '%.80s'?", s->near) : -EINVAL;
}

/* What cannot be read by one cannot be counted in; a reader of its own for who has none. */
static int symbol_read(struct reader *given, int fd, const char *symbol, struct reader_symbol *ret)
{
	struct reader *own = NULL;
	int rc = given ? 0 : reader_open(&own);

	rc = rc ? rc : reader_symbol(given ? given : own, fd, symbol, ret);
	reader_close(own);
	return rc;
}

int elf_symbol_place(struct reader *reader, const char *path, u32 pid, const char *symbol,
	char *ret_path, size_t size, u64 *ret_offset, struct err *err)
{
	struct reader_symbol found = {};
	int fd = file_find(path, pid, ret_path, size);
	int rc = fd < 0 ? fd : symbol_read(reader, fd, symbol, &found);

	if (fd >= 0)
		close(fd);
	if (rc == -EBADMSG)
		return err_set(err, -EINVAL,
			"%.200s: it could not be read: its reader ended, or took too long", path);
	if (rc) {
		err_errno(err, rc, "%.200s", path);
		if (err)
			err->code = rc == -EACCES ? rc : -EINVAL;
		return err ? err->code : rc;
	}
	if (symbol[0] && !found.found)
		return symbol_unknown(&found, path, symbol, err);
	*ret_offset = found.offset;
	return 0;
}
