/* See elffile.h. */
#include "sym/elffile.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/module.h"

/* Generous to any honest file. Without them a sparse file of a few KiB on disk could make libelf
 * allocate terabytes. */
#define SECTIONS_MAX (1U << 16)
#define SEGMENTS_MAX 4096
#define SECTION_NAMES_MAX (64UL << 20)
#define NOTES_MAX (4UL << 20) /* in all */

static bool is_foreign_endian(const unsigned char *ident)
{
	return ident[EI_DATA] != (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

static bool read_exactly(int fd, void *buf, size_t n, u64 offset)
{
	return offset <= INT64_MAX && pread(fd, buf, n, (off_t)offset) == (ssize_t)n;
}

/* With more than 65,279 sections their number stands in the first section header, and libelf
 * believes it. */
static int sections_count_check(int fd)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} h = {};
	Elf64_Shdr first64;
	Elf32_Shdr first32;
	bool foreign;
	u64 n;

	if (!read_exactly(fd, &h, sizeof(h.e32), 0) || memcmp(h.ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	foreign = is_foreign_endian(h.ident);
	if (h.ident[EI_CLASS] == ELFCLASS64) {
		if (!read_exactly(fd, &h, sizeof(h.e64), 0))
			return -ENOEXEC;
		if (h.e64.e_shnum || !h.e64.e_shoff)
			return 0;
		n = foreign ? __builtin_bswap64(h.e64.e_shoff) : h.e64.e_shoff;
		if (!read_exactly(fd, &first64, sizeof(first64), n))
			return -ENOEXEC;
		n = foreign ? __builtin_bswap64(first64.sh_size) : first64.sh_size;
	} else {
		if (h.e32.e_shnum || !h.e32.e_shoff)
			return 0;
		n = foreign ? __builtin_bswap32(h.e32.e_shoff) : h.e32.e_shoff;
		if (!read_exactly(fd, &first32, sizeof(first32), n))
			return -ENOEXEC;
		n = foreign ? __builtin_bswap32(first32.sh_size) : first32.sh_size;
	}
	return n > SECTIONS_MAX ? -ENOEXEC : 0;
}

static int segments_read(struct elf_file *file)
{
	GElf_Phdr p;
	size_t n;
	int rc;

	if (elf_getphdrnum(file->elf, &n) || n > SEGMENTS_MAX)
		return -ENOEXEC;
	for (size_t i = 0; i < n; i++) {
		struct elf_segment segment;

		if (!gelf_getphdr(file->elf, (int)i, &p))
			return -ENOEXEC;
		if (p.p_type != PT_LOAD || !p.p_filesz)
			continue;
		segment = (struct elf_segment){
			.offset = p.p_offset,
			.size = p.p_filesz,
			.address = p.p_vaddr,
			.executable = p.p_flags & PF_X,
		};
		rc = vec_push(&file->segments, segment);
		if (rc)
			return rc;
	}
	return 0;
}

/* What every further look at section names reads whole. */
static int section_names_check(Elf *elf)
{
	size_t index, n;
	GElf_Shdr header;
	Elf_Scn *scn;

	if (elf_getshdrnum(elf, &n) || n > SECTIONS_MAX)
		return -ENOEXEC;
	if (!n)
		return 0;
	if (elf_getshdrstrndx(elf, &index))
		return -ENOEXEC;
	scn = elf_getscn(elf, index);
	if (!scn || !gelf_getshdr(scn, &header) || header.sh_size > SECTION_NAMES_MAX)
		return -ENOEXEC;
	/* libelf would decompress them; nobody compresses names. */
	return header.sh_flags & SHF_COMPRESSED ? -ENOEXEC : 0;
}

static int elf_start(struct elf_file *file, struct elf_file *ret)
{
	int rc;

	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF)
		return -ENOEXEC;
	rc = section_names_check(file->elf);
	if (!rc)
		rc = segments_read(file);
	if (rc)
		return rc;
	*ret = elf_file_take(file);
	return 0;
}

int elf_file_open(int fd, struct elf_file *ret)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = fd};
	int rc = sections_count_check(fd);

	if (rc)
		return rc;
	elf_version(EV_CURRENT);
	file.elf = elf_begin(fd, ELF_C_READ, NULL);
	return elf_start(&file, ret);
}

