/* gzip, as a stream: what is added comes out compressed, a piece at a time. */
#ifndef MEMWHY_EXPORT_GZIP_H
#define MEMWHY_EXPORT_GZIP_H

#include <zlib.h>

#include "base/str.h"

struct gzip {
	z_stream z;
	bool open;
};

/* -ENOMEM. */
int gzip_begin(struct gzip *g);
/* Appends the output to `out`; a failure sets out->failed. */
void gzip_add(struct gzip *g, const struct str *piece, struct str *out);
/* The rest. Frees g in any case. */
void gzip_end(struct gzip *g, struct str *out);

#endif
