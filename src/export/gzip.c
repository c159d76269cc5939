/* See gzip.h. */
#include "export/gzip.h"

#include <errno.h>

#define GZIP_WINDOW (15 + 16) /* 32 KiB, with gzip's head and tail */
#define GZIP_MEMORY 8
#define CHUNK (16U << 10)

int gzip_begin(struct gzip *g)
{
	*g = (struct gzip){};
	g->open = deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			  Z_DEFAULT_STRATEGY) == Z_OK;
	return g->open ? 0 : -ENOMEM;
}

static void gzip_run(struct gzip *g, int flush, struct str *out)
{
	unsigned char chunk[CHUNK];
	int rc;

	do {
		g->z.next_out = chunk;
		g->z.avail_out = CHUNK;
		rc = deflate(&g->z, flush);
		str_addn(out, (const char *)chunk, CHUNK - g->z.avail_out);
	} while (rc == Z_OK && (!g->z.avail_out || flush == Z_FINISH));
	out->failed |= rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR;
}

void gzip_add(struct gzip *g, const struct str *piece, struct str *out)
{
	const char *at = str_get(piece);
	size_t left = piece->len;

	out->failed |= piece->failed;
	while (left && g->open && !out->failed) {
		uInt n = (uInt)MIN(left, (size_t)1 << 30);

		g->z.next_in = (Bytef *)at;
		g->z.avail_in = n;
		gzip_run(g, Z_NO_FLUSH, out);
		at += n;
		left -= n;
	}
}

void gzip_end(struct gzip *g, struct str *out)
{
	if (!g->open)
		return;
	g->z.avail_in = 0;
	gzip_run(g, Z_FINISH, out);
	deflateEnd(&g->z);
	g->open = false;
}
