/* See html_pack.h. */
#include "render/html/html_pack.h"

#include "base/base64.h"

#define RAW                                                                                  \
	-15 /* windowBits of zlib: deflate without a header, as DecompressionStream names it \
	     */
#define PIECE 16384

/* What is no whole number of triples waits for the next piece. */
static void bytes_add(struct html_pack *p, const unsigned char *data, size_t n)
{
	while (p->n_left && p->n_left < sizeof(p->left) && n) {
		p->left[p->n_left++] = *data++;
		n--;
	}
	if (p->n_left == sizeof(p->left)) {
		base64_add(p->out, p->left, p->n_left);
		p->n_left = 0;
	}
	base64_add(p->out, data, n - n % sizeof(p->left));
	for (data += n - n % sizeof(p->left), n %= sizeof(p->left); n; n--)
		p->left[p->n_left++] = *data++;
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
		bytes_add(p, piece, sizeof(piece) - p->z.avail_out);
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
	base64_add(p->out, p->left, p->n_left);
	deflateEnd(&p->z);
	p->out->failed |= p->failed;
}
