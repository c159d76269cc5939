/* See content.h. */
#include "cfi/content.h"

#include <errno.h>
#include <sys/random.h>

int cfi_content_seed(u64 *ret)
{
	return getrandom(ret, sizeof(*ret), 0) == sizeof(*ret) ? 0 : -EIO;
}

XXH128_hash_t cfi_content_hash(const struct cfi_source *source, u64 seed)
{
	const u64 where[] = {source->eh_frame.address, source->code_start, source->code_end};

	seed = XXH3_64bits_withSeed(where, sizeof(where), seed);
	return XXH3_128bits_withSeed(source->eh_frame.data, source->eh_frame.size, seed);
}
