/*
 * Bytes read in order, never beyond their end, in the byte order of the file. Private to this
 * room. A read that does not fit gives 0 and marks the cursor: look at `bad` once, at the end.
 */
#ifndef MEMWHY_PERFDATA_CURSOR_H
#define MEMWHY_PERFDATA_CURSOR_H

#include <stdint.h>
#include <string.h>

#include "base/util.h"

struct cursor {
	char *p;
	size_t left;
	bool swap; /* the file has the other byte order */
	bool bad;
};

static inline u16 swap_u16(u16 v, bool swap)
{
	return swap ? __builtin_bswap16(v) : v;
}

static inline u32 swap_u32(u32 v, bool swap)
{
	return swap ? __builtin_bswap32(v) : v;
}

static inline u64 swap_u64(u64 v, bool swap)
{
	return swap ? __builtin_bswap64(v) : v;
}

/* n bytes in place; NULL if there are not as many. */
static inline char *cursor_take(struct cursor *c, u64 n)
{
	char *p = c->p;

	if (n > c->left) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	c->left -= n;
	return p;
}

static inline u16 cursor_u16(struct cursor *c)
{
	const char *p = cursor_take(c, 2);
	u16 v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return swap_u16(v, c->swap);
}

static inline u32 cursor_u32(struct cursor *c)
{
	const char *p = cursor_take(c, 4);
	u32 v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return swap_u32(v, c->swap);
}

static inline u64 cursor_u64(struct cursor *c)
{
	const char *p = cursor_take(c, 8);
	u64 v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return swap_u64(v, c->swap);
}

/* n u64 in place, brought into our byte order there: read them only once. */
static inline u64 *cursor_array(struct cursor *c, u64 n)
{
	u64 *v;

	if (n > c->left / sizeof(u64) || (uintptr_t)c->p % sizeof(u64)) {
		c->bad = true;
		return NULL;
	}
	v = (u64 *)(void *)cursor_take(c, n * sizeof(u64));
	for (u64 i = 0; c->swap && i < n; i++)
		v[i] = __builtin_bswap64(v[i]);
	return v;
}

/* Text with its NUL, in place; the NUL may be anywhere in the rest, which is used up. */
static inline const char *cursor_text(struct cursor *c)
{
	const char *p = c->p;

	if (!memchr(p, '\0', c->left)) {
		c->bad = true;
		return "";
	}
	(void)cursor_take(c, c->left);
	return p;
}

#endif
