/* See dwarfinfo.h. */
#include "sym/dwarfinfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <string.h>

#include "sym/dwarfunit.h"

struct dwarf_info {
	struct elf_file file;
	struct elf_file alt;
	Dwarf *dwarf;
	Dwarf *alt_dwarf;
	VEC(struct dwarf_unit) units;
	struct spans unit_spans; /* values are indexes of units */
	Elf_Data *line_section;
	struct sym_budget *budget;
	u64 bytes; /* taken from the budget */
};

/*
 * An ELF file with nothing but one empty .debug_info. It stands in for the shared debug file that
 * could not be found: without one libdw would look for it by itself, opening the name written in
 * the program, which may be that of a FIFO nobody ever writes to.
 */
struct empty_dwarf {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[32];
	char info[8];
};

static void *empty_dwarf_new(void)
{
	static const char names[] = "\0.debug_info\0.shstrtab";
	struct empty_dwarf *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	memcpy(e->header.e_ident, ELFMAG, SELFMAG);
	e->header.e_ident[EI_CLASS] = ELFCLASS64;
	e->header.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	e->header.e_ident[EI_VERSION] = EV_CURRENT;
	e->header.e_type = ET_EXEC;
	e->header.e_version = EV_CURRENT;
	e->header.e_shoff = offsetof(struct empty_dwarf, sections);
	e->header.e_ehsize = sizeof(e->header);
	e->header.e_shentsize = sizeof(e->sections[0]);
	e->header.e_shnum = ARRAY_SIZE(e->sections);
	e->header.e_shstrndx = 2;
	e->sections[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_offset = offsetof(struct empty_dwarf, info),
		.sh_size = sizeof(e->info),
	};
	e->sections[2] = (Elf64_Shdr){
		.sh_name = sizeof("\0.debug_info") - 1 + 1,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct empty_dwarf, names),
		.sh_size = sizeof(e->names),
	};
	memcpy(e->names, names, sizeof(names));
	return e;
}

/* libdw reads the file names of lines from .debug_line_str up to a NUL that need not be there. */
static bool strings_end(const struct elf_file *file)
{
	static const char *const names[] = {
		".debug_str", ".debug_line_str", ".zdebug_str", ".zdebug_line_str"};
	struct elf_section section;
	Elf_Data *data;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (elf_section_find(file, names[i], &section) || !section.header.sh_size)
			continue;
		if (elf_section_data(&section, UINT64_MAX, &data) || !data->d_size)
			return false;
		if (((char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

/* All debug sections are read into memory by this, and decompressed. */
static Dwarf *dwarf_start(const struct elf_file *file)
{
	Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);

	if (dwarf && !strings_end(file)) {
		dwarf_end(dwarf);
		return NULL;
	}
	return dwarf;
}

static int alt_attach(struct dwarf_info *info)
{
	u64 bytes = info->alt.elf ? elf_file_debug_bytes(&info->alt) : 0;
	void *image;
	int rc;

	if (bytes && !budget_take(info->budget, bytes)) {
		info->bytes += bytes;
		info->alt_dwarf = dwarf_start(&info->alt);
	}
	if (!info->alt_dwarf) {
		elf_file_close(&info->alt);
		image = empty_dwarf_new();
		if (!image)
			return -ENOMEM;
		rc = elf_image_open(image, sizeof(struct empty_dwarf), &info->alt);
		if (rc)
			return rc;
		info->alt_dwarf = dwarf_start(&info->alt);
	}
	if (!info->alt_dwarf)
		return -ENOEXEC;
	dwarf_setalt(info->dwarf, info->alt_dwarf);
	elf_file_release_fd(&info->alt);
	return 0;
}

/* Not from .debug_aranges, which clang does not write and GCC not always in full. */
static int units_index(struct dwarf_info *info)
{
	struct dwarf_unit unit = {};
	Dwarf_CU *cu = NULL;
	u8 type;
	int rc;

	while (!dwarf_get_units(info->dwarf, cu, &cu, NULL, &type, &unit.die, NULL)) {
		if (budget_exhausted(info->budget))
			break;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		rc = die_add_spans(&unit.die, &info->unit_spans, info->units.n);
		if (!rc)
			rc = vec_push(&info->units, unit);
		if (rc)
			return rc;
	}
	spans_finish(&info->unit_spans);
	return 0;
}

/* libdw has decompressed it by now. */
static Elf_Data *line_section_find(const struct elf_file *file)
{
	struct elf_section section;
	Elf_Data *data;

	if (elf_section_find(file, ".debug_line", &section) &&
		elf_section_find(file, ".zdebug_line", &section))
		return NULL;
	return elf_section_data(&section, UINT64_MAX, &data) ? NULL : data;
}

static int dwarf_info_start(struct dwarf_info *info, bool alt_linked)
{
	u64 bytes = elf_file_debug_bytes(&info->file);
	int rc;

	if (!bytes)
		return -ENOENT;
	rc = budget_take(info->budget, bytes);
	if (rc)
		return rc;
	info->bytes = bytes;
	info->dwarf = dwarf_start(&info->file);
	if (!info->dwarf)
		return -ENOEXEC;
	info->line_section = line_section_find(&info->file);
	elf_file_release_fd(&info->file);
	rc = alt_linked ? alt_attach(info) : 0;
	return rc ? rc : units_index(info);
}

int dwarf_info_open(struct elf_file *file, struct elf_file *alt, bool alt_linked,
	struct sym_budget *budget, struct dwarf_info **ret)
{
	_cleanup_elf_file_ struct elf_file own = elf_file_take(file);
	_cleanup_elf_file_ struct elf_file own_alt = elf_file_take(alt);
	_cleanup_dwarf_info_ struct dwarf_info *info = calloc(1, sizeof(*info));
	int rc;

	if (!info)
		return -ENOMEM;
	info->file = elf_file_take(&own);
	info->alt = elf_file_take(&own_alt);
	info->budget = budget;
	budget_begin(budget);
	rc = dwarf_info_start(info, alt_linked);
	budget_end(budget);
	if (rc)
		return rc;
	*ret = take_ptr(info);
	return 0;
}

void dwarf_info_close(struct dwarf_info *info)
{
	if (!info)
		return;
	vec_each(unit, &info->units)
		dwarf_unit_free(unit);
	vec_free(&info->units);
	spans_free(&info->unit_spans);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	if (info->alt_dwarf)
		dwarf_end(info->alt_dwarf);
	budget_give_back(info->budget, info->bytes);
	elf_file_close(&info->file);
	elf_file_close(&info->alt);
	free(info);
}

int dwarf_info_find(struct dwarf_info *info, u64 address, struct dwarf_frames *ret)
{
	const struct span *span = spans_find(&info->unit_spans, address);
	struct dwarf_unit *unit;
	int rc = 0;

	if (!span)
		return -ENOENT;
	unit = &info->units.v[span->value];
	budget_begin(info->budget);
	if (!budget_exhausted(info->budget)) {
		if (!unit->loaded)
			rc = dwarf_unit_load(unit, info->line_section, info->budget);
		if (!rc)
			rc = dwarf_unit_find(unit, address, info->budget, ret);
	} else {
		rc = -ENOENT;
	}
	budget_end(info->budget);
	return rc;
}
