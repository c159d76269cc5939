/* See dwarfinfo.h. */
#include "sym/dwarfinfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>

#include "base/clock.h"
#include "sym/debugimage.h"
#include "sym/dwarfunit.h"

/* Honest files need less than a tenth of it. */
#define INDEX_NS (2 * NSEC_PER_SEC)
#define INDEX_NS_PER_BYTE 20
#define FIND_NS (2 * NSEC_PER_SEC)

struct dwarf_info {
	struct elf_file image;
	struct elf_file alt_image;
	Dwarf *dwarf;
	Dwarf *alt_dwarf;
	VEC(struct dwarf_unit) units;
	struct spans unit_spans; /* values are indexes of units */
	Elf_Data *line_section;  /* NULL: none */
	struct sym_budget *budget;
	u32 user;  /* whose account of the budget */
	u64 bytes; /* was taken from */
};

/* Not from .debug_aranges, which clang does not write and GCC not always in full. */
static int units_index(struct dwarf_info *info)
{
	struct dwarf_unit unit = {};
	Dwarf_CU *cu = NULL;
	u8 type;
	int rc;

	while (!dwarf_get_units(info->dwarf, cu, &cu, NULL, &type, &unit.die, NULL)) {
		if (budget_over(info->budget))
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

static Elf_Data *line_section_find(const struct elf_file *image)
{
	struct elf_section section;
	Elf_Data *data;

	if (elf_section_find(image, ".debug_line", &section))
		return NULL;
	return elf_section_data(&section, UINT64_MAX, &data) ? NULL : data;
}

static int image_start(struct dwarf_info *info, const struct elf_file *file,
	struct elf_file *ret_image, Dwarf **ret_dwarf)
{
	u64 bytes;
	int rc = debug_image_open(file, info->budget, ret_image, &bytes);

	if (rc)
		return rc;
	info->bytes += bytes;
	*ret_dwarf = dwarf_begin_elf(ret_image->elf, DWARF_C_READ, NULL);
	return *ret_dwarf ? 0 : -ENOEXEC;
}

int dwarf_info_open(const struct elf_file *file, const struct elf_file *alt,
	struct sym_budget *budget, struct dwarf_info **ret)
{
	_cleanup_dwarf_info_ struct dwarf_info *info = calloc(1, sizeof(*info));
	int rc, over;

	if (!info)
		return -ENOMEM;
	info->image.fd = info->alt_image.fd = -1;
	info->budget = budget;
	info->user = budget->user;
	rc = image_start(info, file, &info->image, &info->dwarf);
	if (rc)
		return rc;
	info->line_section = line_section_find(&info->image);
	/* Without the shared file, what refers to it stays unknown, no more. */
	if (alt && !image_start(info, alt, &info->alt_image, &info->alt_dwarf))
		dwarf_setalt(info->dwarf, info->alt_dwarf);
	budget_begin(budget, INDEX_NS + INDEX_NS_PER_BYTE * info->bytes);
	rc = units_index(info);
	over = budget_end(budget);
	if (rc || over)
		return rc ? rc : over;
	*ret = take_ptr(info);
	return 0;
}

void dwarf_info_close(struct dwarf_info *info)
{
	if (!info)
		return;
	vec_each (unit, &info->units)
		dwarf_unit_free(unit);
	vec_free(&info->units);
	spans_free(&info->unit_spans);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	if (info->alt_dwarf)
		dwarf_end(info->alt_dwarf);
	budget_give_back(info->budget, info->user, info->bytes);
	elf_file_close(&info->image);
	elf_file_close(&info->alt_image);
	free(info);
}

int dwarf_info_find(struct dwarf_info *info, u64 address, struct dwarf_frames *ret)
{
	const struct span *span = spans_find(&info->unit_spans, address);
	struct dwarf_unit *unit;
	int rc = 0, over;

	if (!span)
		return -ENOENT;
	unit = &info->units.v[span->value];
	budget_begin(info->budget, FIND_NS);
	if (!unit->loaded)
		rc = dwarf_unit_load(unit, info->line_section, info->budget);
	if (!rc)
		rc = dwarf_unit_find(unit, address, info->budget, ret);
	over = budget_end(info->budget);
	return over ? over : rc;
}
