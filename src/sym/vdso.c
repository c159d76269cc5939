/* See vdso.h. */
#include "sym/vdso.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define VDSO_MAX_BYTES (1UL << 20)

/* The end of the image: that of its section headers, or of its last segment. */
static size_t image_size(const ElfW(Ehdr) * header)
{
	const ElfW(Phdr) *p = (const void *)((const char *)header + header->e_phoff);
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	for (int i = 0; i < header->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD)
			size = MAX(size, (size_t)(p[i].p_offset + p[i].p_filesz));
	}
	return size;
}

int vdso_read(void **ret, size_t *ret_size)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size;
	void *copy;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG))
		return -ENOENT;
	size = image_size(header);
	if (size > VDSO_MAX_BYTES)
		return -EFBIG;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, header, size);
	*ret = copy;
	*ret_size = size;
	return 0;
}
