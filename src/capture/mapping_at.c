/* See mappings.h. */
#include "capture/mapping_at.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"

#define KEEP_NS (500 * NSEC_PER_MSEC)

const struct mapping *mapping_find(struct mapping_cache *c, u32 tgid, u64 address)
{
	u64 now = clock_mono_ns();

	if (c->tgid != tgid || now - c->read_ns > KEEP_NS) {
		c->tgid = tgid;
		c->read_ns = now;
		if (maps_read((int)tgid, &c->maps))
			maps_free(&c->maps);
	}
	return maps_find(&c->maps, address);
}

void mapping_file(const struct mapping *m, char ret[AGG_NAME_LEN])
{
	if (strchr(m->path, '/'))
		snprintf(ret, AGG_NAME_LEN, "%.31s", path_name(m->path));
}

void mapping_cache_free(struct mapping_cache *c)
{
	maps_free(&c->maps);
	*c = (struct mapping_cache){};
}
