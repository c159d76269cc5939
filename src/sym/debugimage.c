/* See debugimage.h. */
#include "sym/debugimage.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define PADDING 64
#define NAMES_BYTES 512
#define SECTION_MAX (1ULL << 40)

static const char *const wanted[] = {
	".debug_info",
	".debug_abbrev",
	".debug_line",
	".debug_str",
	".debug_line_str",
	".debug_ranges",
	".debug_rnglists",
	".debug_addr",
	".debug_str_offsets",
	".debug_types",
};
#define WANTED ARRAY_SIZE(wanted)

/* A section of the file: where its bytes are, and what they unpack to. */
struct piece {
	u64 offset;
	u64 size; /* in the file, after the head of a compressed section */
	u64 full;
	enum { PLAIN, ZLIB, ZSTD } packing;
};

/* The image: headers, then the sections, each followed by padding. */
struct image_head {
	Elf64_Ehdr header;
	Elf64_Shdr sections[WANTED + 2];
	char names[NAMES_BYTES];
};

static bool is_foreign(const struct elf_file *file)
{
	return elf_getident(file->elf, NULL)[EI_DATA] !=
	       (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

static int read_at(const struct elf_file *file, void *buf, u64 size, u64 offset)
{
	u8 *to = buf;

	while (size) {
		ssize_t n = offset > INT64_MAX
				    ? 0
				    : pread(file->fd, to, MIN(size, 1ULL << 30), (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOEXEC;
		to += n;
		offset += (u64)n;
		size -= (u64)n;
	}
	return 0;
}

/* The head of a section with SHF_COMPRESSED. */
static int piece_read_head(const struct elf_file *file, struct piece *p)
{
	bool wide = gelf_getclass(file->elf) == ELFCLASS64, foreign = is_foreign(file);
	size_t head = wide ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	Elf64_Chdr c64;
	Elf32_Chdr c32;
	u32 type;
	int rc;

	if (p->size < head)
		return -ENOEXEC;
	rc = wide ? read_at(file, &c64, head, p->offset) : read_at(file, &c32, head, p->offset);
	if (rc)
		return rc;
	type = wide ? c64.ch_type : c32.ch_type;
	p->full = wide ? c64.ch_size : c32.ch_size;
	if (foreign) {
		type = __builtin_bswap32(type);
		p->full = wide ? __builtin_bswap64(p->full) : __builtin_bswap32((u32)p->full);
	}
	if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD)
		return -ENOTSUP;
	p->packing = type == ELFCOMPRESS_ZLIB ? ZLIB : ZSTD;
	p->offset += head;
	p->size -= head;
	return 0;
}

/* The head of a .zdebug_ section: "ZLIB" and the size, big-endian. */
static int piece_read_old_head(const struct elf_file *file, struct piece *p)
{
	struct {
		char magic[4];
		u8 size[8];
	} head;
	int rc;

	if (p->size < sizeof(head))
		return -ENOEXEC;
	rc = read_at(file, &head, sizeof(head), p->offset);
	if (rc)
		return rc;
	if (memcmp(head.magic, "ZLIB", sizeof(head.magic)))
		return -ENOEXEC;
	memcpy(&p->full, head.size, sizeof(p->full));
	p->full = be64toh(p->full);
	p->packing = ZLIB;
	p->offset += sizeof(head);
	p->size -= sizeof(head);
	return 0;
}

static int piece_find(const struct elf_file *file, const char *name, struct piece *ret)
{
	struct piece p = {.packing = PLAIN};
	struct elf_section section;
	bool old = false;
	char old_name[32];
	int rc = elf_section_find(file, name, &section);

	if (rc) {
		snprintf(old_name, sizeof(old_name), ".z%s", name + 1);
		rc = elf_section_find(file, old_name, &section);
		old = true;
	}
	if (rc)
		return rc;
	p.offset = section.header.sh_offset;
	p.size = p.full = section.header.sh_size;
	if (section.header.sh_flags & SHF_COMPRESSED)
		rc = piece_read_head(file, &p);
	else if (old)
		rc = piece_read_old_head(file, &p);
	if (!rc && (p.full > SECTION_MAX || p.size > SECTION_MAX))
		rc = -EFBIG;
	if (!rc)
		*ret = p;
	return rc;
}

bool debug_image_possible(const struct elf_file *file)
{
	struct piece piece;

	return file->fd >= 0 && !piece_find(file, wanted[0], &piece);
}

static int piece_unpack(const struct piece *p, const void *packed, void *to)
{
	unsigned long full = p->full;

	if (p->packing == ZLIB)
		return uncompress(to, &full, packed, p->size) == Z_OK && full == p->full ? 0
											 : -EBADMSG;
	return ZSTD_decompress(to, full, packed, p->size) == full ? 0 : -EBADMSG;
}

static int piece_load(const struct elf_file *file, const struct piece *p, void *to)
{
	_cleanup_free_ void *packed = NULL;
	int rc;

	if (p->packing == PLAIN)
		return read_at(file, to, p->full, p->offset);
	packed = malloc(p->size + 1);
	if (!packed)
		return -ENOMEM;
	rc = read_at(file, packed, p->size, p->offset);
	return rc ? rc : piece_unpack(p, packed, to);
}

static u64 padded(u64 size)
{
	return (size + 2 * PADDING - 1) / PADDING * PADDING;
}

/* libelf reads headers in the byte order of the file. */
static void header_fill(struct image_head *head, bool foreign)
{
	Elf64_Ehdr *h = &head->header;

	memcpy(h->e_ident, ELFMAG, SELFMAG);
	h->e_ident[EI_CLASS] = ELFCLASS64;
	h->e_ident[EI_DATA] = (BYTE_ORDER == LITTLE_ENDIAN) != foreign ? ELFDATA2LSB : ELFDATA2MSB;
	h->e_ident[EI_VERSION] = EV_CURRENT;
	h->e_type = ET_EXEC;
	h->e_version = EV_CURRENT;
	h->e_shoff = offsetof(struct image_head, sections);
	h->e_ehsize = sizeof(*h);
	h->e_shentsize = sizeof(head->sections[0]);
	h->e_shnum = WANTED + 2;
	h->e_shstrndx = WANTED + 1;
	if (!foreign)
		return;
	h->e_type = __builtin_bswap16(h->e_type);
	h->e_version = __builtin_bswap32(h->e_version);
	h->e_shoff = __builtin_bswap64(h->e_shoff);
	h->e_ehsize = __builtin_bswap16(h->e_ehsize);
	h->e_shentsize = __builtin_bswap16(h->e_shentsize);
	h->e_shnum = __builtin_bswap16(h->e_shnum);
	h->e_shstrndx = __builtin_bswap16(h->e_shstrndx);
}

static void section_fill(Elf64_Shdr *s, size_t name, u32 type, u64 offset, u64 size, bool foreign)
{
	*s = (Elf64_Shdr){
		.sh_name = (u32)name,
		.sh_type = type,
		.sh_offset = offset,
		.sh_size = size,
		.sh_addralign = 1,
	};
	if (!foreign)
		return;
	s->sh_name = __builtin_bswap32(s->sh_name);
	s->sh_type = __builtin_bswap32(s->sh_type);
	s->sh_offset = __builtin_bswap64(s->sh_offset);
	s->sh_size = __builtin_bswap64(s->sh_size);
	s->sh_addralign = __builtin_bswap64(s->sh_addralign);
}

static int image_fill(const struct elf_file *file, const struct piece *pieces, char *image)
{
	struct image_head *head = (struct image_head *)image;
	bool foreign = is_foreign(file);
	u64 at = padded(sizeof(*head));
	size_t name = 1;
	int rc;

	header_fill(head, foreign);
	for (size_t i = 0; i < WANTED; i++) {
		if (!pieces[i].full)
			continue;
		rc = piece_load(file, &pieces[i], image + at);
		/* One damaged section need not make the others worthless. */
		if (rc == -ENOMEM)
			return rc;
		strcpy(head->names + name, wanted[i]);
		section_fill(&head->sections[i + 1], name, rc ? SHT_NULL : SHT_PROGBITS, at,
			pieces[i].full, foreign);
		name += strlen(wanted[i]) + 1;
		at += padded(pieces[i].full);
	}
	section_fill(&head->sections[WANTED + 1], 0, SHT_STRTAB, offsetof(struct image_head, names),
		sizeof(head->names), foreign);
	return 0;
}

int debug_image_open(const struct elf_file *file, struct sym_budget *budget, struct elf_file *ret,
	u64 *ret_bytes)
{
	struct piece pieces[WANTED] = {};
	u64 total = padded(sizeof(struct image_head)), packed = 0;
	char *image;
	int rc;

	if (!debug_image_possible(file))
		return -ENOENT;
	for (size_t i = 0; i < WANTED; i++) {
		if (piece_find(file, wanted[i], &pieces[i]))
			continue;
		total += padded(pieces[i].full);
		packed = MAX(packed, pieces[i].packing == PLAIN ? 0 : pieces[i].size);
	}
	rc = budget_take(budget, total + packed);
	if (rc)
		return rc;
	budget_give_back(budget, budget->user, packed);
	image = calloc(1, total);
	rc = image ? image_fill(file, pieces, image) : -ENOMEM;
	if (rc)
		free(image);
	else
		rc = elf_image_open(image, total, ret);
	if (rc)
		budget_give_back(budget, budget->user, total);
	else
		*ret_bytes = total;
	return rc;
}
