/* See gosymbols.h. */
#include "sym/gosymbols.h"

#include <errno.h>

#define KEPT_PER_FUNCTION (sizeof(struct elf_symbol) + sizeof(u64)) /* see elf_symbols */
#define RELOCATIONS_MAX (64UL << 20)

#define TABLE_ALIGN 8

/* Position independent programs have it in what is written once, at their start; where another
 * linker than Go's made them, among other such data: *ret_among. */
static int section_find(const struct elf_file *file, struct elf_section *ret, bool *ret_among)
{
	struct elf_section info;
	int rc = elf_section_find(file, ".gopclntab", ret);

	*ret_among = false;
	if (rc)
		rc = elf_section_find(file, ".data.rel.ro.gopclntab", ret);
	if (!rc || elf_section_find(file, ".go.buildinfo", &info))
		return rc;
	*ret_among = true;
	return elf_section_find(file, ".data.rel.ro", ret);
}

/* Where the table is among other bytes. -ENOENT: nowhere. */
static int table_seek(const char *bytes, u64 size, u64 *ret)
{
	for (u64 at = 0; at < size; at += TABLE_ALIGN) {
		struct go_function f;
		struct go_table t;

		if (go_table_open(bytes + at, size - at, 0, &t) || go_table_function(&t, 0, &f))
			continue;
		*ret = at;
		return 0;
	}
	return -ENOENT;
}

static u64 addend_find(Elf_Data *data, u64 address)
{
	GElf_Rela r;

	for (int i = 0; gelf_getrela(data, i, &r); i++) {
		if (r.r_offset == address)
			return (u64)r.r_addend;
	}
	return 0;
}

/* What a position independent program's loader will write to an address; 0: nothing. */
static u64 relocation_find(const struct elf_file *file, u64 address)
{
	struct elf_section section = {};
	u64 found = 0;
	Elf_Data *data;

	while (!found && (section.scn = elf_nextscn(file->elf, section.scn))) {
		if (!gelf_getshdr(section.scn, &section.header))
			return 0;
		if (section.header.sh_type == SHT_RELA && (section.header.sh_flags & SHF_ALLOC) &&
			!elf_section_data(&section, RELOCATIONS_MAX, &data))
			found = addend_find(data, address);
	}
	return found;
}

static int functions_add(struct elf_symbols *s, const struct go_table *t, struct sym_budget *budget)
{
	size_t before = s->list.n;
	struct go_function f;
	int rc = elf_symbols_pay(s, budget, t->n * KEPT_PER_FUNCTION);

	for (u64 i = 0; !rc && i < t->n && !budget_over(budget); i++) {
		if (!go_table_function(t, i, &f))
			rc = elf_symbols_put(s, f.start, f.end - f.start, f.name);
	}
	return !rc && s->list.n == before ? -ENOENT : rc;
}

/* Reads the table that begins `at` so many bytes into a section. */
static int table_open(const struct elf_file *file, const struct elf_section *section,
	const char *bytes, u64 at, struct go_table *ret)
{
	u64 size = section->header.sh_size - at, text = 0;
	int field = go_table_text_field(bytes + at, size);

	if (field < 0)
		return field;
	if (field)
		text = relocation_find(file, section->header.sh_addr + at + (u64)field);
	return go_table_open(bytes + at, size, text, ret);
}

int go_symbols_load(struct elf_symbols *s, const struct elf_file *file, bool names,
	struct sym_budget *budget, struct go_table *ret)
{
	struct elf_section section;
	struct go_table t;
	u64 at = 0;
	bool among;
	char *bytes;
	int rc = section_find(file, &section, &among);

	if (!rc)
		rc = elf_symbols_hold(s, budget, section.header.sh_size, &bytes);
	if (!rc)
		rc = elf_section_copy(file, &section, bytes);
	if (!rc && among)
		rc = table_seek(bytes, section.header.sh_size, &at);
	if (!rc)
		rc = table_open(file, &section, bytes, at, &t);
	if (!rc && names)
		rc = functions_add(s, &t, budget);
	if (!rc)
		*ret = t;
	return rc;
}
