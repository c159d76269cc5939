/* See embedded.h. */
#include "capture/embedded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "embedded_list.h"

#define OBJECT(name_, file_)                 \
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
#define OBJECT(name_, file_) {#name_, embedded_##name_, embedded_##name_##_end},
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

int embedded_unpack(const struct embedded *e, void **ret, size_t *ret_size)
{
	size_t packed = (size_t)(e->end - e->data), n;
	unsigned long long size = ZSTD_getFrameContentSize(e->data, packed);
	void *data;

	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
		return -EBADMSG;
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	n = ZSTD_decompress(data, size, e->data, packed);
	if (ZSTD_isError(n) || n != size) {
		free(data);
		return -EBADMSG;
	}
	*ret = data;
	*ret_size = n;
	return 0;
}
