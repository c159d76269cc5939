/* See minidebug.h. */
#include "sym/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

#define UNPACKED_MAX (64UL << 20)
#define XZ_MEMORY_MAX (128UL << 20)
#define UNPACKED_FIRST (256UL << 10)

/* Decompresses all of the input into malloc()ed memory. */
static int xz_unpack(const void *packed, size_t packed_size, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *out = NULL;
	lzma_stream xz = LZMA_STREAM_INIT;
	size_t cap = 0;
	lzma_ret state;

	if (lzma_stream_decoder(&xz, XZ_MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed;
	xz.avail_in = packed_size;
	do {
		size_t used = cap;
		char *grown;

		cap = cap ? cap * 2 : UNPACKED_FIRST;
		grown = cap <= UNPACKED_MAX ? realloc(out, cap) : NULL;
		if (!grown) {
			lzma_end(&xz);
			return -EFBIG;
		}
		out = grown;
		xz.next_out = (u8 *)out + used;
		xz.avail_out = cap - used;
		state = lzma_code(&xz, LZMA_FINISH);
	} while (state == LZMA_OK && !xz.avail_out);
	*ret_size = xz.total_out;
	lzma_end(&xz);
	if (state != LZMA_STREAM_END)
		return -EBADMSG;
	*ret = take_ptr(out);
	return 0;
}

int minidebug_open(const struct elf_file *file, struct sym_budget *budget, struct elf_file *ret)
{
	struct elf_section section;
	Elf_Data *data;
	size_t size;
	char *image;
	int rc = elf_section_find(file, ".gnu_debugdata", &section);

	if (!rc)
		rc = budget_take(budget, section.header.sh_size);
	if (!rc)
		rc = elf_section_data(&section, UNPACKED_MAX, &data);
	if (!rc)
		rc = xz_unpack(data->d_buf, data->d_size, &image, &size);
	if (rc)
		return rc;
	return elf_image_open(image, size, ret);
}
