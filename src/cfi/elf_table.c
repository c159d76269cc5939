/* See elf_table.h. */
#include "cfi/elf_table.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define EH_FRAME_MAX (64ULL << 20) /* more than ten times that of LLVM */
#define HEADER_VERSION 1

/* Bytes of the file, read into memory that is libelf's. */
static int file_bytes(const struct elf_file *file, u64 offset, u64 n, const u8 **ret)
{
	Elf_Data *data;

	if (offset > INT64_MAX || n > EH_FRAME_MAX)
		return -EFBIG;
	data = elf_getdata_rawchunk(file->elf, (int64_t)offset, n, ELF_T_BYTE);
	if (!data || !data->d_buf || data->d_size < n)
		return -EIO;
	*ret = data->d_buf;
	return 0;
}

static int machine_check(const struct elf_file *file, struct err *err)
{
	GElf_Ehdr header;
	bool wide;

	if (!gelf_getehdr(file->elf, &header))
		return err_set(err, -ENOEXEC, "the file has no ELF header");
	wide = header.e_ident[EI_CLASS] == ELFCLASS64;
	if (header.e_machine == EM_X86_64 && wide)
		return 0;
	return err_set(err, -ENOEXEC,
		"the file is %s-bit code for ELF machine %u; call-frame information is read of "
		"64-bit x86-64 only",
		wide ? "64" : "32", header.e_machine);
}

/* The same, into the buffer, if there is one. */
static int file_read(
	const struct elf_file *file, u64 offset, u64 n, cfi_buffer *buffer, const u8 **ret)
{
	if (!buffer || file->fd < 0)
		return file_bytes(file, offset, n, ret);
	if (offset > INT64_MAX || n > EH_FRAME_MAX)
		return -EFBIG;
	buffer->n = 0;
	if (vec_reserve(buffer, n))
		return -ENOMEM;
	if (pread(file->fd, buffer->v, n, (off_t)offset) != (ssize_t)n)
		return -EIO;
	*ret = buffer->v;
	return 0;
}

/* The loaded segment that an address is in, with bytes in the file behind it. */
static const struct elf_segment *segment_at(const struct elf_file *file, u64 address)
{
	for (size_t i = 0; i < file->segments.n; i++) {
		const struct elf_segment *s = &file->segments.v[i];

		if (address >= s->address && address - s->address < s->size)
			return s;
	}
	return NULL;
}

static void code_include(struct cfi_source *source, u64 address, u64 size)
{
	if (!size || address + size < address)
		return;
	source->code_start = MIN(source->code_start, address);
	source->code_end = MAX(source->code_end, address + size);
}

/* By sections where there are any: some linkers put data into the segment with the code. */
static int code_range(const struct elf_file *file, struct cfi_source *source, struct err *err)
{
	struct elf_section section = {};

	source->code_start = UINT64_MAX;
	while ((section.scn = elf_nextscn(file->elf, section.scn))) {
		if (gelf_getshdr(section.scn, &section.header) &&
			section.header.sh_flags & SHF_EXECINSTR)
			code_include(source, section.header.sh_addr, section.header.sh_size);
	}
	for (size_t i = 0; !source->code_end && i < file->segments.n; i++) {
		const struct elf_segment *s = &file->segments.v[i];

		if (s->executable)
			code_include(source, s->address, s->size);
	}
	if (!source->code_end)
		return err_set(err, -ENOENT, "the file has no code");
	if (source->code_end - source->code_start > UINT32_MAX)
		return err_set(err, -EFBIG, "the file has more than 4 GiB of code");
	return 0;
}

