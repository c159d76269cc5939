/* See html_pack.h. */
#include "render/html/html_pack.h"

#include <string.h>

#define RAW                                                                                  \
	-15 /* windowBits of zlib: deflate without a header, as DecompressionStream names it \
	     */
#define PIECE 16384

static void triple_add(struct str *out, const unsigned char in[3], size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	u32 v = (u32)in[0] << 16 | (u32)in[1] << 8 | in[2];

	str_addc(out, digits[v >> 18]);
	str_addc(out, digits[v >> 12 & 63]);
	str_addc(out, n > 1 ? digits[v >> 6 & 63] : '=');
	str_addc(out, n > 2 ? digits[v & 63] : '=');
}

static void base64_add(struct html_pack *p, const unsigned char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		p->left[p->n_left++] = data[i];
		if (p->n_left < sizeof(p->left))
			continue;
		triple_add(p->out, p->left, p->n_left);
		p->n_left = 0;
	}
}

void html_pack_begin(struct html_pack *p, struct str *out, const struct render_options *o)
{
	*p = (struct html_pack){.out = out, .o = o};
	p->failed = deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW, 8,
			    Z_DEFAULT_STRATEGY) != Z_OK;
	out->failed |= p->failed;
}

static void pack(struct html_pack *p, struct str *text, int flush)
{
	unsigned char piece[PIECE];
	int rc = Z_OK;

	p->out->failed |= text->failed;
	p->z.next_in = (unsigned char *)text->buf;
	p->z.avail_in = (uInt)text->len;
	while (!p->failed && rc != Z_STREAM_END && (p->z.avail_in || flush == Z_FINISH)) {
		p->z.next_out = piece;
		p->z.avail_out = sizeof(piece);
		rc = deflate(&p->z, flush);
		p->failed = rc != Z_OK && rc != Z_STREAM_END;
		base64_add(p, piece, sizeof(piece) - p->z.avail_out);
		render_pass(p->o, p->out);
	}
	str_clear(text);
}

void html_pack_take(void *arg, struct str *text)
{
	struct html_pack *p = arg;

	if (text->len >= PIECE)
		pack(p, text, Z_NO_FLUSH);
}

void html_pack_end(struct html_pack *p, struct str *text)
{
	pack(p, text, Z_FINISH);
	if (p->n_left) {
		memset(p->left + p->n_left, 0, sizeof(p->left) - p->n_left);
		triple_add(p->out, p->left, p->n_left);
	}
	deflateEnd(&p->z);
	p->out->failed |= p->failed;
}
