/*
 * Fuzzing src/cfi/plain.h against src/cfi/program.h: the input is a section .eh_frame, and
 * the table of it must be the same to the last bit with what the first knows and without. What to
 * start from are pieces of the call-frame information of this program and its libraries, of which
 * mostly the instructions are changed: those of an entry that cannot be read nobody runs.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/cfi/cfi_same.h"

#define PIECE_MAX 512
#define HEAD 17 /* of an FDE: length, CIE, code, its size, no augmentation data */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static struct cfi_same same;
static struct cfi_pieces pieces;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	if (cfi_same_open(&same) || cfi_pieces_open(&pieces) || pieces.list.n < 1000)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!cfi_same_bytes(&same, data, size))
		abort();
	return 0;
}

/* Of one of the section's entries the instructions, in the room that they have. */
static void entry_mutate(uint8_t *data, size_t size, unsigned int random)
{
	const struct cfi_section s = {.data = data, .size = size};
	struct cfi_entry entry = {}, chosen = {};
	enum cfi_entry_kind kind;
	size_t n, left;

	for (u32 i = 1; (kind = cfi_entry_read(&s, entry.next, &entry)) == CFI_ENTRY_CIE ||
			kind == CFI_ENTRY_FDE;
		i++)
		if (random % i == 0)
			chosen = entry;
	if (chosen.next < chosen.offset + HEAD + 1)
		return;
	n = chosen.next - chosen.offset - HEAD;
	left = n - LLVMFuzzerMutate(data + chosen.offset + HEAD, n, n);
	memset(data + chosen.next - left, 0, left); /* nop */
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int random = seed / 16;

	if (size < HEAD || seed % 16 == 0)
		return cfi_piece_take(&pieces.list.v[random % pieces.list.n], data,
			max < PIECE_MAX ? max : PIECE_MAX);
	if (seed % 16 == 1)
		return LLVMFuzzerMutate(data, size, max);
	entry_mutate(data, size, random);
	return size;
}
