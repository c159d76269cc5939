/* See embedded.h. */
#include "capture/embedded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "embedded_list.h"

#define OBJECT(name_, file_, after_)         \
	__asm__(".section .rodata\n"         \
		"embedded_" #name_ ":\n"     \
		".incbin \"" file_ "\"\n"    \
		"embedded_" #name_ "_end:\n" \
		".byte 0\n"                  \
		".previous\n");              \
	extern const char embedded_##name_[], embedded_##name_##_end[];
OBJECTS
#undef OBJECT

static const struct embedded all[] = {
#define OBJECT(name_, file_, after_) {#name_, embedded_##name_, embedded_##name_##_end, after_},
	OBJECTS
#undef OBJECT
};

const struct embedded *embedded_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

struct unpacked {
	ZSTD_DCtx *zstd;
	char *data;
	size_t n;
};

/* Adds e after those that it is packed against. */
static int unpack_add(struct unpacked *u, const struct embedded *e)
{
	const struct embedded *after = *e->after ? embedded_find(e->after) : NULL;
	size_t packed = (size_t)(e->end - e->data), got;
	unsigned long long size = ZSTD_getFrameContentSize(e->data, packed);
	int rc = after ? unpack_add(u, after) : 0;
	char *data;

	if (rc)
		return rc;
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
		return -EBADMSG;
	data = realloc(u->data, u->n + size);
	if (!data)
		return -ENOMEM;
	u->data = data;
	got = ZSTD_decompress_usingDict(u->zstd, data + u->n, size, e->data, packed, data, u->n);
	if (ZSTD_isError(got) || got != size)
		return -EBADMSG;
	u->n += size;
	return 0;
}

int embedded_unpack(const struct embedded *e, void **ret, size_t *ret_size)
{
	struct unpacked u = {.zstd = ZSTD_createDCtx()};
	int rc = u.zstd ? unpack_add(&u, e) : -ENOMEM;

	if (!rc) {
		*ret_size = (size_t)ZSTD_getFrameContentSize(e->data, (size_t)(e->end - e->data));
		memmove(u.data, u.data + u.n - *ret_size, *ret_size);
		*ret = u.data;
	} else {
		free(u.data);
	}
	ZSTD_freeDCtx(u.zstd);
	return rc;
}
