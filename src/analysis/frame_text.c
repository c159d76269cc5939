/* See frame.h. */
#include "analysis/frame_text.h"

const char *frame_text(struct report *r, u32 frame)
{
	const struct rec_symbol *sym = stream_symbol(r->stream, frame);
	const struct sym_line *last = sym && sym->n ? &sym->lines[sym->n - 1] : NULL;
	const char *name = last ? stream_string(r->stream, last->function) : NULL;

	return name ? report_text(r, "%s+0x%x", name, last->offset) : NULL;
}