int elf_image_open(void *image, size_t size, struct elf_file *ret)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1, .image = image};

	if (size < sizeof(Elf32_Ehdr))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	file.elf = elf_memory(image, size);
	return elf_start(&file, ret);
}

void elf_file_keep_segments(struct elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->image);
	file->elf = NULL;
	file->fd = -1;
	file->image = NULL;
}

void elf_file_close(struct elf_file *file)
{
	elf_file_keep_segments(file);
	vec_free(&file->segments);
}

struct elf_file elf_file_take(struct elf_file *file)
{
	struct elf_file taken = *file;

	*file = (struct elf_file){.fd = -1};
	return taken;
}

int elf_file_address(const struct elf_file *file, u64 offset, u64 *ret)
{
	const struct elf_segment *found = NULL;

	/* Where a page is part of two segments, code is what runs. */
	for (size_t i = 0; i < file->segments.n; i++) {
		const struct elf_segment *s = &file->segments.v[i];

		if (offset < s->offset || offset - s->offset >= s->size)
			continue;
		if (!found || (s->executable && !found->executable))
			found = s;
	}
	if (!found)
		return -ENOENT;
	*ret = found->address + (offset - found->offset);
	return 0;
}

int elf_section_at(const struct elf_file *file, size_t index, struct elf_section *ret)
{
	struct elf_section section = {.scn = elf_getscn(file->elf, index)};

	if (!section.scn || !gelf_getshdr(section.scn, &section.header))
		return -ENOENT;
	*ret = section;
	return 0;
}

static const char *section_name(const struct elf_file *file, const GElf_Shdr *header)
{
	const char *name = NULL;
	size_t index;

	if (!elf_getshdrstrndx(file->elf, &index))
		name = elf_strptr(file->elf, index, header->sh_name);
	return name ? name : "";
}

/* The next section with bytes in the file that is of the type, or (type 0) has the name. */
static int section_search(
	const struct elf_file *file, const char *name, u32 type, struct elf_section *ret)
{
	struct elf_section section = {};

	while ((section.scn = elf_nextscn(file->elf, section.scn))) {
		if (!gelf_getshdr(section.scn, &section.header))
			return -ENOEXEC;
		if (section.header.sh_type == SHT_NOBITS)
			continue;
		if (type ? section.header.sh_type == type
			 : !strcmp(section_name(file, &section.header), name)) {
			*ret = section;
			return 0;
		}
	}
	return -ENOENT;
}

int elf_section_find(const struct elf_file *file, const char *name, struct elf_section *ret)
{
	return section_search(file, name, 0, ret);
}

int elf_section_find_type(const struct elf_file *file, u32 type, struct elf_section *ret)
{
	return section_search(file, "", type, ret);
}

int elf_section_data(const struct elf_section *section, u64 max_bytes, Elf_Data **ret)
{
	Elf_Data *data;

	if (section->header.sh_flags & SHF_COMPRESSED)
		return -ENOTSUP;
	if (section->header.sh_size > max_bytes)
		return -EFBIG;
	data = elf_getdata(section->scn, NULL);
	if (!data || !data->d_buf)
		return -ENOEXEC;
	*ret = data;
	return 0;
}

