/* See moduleelf.h. */
#include "sym/moduleelf.h"

#include <errno.h>
#include <fcntl.h>

#include "sym/vdso.h"

int module_elf_take(enum module_kind kind, int fd, struct elf_file *ret)
{
	void *image;
	size_t size;
	int rc;

	if (kind == MODULE_VDSO) {
		rc = vdso_read(&image, &size);
		return rc ? rc : elf_image_open(image, size, ret);
	}
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	return elf_file_open(fd, ret);
}

int module_elf_open(struct module_table *modules, u32 id, struct elf_file *ret)
{
	enum module_kind kind = module_table_get(modules, id)->kind;
	int fd = -1, rc = kind == MODULE_VDSO ? 0 : module_table_fd(modules, id, &fd);

	return rc ? rc : module_elf_take(kind, fd, ret);
}
