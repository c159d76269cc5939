/* See dwarfunit.h. */
#include "sym/dwarfunit.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define RANGES_PER_DIE_MAX 65536
#define DEPTH_MAX 64
/* libdw makes up to 100 bytes of memory of each byte of a line program, and cannot be stopped in
 * it. Units that compilers make stay under 1 MiB with few exceptions; one over this has no
 * lines. */
#define LINE_PROGRAM_MAX (4UL << 20)

int die_add_spans(Dwarf_Die *die, struct spans *spans, u64 value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	for (int i = 0; i < RANGES_PER_DIE_MAX; i++) {
		int rc;

		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			break;
		/* Functions that the linker dropped are left at address 0. */
		rc = start ? spans_add(spans, start, end, value) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* To the next sibling. Offsets must grow, or hostile references could lead in a circle. */
static bool die_next(Dwarf_Die *die)
{
	Dwarf_Off at = dwarf_dieoffset(die);

	return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > at;
}

/* Whether functions with code may be below. Compilers put them in the type they are a method of,
 * or (lambdas, nested functions) in the function they are written in. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
	case DW_TAG_variant_part:
	case DW_TAG_variant:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static int functions_walk(
	struct dwarf_unit *unit, Dwarf_Die *parent, int depth, struct sym_budget *budget)
{
	Dwarf_Die die;
	int rc;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (budget_over(budget))
			return 0;
		if (tag == DW_TAG_subprogram) {
			rc = die_add_spans(&die, &unit->functions, dwarf_dieoffset(&die));
			if (rc)
				return rc;
		}
		if (may_hold_functions(tag) && dwarf_haschildren(&die) > 0) {
			rc = functions_walk(unit, &die, depth + 1, budget);
			if (rc)
				return rc;
		}
	} while (die_next(&die));
	return 0;
}

/* The length in the head of a line program; UINT64_MAX if it is not sound. */
static u64 line_program_size(Dwarf_Die *die, const Elf_Data *section)
{
	bool foreign = elf_getident(dwarf_getelf(dwarf_cu_getdwarf(die->cu)), NULL)[EI_DATA] !=
		       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
	Dwarf_Attribute attr;
	Dwarf_Word at;
	u32 size;
	u64 size64;

	if (!section || dwarf_formudata(dwarf_attr(die, DW_AT_stmt_list, &attr), &at))
		return UINT64_MAX;
	if (at > section->d_size || section->d_size - at < 12)
		return UINT64_MAX;
	memcpy(&size, (char *)section->d_buf + at, sizeof(size));
	memcpy(&size64, (char *)section->d_buf + at + 4, sizeof(size64));
	if (size == UINT32_MAX)
		return foreign ? __builtin_bswap64(size64) : size64;
	return foreign ? __builtin_bswap32(size) : size;
}

int dwarf_unit_load(
	struct dwarf_unit *unit, const Elf_Data *line_section, struct sym_budget *budget)
{
	int rc;

	unit->loaded = true;
	rc = functions_walk(unit, &unit->die, 0, budget);
	spans_finish(&unit->functions);
	if (rc || line_program_size(&unit->die, line_section) > LINE_PROGRAM_MAX)
		return rc;
	if (dwarf_getsrclines(&unit->die, &unit->lines, &unit->lines_n))
		unit->lines_n = 0;
	if (dwarf_getsrcfiles(&unit->die, &unit->files, &unit->files_n))
		unit->files_n = 0;
	return 0;
}

void dwarf_unit_free(struct dwarf_unit *unit)
{
	spans_free(&unit->functions);
}

static u64 line_address(const struct dwarf_unit *unit, size_t i)
{
	Dwarf_Addr address;

	return dwarf_lineaddr(dwarf_onesrcline(unit->lines, i), &address) ? UINT64_MAX : address;
}

/* libdw's own search asserts what a damaged file need not hold. */
static void line_find(const struct dwarf_unit *unit, u64 address, struct dwarf_frame *frame)
{
	size_t lo = 0, hi = unit->lines_n;
	bool end = true;
	int number;
	Dwarf_Line *line;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (line_address(unit, mid) > address)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (!lo)
		return;
	line = dwarf_onesrcline(unit->lines, lo - 1);
	if (dwarf_lineendsequence(line, &end) || end)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = (u32)number;
}

/* From the DIE or what it is an instance of. */
static const char *die_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static const char *die_function_name(Dwarf_Die *die)
{
	const char *name = die_string(die, DW_AT_linkage_name);

	if (!name)
		name = die_string(die, DW_AT_MIPS_linkage_name);
	if (!name)
		name = die_string(die, DW_AT_name);
	return name && *name ? name : NULL;
}

static u64 die_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attr), &value) ? 0 : value;
}

