/* Base64 (RFC 4648, section 4), with padding. */
#ifndef MEMWHY_BASE_BASE64_H
#define MEMWHY_BASE_BASE64_H

#include "base/str.h"

/* Adds n bytes. In pieces it is the same text as at once if each but the last is of 3 bytes times
 * something. */
void base64_add(struct str *out, const void *data, size_t n);

#endif
