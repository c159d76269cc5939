/* See html.h. memwhy carries the page compressed (gzip). */
#include "render/html/html.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/types.h"

#define GZIP (16 + 15)       /* windowBits of zlib */
#define MARK '\1'            /* stands where the title goes, and where the reports go */
#define TRAILER_SIZE_BYTES 4 /* at the end of what gzip writes: the length, little-endian */

__asm__(".section .rodata\n"
	"page_packed:\n"
	".incbin \"" HTML_PAGE "\"\n"
	"page_packed_end:\n"
	".balign 4\n"
	"page_packed_size:\n"
	".long page_packed_end - page_packed\n"
	".previous\n");
extern const unsigned char page_packed[];
extern const u32 page_packed_size;

static int page_inflate(char *text, size_t len)
{
	z_stream z = {
		.next_in = (unsigned char *)(uintptr_t)page_packed,
		.avail_in = page_packed_size,
		.next_out = (unsigned char *)text,
		.avail_out = (uInt)len,
	};
	int rc;

	if (inflateInit2(&z, GZIP) != Z_OK)
		return -ENOMEM;
	rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return rc == Z_STREAM_END && !z.avail_out ? 0 : -EBADMSG;
}

/* Takes a mark out. Returns where it was. */
static size_t mark_cut(struct page *p, size_t from)
{
	char *at = memchr(p->text + from, MARK, p->len - from);

	if (!at)
		return p->len;
	memmove(at, at + 1, (size_t)(p->text + p->len - at - 1));
	p->len--;
	return (size_t)(at - p->text);
}

int page_open(struct page *ret)
{
	struct page p = {};
	int rc;

	for (u32 i = 1; i <= TRAILER_SIZE_BYTES; i++)
		p.len = p.len << 8 | page_packed[page_packed_size - i];
	p.text = malloc(p.len + 1);
	rc = p.text ? page_inflate(p.text, p.len) : -ENOMEM;
	if (rc) {
		free(p.text);
		return rc;
	}
	p.title = mark_cut(&p, 0);
	p.reports = mark_cut(&p, p.title);
	*ret = p;
	return 0;
}

void page_close(struct page *p)
{
	free(p->text);
	*p = (struct page){};
}
