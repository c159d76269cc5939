/* See minidebug.h. */
#include "sym/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

#define UNPACKED_MAX (64UL << 20)
#define XZ_MEMORY_MAX (72UL << 20) /* `xz -9` needs 65 */
#define UNPACKED_FIRST (256UL << 10)

/* Memory for what is unpacked: twice as much as before, out of the budget. */
static int out_grow(char **out, size_t *cap, struct sym_budget *budget)
{
	size_t more = *cap ? *cap : UNPACKED_FIRST;
	char *grown;

	if (*cap + more > UNPACKED_MAX || budget_take(budget, more))
		return -EFBIG;
	grown = realloc(*out, *cap + more);
	if (!grown) {
		budget_give_back(budget, budget->user, more);
		return -ENOMEM;
	}
	*out = grown;
	*cap += more;
	return 0;
}

/* Decompresses all of the input into malloc()ed memory. *ret_taken: bytes of the budget, also after
 * a failure. */
static int xz_unpack(const Elf_Data *packed, struct sym_budget *budget, char **ret,
	size_t *ret_size, u64 *ret_taken)
{
	_cleanup_free_ char *out = NULL;
	lzma_stream xz = LZMA_STREAM_INIT;
	size_t cap = 0;
	lzma_ret state;
	int rc;

	if (lzma_stream_decoder(&xz, XZ_MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed->d_buf;
	xz.avail_in = packed->d_size;
	do {
		size_t used = cap;

		rc = out_grow(&out, &cap, budget);
		*ret_taken = cap;
		if (rc) {
			lzma_end(&xz);
			return rc;
		}
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

int minidebug_open(const struct elf_file *file, struct sym_budget *budget, struct elf_file *ret,
	u64 *ret_bytes)
{
	struct elf_section section;
	u64 packed = 0, taken = 0;
	Elf_Data *data;
	size_t size;
	char *image;
	int rc = elf_section_find(file, ".gnu_debugdata", &section);

	if (!rc)
		rc = budget_take(budget, section.header.sh_size);
	if (rc)
		return rc;
	packed = section.header.sh_size;
	rc = elf_section_data(&section, UNPACKED_MAX, &data);
	if (!rc)
		rc = xz_unpack(data, budget, &image, &size, &taken);
	if (!rc)
		rc = elf_image_open(image, size, ret);
	if (rc)
		budget_give_back(budget, budget->user, packed + taken);
	else
		*ret_bytes = packed + taken;
	return rc;
}
