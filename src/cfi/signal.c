/* See signal.h. */
#include "cfi/signal.h"

#include <string.h>

#define CODE_MAX (64ULL << 20)
#define WINDOW 65536
#define READ_MIN 512 /* gaps are small */

/* mov $15,%rax; syscall. 15 is rt_sigreturn. */
static const u8 code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

/* The handler returns to sp = the kernel's struct ucontext, which has sp at 160 (asm/ucontext.h,
 * asm/sigcontext.h). */
const struct cfi_rule signal_rule = {.kind = CFI_SIGNAL, .cfa = 160};

void signal_finder_init(struct signal_finder *f, const struct cfi_source *source)
{
	*f = (struct signal_finder){.source = source, .left = CODE_MAX};
}

void signal_finder_free(struct signal_finder *f)
{
	free(f->buf);
}

/* Makes buf hold [start, end), at most a window, and somewhat more. */
static bool window_move(struct signal_finder *f, u64 start, u64 end)
{
	u64 n = MIN(MAX(end - start, (u64)READ_MIN), f->source->code_end - start);

	if (start >= f->start && end <= f->start + f->n)
		return true;
	if (!f->buf)
		f->buf = malloc(WINDOW);
	f->n = 0;
	if (!f->buf || f->left < n || f->source->read_code(f->source->ctx, start, f->buf, n))
		return false;
	f->left -= n;
	f->start = start;
	f->n = n;
	return true;
}

bool signal_find(struct signal_finder *f, u64 start, u64 end, u64 *ret_from, u64 *ret_to)
{
	if (!f->source->read_code || f->found == SIGNAL_FOUND_MAX)
		return false;
	for (u64 at = start; at < end && end - at >= sizeof(code);) {
		u64 to = MIN(end, at + WINDOW);
		const u8 *found;

		if (!window_move(f, at, to))
			return false;
		found = memmem(f->buf + (at - f->start), to - at, code, sizeof(code));
		if (found) {
			at = f->start + (u64)(found - f->buf);
			*ret_from = at > start ? at - 1 : at;
			*ret_to = at + sizeof(code);
			f->found++;
			return true;
		}
		at = to == end ? end : to - (sizeof(code) - 1);
	}
	return false;
}
