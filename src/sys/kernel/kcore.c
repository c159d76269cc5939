/* See kcore.h. fs/proc/kcore.c of 5.10 to 7.3. */
#include "sys/kernel/kcore.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sys/root.h"

#define HEAD_BYTES 65536
#define TEXT_START                                                                     \
	0xffffffff80000000 /* __START_KERNEL_map: the kernel's image, mapped once more \
			    */
#define NOTE "VMCOREINFO"

/* "NUMBER(name)=value" on a line of its own. */
static bool number_find(const char *text, const char *name, int base, u64 *ret)
{
	char key[48];
	size_t len = (size_t)snprintf(key, sizeof(key), "NUMBER(%s)=", name);

	for (const char *line = text; line && *line;
		line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		if (strncmp(line, key, len) != 0)
			continue;
		*ret = strtoull(line + len, NULL, base);
		return true;
	}
	return false;
}

static int info_parse(const char *info, size_t n, struct kcore *k)
{
	_cleanup_free_ char *text = strndup(info, n);
	u64 levels;

	if (!text)
		return -ENOMEM;
	if (!number_find(text, "pgtable_l5_enabled", 10, &levels))
		return -ENODATA;
	k->five_levels = levels != 0;
	number_find(text, "sme_mask", 10, &k->sme_mask); /* without it: none */
	return 0;
}

#define ALIGN4(n_) (((n_) + 3ULL) & ~3ULL)

static int notes_parse(const char *p, u64 left, struct kcore *k)
{
	Elf64_Nhdr h;

	while (left >= sizeof(h)) {
		u64 name, desc;

		memcpy(&h, p, sizeof(h));
		name = ALIGN4(h.n_namesz);
		desc = ALIGN4(h.n_descsz);
		if (sizeof(h) + name + desc > left)
			return -ENODATA;
		if (h.n_namesz >= sizeof(NOTE) && !memcmp(p + sizeof(h), NOTE, sizeof(NOTE)))
			return info_parse(p + sizeof(h) + name, h.n_descsz, k);
		p += sizeof(h) + name + desc;
		left -= sizeof(h) + name + desc;
	}
	return -ENODATA;
}

/* All of memory is at the same distance from its physical address. */
static int kcore_memory_take(const Elf64_Phdr *ph, u64 *offset)
{
	u64 distance = ph->p_vaddr - ph->p_paddr;

	if (ph->p_type != PT_LOAD || ph->p_vaddr >= TEXT_START || ph->p_paddr == UINT64_MAX ||
		!ph->p_paddr)
		return 0;
	if (*offset && *offset != distance)
		return -ENODATA;
	*offset = distance;
	return 0;
}

int kcore_parse(const void *bytes, size_t n, struct kcore *ret)
{
	const char *p = bytes;
	struct kcore k = {};
	int notes = -ENODATA, rc = 0;
	Elf64_Ehdr h;

	if (n < sizeof(h))
		return -ENODATA;
	memcpy(&h, p, sizeof(h));
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_phentsize != sizeof(Elf64_Phdr) ||
		h.e_phoff > n || h.e_phnum > (n - h.e_phoff) / sizeof(Elf64_Phdr))
		return -ENODATA;
	for (u32 i = 0; i < h.e_phnum && !rc; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, p + h.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_NOTE && ph.p_offset <= n)
			notes = notes_parse(p + ph.p_offset, MIN(ph.p_filesz, n - ph.p_offset), &k);
		rc = kcore_memory_take(&ph, &k.page_offset);
	}
	rc = rc ? rc : notes;
	if (!rc && (!k.page_offset || k.page_offset % (1UL << 30)))
		rc = -ENODATA;
	if (!rc)
		*ret = k;
	return rc;
}

int kcore_read(struct kcore *ret)
{
	_cleanup_free_ char *head = malloc(HEAD_BYTES);
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	ssize_t n = 0, got = 0;

	if (!head)
		return -ENOMEM;
	if (sys_path(path, "/proc/kcore"))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (n < HEAD_BYTES && (got = read(fd, head + n, (size_t)(HEAD_BYTES - n))) > 0)
		n += got;
	return got < 0 ? -errno : kcore_parse(head, (size_t)n, ret);
}
