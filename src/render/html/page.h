/* The page without its reports: markup, style and script, as tools/pack-page made it of the files
 * of this folder. */
#ifndef MEMWHY_RENDER_HTML_PAGE_H
#define MEMWHY_RENDER_HTML_PAGE_H

#include <stddef.h>

struct page {
	char *text;
	size_t len;
	size_t title, reports; /* where these go in */
};

/* 0, -ENOMEM or -EBADMSG. */
int page_open(struct page *ret);
void page_close(struct page *p);

#endif
