/* See elfvars.h. */
#include "sym/elfvars.h"

#include <errno.h>
#include <string.h>

#define SYMBOL_BYTES_MAX (64U << 20)
#define PAGE_MASK (~4095ULL)

void elf_variables_free(struct elf_variables *v)
{
	vec_free(&v->list);
	free(v->names);
	v->names = NULL;
}

static int names_copy(const struct elf_file *file, u32 index, char **ret, size_t *ret_n)
{
	struct elf_section section;
	Elf_Data *data;
	char *copy;
	int rc = elf_section_at(file, index, &section);

	if (rc || section.header.sh_type != SHT_STRTAB)
		return -ENOEXEC;
	rc = elf_section_data(&section, SYMBOL_BYTES_MAX, &data);
	if (rc)
		return rc;
	copy = malloc(data->d_size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data->d_buf, data->d_size);
	copy[data->d_size] = '\0';
	*ret = copy;
	*ret_n = data->d_size;
	return 0;
}

static bool is_bss(const struct elf_file *file, const GElf_Sym *sym)
{
	struct elf_section section;

	return sym->st_shndx < SHN_LORESERVE && !elf_section_at(file, sym->st_shndx, &section) &&
	       section.header.sh_type == SHT_NOBITS;
}

static int symbol_add(
	const struct elf_file *file, const GElf_Sym *sym, size_t names_n, struct elf_variables *v)
{
	struct elf_variable one = {.address = sym->st_value, .size = sym->st_size};

	if (sym->st_shndx == SHN_UNDEF || sym->st_name >= names_n || !v->names[sym->st_name] ||
		sym->st_size > ~sym->st_value)
		return 0;
	one.name = v->names + sym->st_name;
	one.bss = is_bss(file, sym);
	return vec_push(&v->list, one);
}

int elf_variables_read(
	const struct elf_file *file, u32 type, u64 min_bytes, struct elf_variables *ret)
{
	struct elf_variables v = {};
	struct elf_section table;
	Elf_Data *data;
	GElf_Sym sym;
	size_t names_n;
	int rc = elf_section_find_type(file, SHT_SYMTAB, &table);

	if (rc)
		rc = elf_section_find_type(file, SHT_DYNSYM, &table);
	if (rc)
		return -ENOENT;
	rc = elf_section_data(&table, SYMBOL_BYTES_MAX, &data);
	rc = rc ? rc : names_copy(file, table.header.sh_link, &v.names, &names_n);
	for (int i = 0; !rc && gelf_getsym(data, i, &sym); i++)
		if (GELF_ST_TYPE(sym.st_info) == type && sym.st_size >= min_bytes)
			rc = symbol_add(file, &sym, names_n, &v);
	if (rc) {
		elf_variables_free(&v);
		return rc;
	}
	*ret = v;
	return 0;
}

int elf_variables_bias(const struct elf_file *file, u64 offset, u64 start, u64 *ret)
{
	int rc = -ENOENT;

	/* Where two segments meet in a page, the mapping is of the later one. */
	vec_each (s, &file->segments) {
		u64 first = s->offset & PAGE_MASK;

		if (s->executable || offset < first || offset >= s->offset + s->size)
			continue;
		*ret = start - ((s->address & PAGE_MASK) + offset - first);
		rc = 0;
	}
	return rc;
}