static int section_from_name(
	const struct elf_file *file, cfi_buffer *buffer, struct cfi_source *source)
{
	struct cfi_section *ret = &source->eh_frame;
	struct elf_section section;
	int rc = elf_section_find(file, ".eh_frame", &section);

	if (rc)
		return rc;
	/* A separate debug file keeps the header of the section only. */
	if (section.header.sh_flags & SHF_COMPRESSED)
		return -ENOTSUP;
	rc = file_read(file, section.header.sh_offset, section.header.sh_size, buffer, &ret->data);
	if (rc)
		return rc;
	ret->size = section.header.sh_size;
	ret->address = section.header.sh_addr;
	source->file_offset = section.header.sh_offset;
	return 0;
}

/* Files without section headers: by PT_GNU_EH_FRAME. The section's end is not told; it ends with a
 * terminator, at the latest with its segment. */
static int section_from_header(
	const struct elf_file *file, cfi_buffer *buffer, struct cfi_source *source)
{
	struct cfi_section *ret = &source->eh_frame;
	struct cfi_section header = {};
	const struct elf_segment *segment;
	struct cfi_bytes bytes;
	GElf_Phdr p = {};
	size_t n;
	u8 encoding;
	int rc;

	if (elf_getphdrnum(file->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n && p.p_type != PT_GNU_EH_FRAME; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &p))
			return -ENOENT;
	}
	if (p.p_type != PT_GNU_EH_FRAME || p.p_filesz < 8)
		return -ENOENT;
	header = (struct cfi_section){.size = MIN(p.p_filesz, 16ULL), .address = p.p_vaddr};
	rc = file_bytes(file, p.p_offset, header.size, &header.data);
	if (rc)
		return rc;
	bytes = cfi_bytes_of(&header, 0, header.size);
	if (cfi_u8(&bytes) != HEADER_VERSION)
		return -ENOENT;
	encoding = cfi_u8(&bytes);
	cfi_skip(&bytes, 2);
	ret->address = cfi_pointer(&bytes, &header, encoding, header.address);
	segment = bytes.bad ? NULL : segment_at(file, ret->address);
	if (!segment)
		return -ENOENT;
	ret->size = MIN(segment->size - (ret->address - segment->address), EH_FRAME_MAX);
	source->file_offset = segment->offset + (ret->address - segment->address);
	return file_read(file, source->file_offset, ret->size, buffer, &ret->data);
}

static int code_read(void *ctx, u64 address, void *buf, size_t n)
{
	const struct elf_file *file = ctx;
	const struct elf_segment *segment = segment_at(file, address);
	const u8 *bytes;
	u64 offset;
	int rc;

	if (!segment || segment->size - (address - segment->address) < n)
		return -ENOENT;
	offset = segment->offset + (address - segment->address);
	if (file->fd >= 0)
		return offset <= INT64_MAX && pread(file->fd, buf, n, (off_t)offset) == (ssize_t)n
			       ? 0
			       : -EIO;
	rc = file_bytes(file, offset, n, &bytes);
	if (!rc)
		memcpy(buf, bytes, n);
	return rc;
}

int cfi_elf_source(
	const struct elf_file *file, cfi_buffer *buffer, struct cfi_source *ret, struct err *err)
{
	struct cfi_source source = {.read_code = code_read, .ctx = (void *)file};
	int rc = machine_check(file, err);

	if (!rc)
		rc = code_range(file, &source, err);
	if (rc)
		return rc;
	rc = section_from_name(file, buffer, &source);
	if (rc == -ENOENT)
		rc = section_from_header(file, buffer, &source);
	if (rc == -ENOENT)
		return err_set(err, rc, "the file has no call-frame information (.eh_frame)");
	if (rc)
		return err_errno(err, rc, "its call-frame information cannot be read");
	*ret = source;
	return 0;
}

int cfi_elf_compile(const struct elf_file *file, struct cfi_table **ret, struct err *err)
{
	struct cfi_source source;
	int rc = cfi_elf_source(file, NULL, &source, err);

	if (rc)
		return rc;
	rc = cfi_table_compile(&source, ret);
	return rc ? err_errno(err, rc, "its call-frame information cannot be compiled") : 0;
}