/* The calls that lead to an address inside of one function, outermost first. */
struct inline_chain {
	Dwarf_Die v[DWARF_FRAMES_MAX];
	size_t n;
};

static bool has_ranges(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* Follows the inlined calls below a DIE down to the address. Whether any was found. */
static bool inlines_walk(struct inline_chain *chain, Dwarf_Die *parent, u64 address, int depth,
	struct sym_budget *budget)
{
	Dwarf_Die die;

	if (depth > 4 * DEPTH_MAX || chain->n == DWARF_FRAMES_MAX || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (budget_over(budget))
			return false;
		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&die, address) > 0) {
			chain->v[chain->n++] = die;
			inlines_walk(chain, &die, address, depth + 1, budget);
			return true;
		}
		if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
			tag != DW_TAG_catch_block)
			continue;
		/* A block need not have ranges, and those it has need not hold those of the
		 * calls in it. */
		if (has_ranges(&die) && dwarf_haspc(&die, address) <= 0)
			continue;
		if (inlines_walk(chain, &die, address, depth + 1, budget))
			return true;
	} while (die_next(&die));
	return false;
}

static void frames_build(
	const struct dwarf_unit *unit, struct inline_chain *chain, struct dwarf_frames *ret)
{
	for (size_t i = 0; i < chain->n; i++) {
		Dwarf_Die *die = &chain->v[chain->n - 1 - i];
		struct dwarf_frame *frame = &ret->v[i];

		frame->function = die_function_name(die);
		frame->inlined = i + 1 < chain->n;
		if (frame->inlined) {
			u64 file = die_number(die, DW_AT_call_file);
			struct dwarf_frame *caller = &ret->v[i + 1];

			*caller = (struct dwarf_frame){};
			caller->line = (u32)die_number(die, DW_AT_call_line);
			if (file < unit->files_n)
				caller->file = dwarf_filesrc(unit->files, file, NULL, NULL);
		}
	}
	/* An inlined call whose name dwz moved to a file that is not there tells nothing. */
	for (size_t i = 0; i < chain->n; i++)
		if (ret->v[i].function || !ret->v[i].inlined)
			ret->v[ret->n++] = ret->v[i];
}

static const char *unit_dir(const struct dwarf_unit *unit)
{
	Dwarf_Die die = unit->die;
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &attr));
}

int dwarf_unit_find(
	struct dwarf_unit *unit, u64 address, struct sym_budget *budget, struct dwarf_frames *ret)
{
	const struct span *span = spans_find(&unit->functions, address);
	struct inline_chain chain;

	chain.n = 0;
	ret->n = 0;
	ret->start = 0;
	ret->v[0] = (struct dwarf_frame){};
	line_find(unit, address, &ret->v[0]);
	if (span && dwarf_offdie(dwarf_cu_getdwarf(unit->die.cu), span->value, &chain.v[0])) {
		chain.n = 1;
		ret->start = span->start;
		inlines_walk(&chain, &chain.v[0], address, 0, budget);
		frames_build(unit, &chain, ret);
	} else if (ret->v[0].file) {
		ret->n = 1;
	}
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i].dir = unit_dir(unit);
	return ret->n ? 0 : -ENOENT;
}
