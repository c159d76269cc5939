/* See moduleelf.h. */
#include "sym/moduleelf.h"

#include <errno.h>
#include <fcntl.h>

#include "sym/vdso.h"

int module_elf_open(struct module_table *modules, u32 id, struct elf_file *ret)
{
	void *image;
	size_t size;
	int fd, rc;

	if (module_table_get(modules, id)->kind == MODULE_VDSO) {
		rc = vdso_read(&image, &size);
		return rc ? rc : elf_image_open(image, size, ret);
	}
	rc = module_table_fd(modules, id, &fd);
	if (rc)
		return rc;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	return elf_file_open(fd, ret);
}
