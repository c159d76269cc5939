/* See elf_table.h. */
#include "cfi/elf_table.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define EH_FRAME_MAX (64ULL << 20) /* more than ten times that of LLVM */
#define HEADER_VERSION 1
#define ENTRY_MAX (64U << 10) /* bytes of one function's, or of what many have in common */
#define INDEX_HEAD 64         /* what comes before the index, at most */
#define INDEX_ENCODING (CFI_PE_DATA | CFI_PE_S4)

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
static int cfi_elf_table_file_read(
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
	rc = cfi_elf_table_file_read(
		file, section.header.sh_offset, section.header.sh_size, buffer, &ret->data);
	if (rc)
		return rc;
	ret->size = section.header.sh_size;
	ret->address = section.header.sh_addr;
	source->file_offset = section.header.sh_offset;
	return 0;
}

/* -ENOENT: the file has none. */
static int index_find(const struct elf_file *file, GElf_Phdr *ret)
{
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n; i++)
		if (!gelf_getphdr(file->elf, (int)i, ret))
			return -ENOENT;
		else if (ret->p_type == PT_GNU_EH_FRAME)
			return ret->p_filesz < 8 ? -ENOENT : 0;
	return -ENOENT;
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
	u8 encoding;
	int rc;

	if (index_find(file, &p))
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
	return cfi_elf_table_file_read(file, source->file_offset, ret->size, buffer, &ret->data);
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

/* The index: where its entries begin in the file, how many, and what they are relative to. */
struct index {
	u64 offset, n, base;
};

static int index_open(const struct elf_file *file, struct index *ret)
{
	u8 head[INDEX_HEAD];
	struct cfi_section section = {.data = head};
	struct cfi_bytes b;
	GElf_Phdr p = {};
	u8 pointer, count, entry;

	if (index_find(file, &p))
		return -ENOENT;
	section.size = MIN(p.p_filesz, (u64)sizeof(head));
	section.address = p.p_vaddr;
	if (p.p_offset > INT64_MAX ||
		pread(file->fd, head, section.size, (off_t)p.p_offset) != (ssize_t)section.size)
		return -EIO;
	b = cfi_bytes_of(&section, 0, section.size);
	if (cfi_u8(&b) != HEADER_VERSION)
		return -ENOENT;
	pointer = cfi_u8(&b);
	count = cfi_u8(&b);
	entry = cfi_u8(&b);
	cfi_pointer(&b, &section, pointer, section.address);
	ret->n = cfi_number(&b, count & CFI_PE_FORMAT);
	ret->offset = p.p_offset + (u64)(b.at - head);
	ret->base = p.p_vaddr;
	return b.bad || entry != INDEX_ENCODING || ret->n > (p.p_filesz - (u64)(b.at - head)) / 8
		       ? -ENOENT
		       : 0;
}

/* The i-th start of code, or (half 1) the address of its entry. */
static int index_read(
	const struct elf_file *file, const struct index *index, u64 i, u32 half, u64 *ret)
{
	s32 relative;

	if (pread(file->fd, &relative, sizeof(relative),
		    (off_t)(index->offset + 8 * i + 4 * half)) != sizeof(relative))
		return -EIO;
	*ret = index->base + (u64)(s64)relative;
	return 0;
}

/* The address of the entry for what begins last at or before the address. */
static int index_search(
	const struct elf_file *file, const struct index *index, u64 address, u64 *ret)
{
	u64 low = 0, high = index->n, at;

	while (low < high) {
		u64 mid = low + (high - low) / 2;
		int rc = index_read(file, index, mid, 0, &at);

		if (rc)
			return rc;
		if (at <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? index_read(file, index, low - 1, 1, ret) : -ENOENT;
}

/* An entry of .eh_frame, whole, at the end of the buffer. */
static int entry_append(const struct elf_file *file, u64 address, cfi_buffer *to)
{
	const struct elf_segment *segment = segment_at(file, address);
	u64 offset, size;
	u32 length;

	if (!segment)
		return -ENOENT;
	offset = segment->offset + (address - segment->address);
	if (offset > INT64_MAX - ENTRY_MAX ||
		pread(file->fd, &length, sizeof(length), (off_t)offset) != sizeof(length))
		return -EIO;
	if (length < sizeof(u32) || length > ENTRY_MAX)
		return -EFBIG;
	size = sizeof(length) + length;
	if (vec_reserve(to, size))
		return -ENOMEM;
	if (pread(file->fd, to->v + to->n, size, (off_t)offset) != (ssize_t)size)
		return -EIO;
	to->n += size;
	return 0;
}

/* What many functions have in common comes first, then the function, where it is in the file: its
 * addresses are relative to that. It refers to the other by how far that is before. */
static int function_read(const struct elf_file *file, u64 address, cfi_buffer *buffer, u64 *ret_at)
{
	static const u32 end;
	u32 back, here;
	u64 common;
	int rc;

	buffer->n = 0;
	rc = entry_append(file, address, buffer);
	if (rc)
		return rc;
	memcpy(&back, buffer->v + sizeof(u32), sizeof(back));
	buffer->n = 0;
	rc = back ? entry_append(file, address + sizeof(u32) - back, buffer) : -ENOENT;
	common = buffer->n;
	rc = rc ? rc : entry_append(file, address, buffer);
	if (!rc && vec_reserve(buffer, sizeof(end)))
		rc = -ENOMEM;
	if (rc)
		return rc;
	here = (u32)common + sizeof(u32);
	memcpy(buffer->v + common + sizeof(u32), &here, sizeof(here));
	memcpy(buffer->v + buffer->n, &end, sizeof(end));
	buffer->n += sizeof(end);
	*ret_at = address - common;
	return 0;
}

int cfi_elf_function(
	const struct elf_file *file, u64 address, cfi_buffer *buffer, struct cfi_source *ret)
{
	struct cfi_source source = {};
	struct index index;
	u64 entry;
	int rc = file->fd < 0 ? -ENOENT : machine_check(file, NULL);

	if (!rc)
		rc = code_range(file, &source, NULL);
	if (!rc)
		rc = index_open(file, &index);
	if (!rc)
		rc = index_search(file, &index, address, &entry);
	if (!rc)
		rc = function_read(file, entry, buffer, &source.eh_frame.address);
	if (rc)
		return rc;
	source.eh_frame.data = buffer->v;
	source.eh_frame.size = buffer->n;
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
