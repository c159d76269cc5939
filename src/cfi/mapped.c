/* See mapped.h. The index is described in the LSB, "Exception Frames". */
#include "cfi/mapped.h"

#define VERSION 1
#define ENTRY_SIZE 8 /* start of code, address of FDE: 4 bytes each */
#define ENTRY_ENCODING (CFI_PE_DATA | CFI_PE_S4)

int cfi_mapped_init(
	struct cfi_mapped *m, const struct cfi_section *memory, u64 header_address, u64 header_size)
{
	struct cfi_mapped mapped = {.memory = *memory, .table = header_address};
	struct cfi_bytes b;
	u8 pointer, count, entry;

	if (header_address < memory->address)
		return -1;
	b = cfi_bytes_of(memory, header_address - memory->address, header_size);
	if (cfi_u8(&b) != VERSION)
		return -1;
	pointer = cfi_u8(&b);
	count = cfi_u8(&b);
	entry = cfi_u8(&b);
	cfi_pointer(&b, memory, pointer, header_address);
	mapped.n = cfi_number(&b, count & CFI_PE_FORMAT);
	if (b.bad || entry != ENTRY_ENCODING || mapped.n > cfi_left(&b) / ENTRY_SIZE)
		return -1;
	mapped.entries = (u64)(b.at - memory->data);
	*m = mapped;
	return 0;
}

static u64 entry_read(const struct cfi_mapped *m, u64 i, u32 half)
{
	struct cfi_bytes b = cfi_bytes_of(&m->memory, m->entries + i * ENTRY_SIZE + 4 * half, 4);

	return m->table + cfi_number(&b, CFI_PE_S4);
}

/* Address of the FDE that starts last at or before the instruction; 0: none. */
static u64 fde_find(const struct cfi_mapped *m, u64 address)
{
	u64 lo = 0, hi = m->n;

	while (lo < hi) {
		u64 mid = lo + (hi - lo) / 2;

		if (entry_read(m, mid, 0) <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? entry_read(m, lo - 1, 1) : 0;
}

u8 cfi_mapped_find(const struct cfi_mapped *m, u64 address, struct cfi_row *ret)
{
	u64 fde_at = fde_find(m, address);
	struct cfi_program program;
	struct cfi_state initial;
	struct cfi_entry entry;
	struct cfi_cie cie;
	struct cfi_fde fde;

	if (fde_at < m->memory.address ||
		cfi_entry_read(&m->memory, fde_at - m->memory.address, &entry) != CFI_ENTRY_FDE ||
		cfi_cie_read(&m->memory, entry.cie_offset, &cie) ||
		cfi_fde_read(&m->memory, &entry, &cie, &fde) || address < fde.start)
		return 0;
	cfi_state_init(&m->memory, &cie, &initial);
	cfi_program_start(&program, &m->memory, &cie, &initial, &fde);
	while (cfi_program_next(&program, ret)) {
		if (address < ret->end)
			return 1;
	}
	return 0;
}
