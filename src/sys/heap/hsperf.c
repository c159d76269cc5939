/* See hsperf.h. */
#include "sys/heap/hsperf.h"

#include <string.h>

#define MAGIC 0xc0c0fecaU /* as a machine of little endian reads it */
#define ENTRIES_MOST 65536
#define TYPE_LONG 'J'
#define TYPE_BYTE 'B'

struct head {
	u32 magic;
	u8 byte_order, major, minor, accessible;
	u32 used, overflow;
	u64 modified;
	u32 entries_at, entries;
};

struct entry {
	u32 size, name_at, vector;
	u8 type, flags, units, variability;
	u32 data_at;
};

bool hsperf_is_sound(const void *data, size_t n)
{
	const struct head *h = data;

	return n >= sizeof(*h) && h->magic == MAGIC && h->byte_order == 1 && h->major == 2 &&
	       h->entries_at >= sizeof(*h) && h->entries <= ENTRIES_MOST;
}

/* The entry of this name and its data, which lies in it as a whole. */
static const u8 *hsperf_find(
	const void *data, size_t n, const char *name, u8 type, size_t *ret_size)
{
	const struct head *h = data;
	const u8 *base = data;
	size_t at, length = strlen(name) + 1;

	if (!hsperf_is_sound(data, n))
		return NULL;
	at = h->entries_at;
	for (u32 i = 0; i < h->entries && at < n && n - at >= sizeof(struct entry); i++) {
		struct entry e;

		memcpy(&e, base + at, sizeof(e));
		if (e.size < sizeof(e) || e.size > n - at)
			return NULL;
		if (e.type == type && e.name_at < e.size && e.size - e.name_at >= length &&
			!memcmp(base + at + e.name_at, name, length) && e.data_at < e.size) {
			*ret_size = e.size - e.data_at;
			return base + at + e.data_at;
		}
		at += e.size;
	}
	return NULL;
}

bool hsperf_number(const void *data, size_t n, const char *name, u64 *ret)
{
	size_t size;
	const u8 *p = hsperf_find(data, n, name, TYPE_LONG, &size);

	if (!p || size < sizeof(*ret))
		return false;
	memcpy(ret, p, sizeof(*ret));
	return true;
}

bool hsperf_text(const void *data, size_t n, const char *name, char *ret, size_t size)
{
	size_t have;
	const u8 *p = hsperf_find(data, n, name, TYPE_BYTE, &have);

	if (!p)
		return false;
	have = strnlen((const char *)p, MIN(have, size - 1));
	memcpy(ret, p, have);
	ret[have] = '\0';
	return true;
}
