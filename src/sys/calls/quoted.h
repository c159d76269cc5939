/* Bytes as C writes them, so that whatever they are they can be printed. */
#ifndef MEMWHY_SYS_QUOTED_H
#define MEMWHY_SYS_QUOTED_H

#include "base/str.h"

/* A byte in a string; an octal escape has three digits where `next` is a digit. */
void byte_add(struct str *s, unsigned char c, char next);
/* "text"; `cut`: there is more of it ("text"...). Printable characters beyond ASCII are left as
 * they are. */
void quoted_add(struct str *s, const char *p, u32 n, bool cut);
/* "\x75\xde": for bytes that are not text. */
void hexed_add(struct str *s, const char *p, u32 n, bool cut);

#endif
