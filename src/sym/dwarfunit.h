/*
 * One compilation unit: an index of its functions, its lines, and the inlined calls in a
 * function. Private to dwarfinfo.c.
 */
#ifndef MEMWHY_SYM_DWARFUNIT_H
#define MEMWHY_SYM_DWARFUNIT_H

#include <elfutils/libdw.h>

#include "sym/dwarfinfo.h"
#include "sym/spans.h"

struct dwarf_unit {
	Dwarf_Die die;
	bool loaded;
	struct spans functions; /* values are DIE offsets */
	Dwarf_Lines *lines;
	size_t lines_n;
	Dwarf_Files *files;
	size_t files_n;
};

/* Adds the code ranges of a DIE. 0 or -ENOMEM. */
int die_add_spans(Dwarf_Die *die, struct spans *spans, u64 value);
/* line_section: the content of .debug_line, NULL for none. */
int dwarf_unit_load(
	struct dwarf_unit *unit, const Elf_Data *line_section, struct sym_budget *budget);
int dwarf_unit_find(
	struct dwarf_unit *unit, u64 address, struct sym_budget *budget, struct dwarf_frames *ret);
void dwarf_unit_free(struct dwarf_unit *unit);

#endif
