/* Text in, deflated and in base64 out, in pieces: as much as 16 KiB is held. */
#ifndef MEMWHY_RENDER_HTML_PACK_H
#define MEMWHY_RENDER_HTML_PACK_H

#include <zlib.h>

#include "render/render.h"

struct html_pack {
	struct str *out;
	const struct render_options *o; /* takes out after each piece */
	z_stream z;
	unsigned char left[3]; /* bytes that wait for others: base64 takes three at a time */
	size_t n_left;
	bool failed;
};

/* Failures show in out->failed, at the latest after html_pack_end(). */
void html_pack_begin(struct html_pack *p, struct str *out, const struct render_options *o);
/* As render_options.take: packs the text, and clears it. */
void html_pack_take(void *pack, struct str *text);
void html_pack_end(struct html_pack *p, struct str *text);

#endif