int elf_section_copy(const struct elf_file *file, const struct elf_section *section, void *to)
{
	u64 size = section->header.sh_size, done = 0;
	Elf_Data *data;
	int rc;

	if (file->fd < 0) {
		rc = elf_section_data(section, size, &data);
		if (!rc && data->d_size != size)
			rc = -ENOEXEC;
		if (!rc)
			memcpy(to, data->d_buf, size);
		return rc;
	}
	if (section->header.sh_flags & SHF_COMPRESSED)
		return -ENOTSUP;
	while (done < size) {
		ssize_t n = pread(file->fd, (char *)to + done, size - done,
			(off_t)(section->header.sh_offset + done));

		if (n <= 0)
			return n < 0 ? -errno : -ENOEXEC;
		done += (u64)n;
	}
	return 0;
}

/* Finds the build-id among notes; its length, or -ENOENT. */
static int notes_build_id(Elf_Data *data, u8 *buf)
{
	size_t at = 0, next, name_at, desc_at;
	GElf_Nhdr note;

	while ((next = gelf_getnote(data, at, &note, &name_at, &desc_at)) > at) {
		const char *base = data->d_buf;

		at = next;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU"))
			continue;
		if (memcmp(base + name_at, "GNU", sizeof("GNU")))
			continue;
		if (!note.n_descsz || note.n_descsz > BUILD_ID_MAX)
			continue;
		memcpy(buf, base + desc_at, note.n_descsz);
		return (int)note.n_descsz;
	}
	return -ENOENT;
}

/* In files that are mapped the notes are found by the program headers, which even a file without
 * any section header has. */
static int segments_build_id(const struct elf_file *file, u64 left, u8 *buf)
{
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < MIN(n, (size_t)SEGMENTS_MAX); i++) {
		Elf_Data *data;
		int rc;

		if (!gelf_getphdr(file->elf, (int)i, &p))
			break;
		if (p.p_type != PT_NOTE || p.p_filesz > left)
			continue;
		left -= p.p_filesz;
		data = elf_getdata_rawchunk(file->elf, (int64_t)p.p_offset, p.p_filesz,
			p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		rc = data ? notes_build_id(data, buf) : -ENOENT;
		if (rc > 0)
			return rc;
	}
	return -ENOENT;
}

int elf_file_build_id(const struct elf_file *file, u8 *buf)
{
	struct elf_section section = {};
	u64 left = NOTES_MAX;
	int rc;

	/* First the sections: in a separate debug file the program headers are those of the
	 * program, and lead nowhere. */
	while ((section.scn = elf_nextscn(file->elf, section.scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(section.scn, &section.header))
			break;
		if (section.header.sh_type != SHT_NOTE || elf_section_data(&section, left, &data))
			continue;
		left -= section.header.sh_size;
		rc = notes_build_id(data, buf);
		if (rc > 0)
			return rc;
	}
	return segments_build_id(file, left, buf);
}

int elf_file_debuglink(const struct elf_file *file, char name[NAME_MAX + 1], u32 *ret_crc)
{
	struct elf_section section;
	size_t len, crc_at;
	Elf_Data *data;
	u32 crc;
	int rc = elf_section_find(file, ".gnu_debuglink", &section);

	if (!rc)
		rc = elf_section_data(&section, PATH_MAX, &data);
	if (rc)
		return rc;
	len = strnlen(data->d_buf, data->d_size);
	crc_at = (len + 4) & ~3UL;
	if (!len || len > NAME_MAX || crc_at + sizeof(crc) > data->d_size)
		return -ENOEXEC;
	/* A name is all it may be: it is looked for in directories that we choose. */
	if (memchr(data->d_buf, '/', len) || !strcmp(data->d_buf, ".") ||
		!strcmp(data->d_buf, ".."))
		return -ENOEXEC;
	memcpy(&crc, (char *)data->d_buf + crc_at, sizeof(crc));
	if (is_foreign_endian((const unsigned char *)elf_getident(file->elf, NULL)))
		crc = __builtin_bswap32(crc);
	memcpy(name, data->d_buf, len);
	name[len] = '\0';
	*ret_crc = crc;
	return 0;
}
