/* See entry.h. */
#include "cfi/entry.h"

#define LENGTH_64 0xffffffffU
#define RETURN_COLUMN 16
#define ORDER_MAX 8 /* letters of an augmentation */

enum cfi_entry_kind cfi_entry_read(
	const struct cfi_section *section, u64 offset, struct cfi_entry *ret)
{
	struct cfi_bytes b = cfi_bytes_of(section, offset, ~0ULL);
	struct cfi_entry entry = {.offset = offset};
	u64 length, id, id_at;
	u32 id_size = 4;

	if (!b.bad && cfi_left(&b) < 4)
		return CFI_ENTRY_END;
	length = cfi_uint(&b, 4);
	if (!b.bad && !length)
		return CFI_ENTRY_END;
	if (length == LENGTH_64) {
		length = cfi_uint(&b, 8);
		id_size = 8;
	}
	entry.body = cfi_take(&b, length);
	if (b.bad)
		return CFI_ENTRY_DAMAGED;
	entry.next = (u64)(b.at - section->data);
	id_at = (u64)(entry.body.at - section->data);
	id = cfi_uint(&entry.body, id_size);
	if (entry.body.bad || id > id_at)
		return CFI_ENTRY_DAMAGED;
	entry.cie_offset = id_at - id;
	*ret = entry;
	return id ? CFI_ENTRY_FDE : CFI_ENTRY_CIE;
}

/* The letters behind the 'z', and the data they have. */
static int augmentation_read(const struct cfi_section *section, const u8 *letters, u32 n,
	struct cfi_bytes data, struct cfi_cie *cie)
{
	for (u32 i = 1; i < n; i++) {
		u8 encoding;

		switch (letters[i]) {
		case 'R':
			cie->pointers = cfi_u8(&data);
			break;
		case 'P': /* the personality routine, often by way of a pointer to it */
			encoding = cfi_u8(&data);
			cfi_pointer(&data, section, encoding & (u8)~CFI_PE_INDIRECT, 0);
			break;
		case 'L':
			cfi_u8(&data);
			break;
		case 'S':
			cie->signal = 1;
			break;
		default:
			return -1;
		}
	}
	return data.bad ? -1 : 0;
}

static u32 letters_read(struct cfi_bytes *b, u8 *letters)
{
	u32 n = 0;

	for (u8 letter; (letter = cfi_u8(b)); n++) {
		if (n == ORDER_MAX) {
			cfi_fail(b);
			return 0;
		}
		letters[n] = letter;
	}
	return n;
}

int cfi_cie_read(const struct cfi_section *section, u64 offset, struct cfi_cie *ret)
{
	struct cfi_cie cie = {.offset = offset};
	u8 version, letters[ORDER_MAX] = {};
	struct cfi_entry entry;
	struct cfi_bytes *b = &entry.body, data;
	u64 column;
	u32 n;

	if (cfi_entry_read(section, offset, &entry) != CFI_ENTRY_CIE)
		return -1;
	version = cfi_u8(b);
	if (version != 1 && version != 3 && version != 4)
		return -1;
	n = letters_read(b, letters);
	if (n && letters[0] != 'z')
		return -1;
	if (version == 4 && (cfi_u8(b) != 8 || cfi_u8(b) != 0)) /* sizes of address, of segment */
		return -1;
	cie.code_align = cfi_uleb(b);
	cie.data_align = cfi_sleb(b);
	column = version == 1 ? cfi_u8(b) : cfi_uleb(b);
	if (n) {
		cie.has_more_data = 1;
		data = cfi_take(b, cfi_uleb(b));
		if (augmentation_read(section, letters, n, data, &cie))
			return -1;
	}
	if (b->bad || column != RETURN_COLUMN)
		return -1;
	cie.instructions = *b;
	*ret = cie;
	return 0;
}

int cfi_fde_read(const struct cfi_section *section, const struct cfi_entry *entry,
	const struct cfi_cie *cie, struct cfi_fde *ret)
{
	struct cfi_bytes b = entry->body;
	struct cfi_fde fde;
	u64 size;

	fde.start = cfi_pointer(&b, section, cie->pointers, 0);
	size = cfi_number(&b, cie->pointers & CFI_PE_FORMAT);
	if (cie->has_more_data)
		cfi_skip(&b, cfi_uleb(&b));
	if (b.bad || fde.start + size < fde.start)
		return -1;
	fde.end = fde.start + size;
	fde.instructions = b;
	*ret = fde;
	return 0;
}
