/*
 * The same bytes of .eh_frame compiled with what src/cfi/plain.h knows and without it, and pieces
 * of the call-frame information of this program and its libraries to do so with. For a unit test
 * and for a fuzz target.
 */
#ifndef MEMWHY_TESTS_CFI_SAME_H
#define MEMWHY_TESTS_CFI_SAME_H

#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "base/vec.h"
#include "cfi/elf_table.h"
#include "cfi/entry.h"

/* Wherever in the first 4 GiB an entry of any section says that its code is, that is code. */
#define CFI_SAME_SECTION 0x80000000ULL
#define CFI_SAME_CODE_END 0xfffff000ULL

struct cfi_same {
	struct cfi_compiler *with, *without; /* for all, as for the files of a process */
};

static inline int cfi_same_open(struct cfi_same *s)
{
	int rc = cfi_compiler_new(&s->with);

	return rc ? rc : cfi_compiler_new(&s->without);
}

static inline void cfi_same_close(struct cfi_same *s)
{
	cfi_compiler_free(s->with);
	cfi_compiler_free(s->without);
}

static inline bool cfi_tables_same(const struct cfi_table *a, const struct cfi_table *b)
{
	u32 n = a->rows.n;

	return n == b->rows.n && a->n_rules == b->n_rules && a->base == b->base &&
	       a->bytes == b->bytes && !memcmp(&a->counts, &b->counts, sizeof(a->counts)) &&
	       !memcmp(a->rows.rules, b->rows.rules, a->n_rules * sizeof(*a->rows.rules)) &&
	       (!n || (!memcmp(a->rows.pc, b->rows.pc, n * sizeof(*a->rows.pc)) &&
			      !memcmp(a->rows.rule_of, b->rows.rule_of,
				      n * sizeof(*a->rows.rule_of))));
}

/* To the last bit? The table made with plain.h; NULL: it is another one, or none. */
static inline const struct cfi_table *cfi_same_compile(
	struct cfi_same *s, const struct cfi_source *source)
{
	struct cfi_source general = *source;
	const struct cfi_table *with, *without;

	general.general = true;
	if (cfi_compiler_run(s->with, source, &with) ||
		cfi_compiler_run(s->without, &general, &without))
		return NULL;
	return cfi_tables_same(with, without) ? with : NULL;
}

static inline const struct cfi_table *cfi_same_bytes(struct cfi_same *s, const u8 *data, size_t n)
{
	const struct cfi_source source = {
		.eh_frame = {.data = data, .size = n, .address = CFI_SAME_SECTION},
		.code_end = CFI_SAME_CODE_END,
	};

	return cfi_same_compile(s, &source);
}

/* An FDE of a real file. */
struct cfi_piece {
	struct cfi_section section;
	u64 offset;
};

struct cfi_pieces {
	VEC(struct cfi_piece) list; /* in the order of their files */
	VEC(u8 *) sections;
};

static inline int cfi_pieces_add(struct cfi_pieces *pieces, const struct cfi_section *from)
{
	struct cfi_section section = *from;
	struct cfi_entry entry = {};
	u8 *copy = malloc(section.size + 1);
	enum cfi_entry_kind kind;
	int rc = copy ? vec_push(&pieces->sections, copy) : -ENOMEM;

	if (rc)
		return rc;
	memcpy(copy, section.data, section.size);
	section.data = copy;
	while (!rc && (kind = cfi_entry_read(&section, entry.next, &entry)) != CFI_ENTRY_END) {
		if (kind == CFI_ENTRY_DAMAGED)
			return 0;
		if (kind == CFI_ENTRY_FDE)
			rc = vec_push(&pieces->list, ((struct cfi_piece){section, entry.offset}));
	}
	return rc;
}

static inline int cfi_pieces_visit(struct dl_phdr_info *info, size_t size, void *pieces)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_source source;

	(void)size;
	/* The vdso has no file. */
	if (fd < 0 || elf_file_open(fd, &file) || cfi_elf_source(&file, NULL, &source, NULL))
		return 0;
	return cfi_pieces_add(pieces, &source.eh_frame);
}

static inline int cfi_pieces_open(struct cfi_pieces *pieces)
{
	return dl_iterate_phdr(cfi_pieces_visit, pieces);
}

static inline void cfi_pieces_close(struct cfi_pieces *pieces)
{
	vec_each (copy, &pieces->sections)
		free(*copy);
	vec_free(&pieces->sections);
	vec_free(&pieces->list);
}

/* Appends an entry, with another distance to its CIE: 0 for one. */
static inline bool cfi_piece_put(const struct cfi_section *s, const struct cfi_entry *e, u32 id,
	u8 *to, size_t *n, size_t max)
{
	size_t size = e->next - e->offset;

	if (size > max - *n)
		return false;
	memcpy(to + *n, s->data + e->offset, size);
	memcpy(to + *n + 4, &id, sizeof(id));
	*n += size;
	return true;
}

/* A section of the CIE of a piece and of FDEs from there on that have it too, as many as have room;
 * its size. */
static inline size_t cfi_piece_take(const struct cfi_piece *piece, u8 *to, size_t max)
{
	const struct cfi_section *s = &piece->section;
	struct cfi_entry fde = {}, cie = {};
	size_t n = 0;
	u64 of;

	if (cfi_entry_read(s, piece->offset, &fde) != CFI_ENTRY_FDE ||
		cfi_entry_read(s, fde.cie_offset, &cie) != CFI_ENTRY_CIE ||
		!cfi_piece_put(s, &cie, 0, to, &n, max))
		return 0;
	for (of = fde.cie_offset; fde.cie_offset == of;) {
		if (!cfi_piece_put(s, &fde, (u32)(n + 4), to, &n, max) ||
			cfi_entry_read(s, fde.next, &fde) != CFI_ENTRY_FDE)
			break;
	}
	return n;
}

#endif
