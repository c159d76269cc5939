/* See entry.h. */
#include "cfi/entry.h"

#define RETURN_COLUMN 16
#define ORDER_MAX 8 /* letters of an augmentation */

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
