/* See elftls.h. */
#include "sym/elftls.h"

#include <errno.h>
#include <stdint.h>

#define BYTES_MAX (1ULL << 30)
#define RELOCATIONS_MAX (64U << 20) /* bytes */
#define SYMBOLS_MAX (64U << 20)     /* bytes */

static int machine_check(const struct elf_file *file)
{
	GElf_Ehdr head;

	if (!gelf_getehdr(file->elf, &head))
		return -ENOEXEC;
	return head.e_machine == EM_X86_64 && head.e_ident[EI_CLASS] == ELFCLASS64 ? 0 : -ENOTSUP;
}

/* The block ends at the thread pointer, but for what its alignment takes. */
static int tls_of(const GElf_Phdr *p, struct elf_tls *ret)
{
	u64 align = p->p_align ? p->p_align : 1;

	if (align & (align - 1) || align > BYTES_MAX || !p->p_memsz || p->p_memsz > BYTES_MAX)
		return -ENOEXEC;
	ret->bytes = p->p_memsz;
	ret->below = p->p_memsz + ((-p->p_vaddr - p->p_memsz) & (align - 1));
	return 0;
}

int elf_tls_read(const struct elf_file *file, struct elf_tls *ret)
{
	int rc = machine_check(file);
	GElf_Phdr p;
	size_t n;

	if (rc || elf_getphdrnum(file->elf, &n))
		return rc ? rc : -ENOEXEC;
	for (size_t i = 0; i < n && gelf_getphdr(file->elf, (int)i, &p); i++)
		if (p.p_type == PT_TLS)
			return tls_of(&p, ret);
	return -ENOENT;
}

/* Is what the word is about within the file's own block? By a symbol that another file defines too,
 * it may be in that one's; without a symbol it is, whatever else is loaded. */
static bool word_offset(const GElf_Rela *rela, Elf_Data *symbols, bool *ret_sure, u64 *ret_offset)
{
	size_t number = GELF_R_SYM(rela->r_info);
	GElf_Sym sym = {};

	if (GELF_R_TYPE(rela->r_info) != R_X86_64_TPOFF64)
		return false;
	*ret_sure = !number;
	*ret_offset = (u64)rela->r_addend;
	if (!number)
		return true;
	if (!symbols || number > INT32_MAX || !gelf_getsym(symbols, (int)number, &sym) ||
		sym.st_shndx == SHN_UNDEF)
		return false;
	*ret_offset += sym.st_value;
	return true;
}

int elf_tls_word(const struct elf_file *file, u64 *ret_address, u64 *ret_offset)
{
	struct elf_section section, table;
	Elf_Data *data, *symbols = NULL;
	bool found = false, sure = false;
	GElf_Rela rela;
	int rc = machine_check(file);

	rc = rc ? rc : elf_section_find(file, ".rela.dyn", &section);
	if (!rc && section.header.sh_type != SHT_RELA)
		rc = -ENOEXEC;
	rc = rc ? rc : elf_section_data(&section, RELOCATIONS_MAX, &data);
	if (rc)
		return rc;
	if (!elf_section_find_type(file, SHT_DYNSYM, &table))
		elf_section_data(&table, SYMBOLS_MAX, &symbols);
	for (int i = 0; !sure && gelf_getrela(data, i, &rela); i++) {
		u64 offset;

		if (!word_offset(&rela, symbols, &sure, &offset) || (found && !sure))
			continue;
		found = true;
		*ret_address = rela.r_offset;
		*ret_offset = offset;
	}
	return found ? 0 : -ENOENT;
}
