/* See place.h. */
#include "capture/page_tables.h"

#include <errno.h>
#include <string.h>

#include "capture/attach.h"
#include "sys/kernel/kcore.h"

#define MIXED 255 /* of several nodes; then 0 */

static u64 zone_end(const struct zoneinfo_zone *z)
{
	return z->present_pages ? z->start_pfn + z->spanned_pages : 0;
}

static void zone_mark(const struct zoneinfo_zone *z, u8 frames[PLACE_FRAMES], u32 shift)
{
	u64 end = zone_end(z);

	for (u64 at = z->start_pfn >> shift; end && at <= (end - 1) >> shift; at++) {
		u8 node = (u8)(z->id.node + 1);

		frames[at] = frames[at] && frames[at] != node ? MIXED : node;
	}
}

void place_frames_fill(const struct zoneinfo *zones, u8 frames[PLACE_FRAMES], u32 *ret_shift)
{
	u32 shift = 0;
	u64 end = 0;

	memset(frames, 0, PLACE_FRAMES);
	vec_each (z, &zones->zones)
		end = MAX(end, zone_end(z));
	while (end >> shift >= PLACE_FRAMES)
		shift++;
	vec_each (z, &zones->zones)
		if (z->id.node < MIXED - 1)
			zone_mark(z, frames, shift);
	for (u32 i = 0; i < PLACE_FRAMES; i++)
		if (frames[i] == MIXED)
			frames[i] = 0;
	*ret_shift = shift;
}

static struct {
	bool known;
	int error;
	char missing[96];
	struct place_config config;
	u8 frames[PLACE_FRAMES];
} host;

static int host_find(void)
{
	_cleanup_zoneinfo_ struct zoneinfo zones = {};
	struct kcore k;
	int rc = zoneinfo_read(&zones);

	if (rc) {
		snprintf(host.missing, sizeof(host.missing), "/proc/zoneinfo: %s", strerror(-rc));
		return rc;
	}
	place_frames_fill(&zones, host.frames, &host.config.frame_shift);
	rc = kcore_read(&k);
	if (rc) {
		snprintf(host.missing, sizeof(host.missing), "/proc/kcore: %s",
			rc == -ENODATA ? "it does not say where memory is mapped" : strerror(-rc));
		return rc;
	}
	host.config.page_offset = k.page_offset;
	host.config.no_address = k.sme_mask;
	host.config.top_shift = k.five_levels ? 48 : 39;
	return 0;
}

int place_known(const char **ret_missing)
{
	if (!host.known)
		host.error = host_find();
	host.known = true;
	*ret_missing = host.missing;
	return host.error;
}

s32 place_node(u64 phys)
{
	const char *unused;
	u64 at;

	place_known(&unused);
	at = phys >> 12 >> host.config.frame_shift;
	return at < PLACE_FRAMES ? (s32)host.frames[at] - 1 : -1;
}

int place_prepare(struct bpf_object *obj)
{
	const char *missing;
	int rc;

	place_known(&missing);
	rc = attach_set_const(obj, "place_config", &host.config, sizeof(host.config));
	return rc ? rc : attach_set_const(obj, "place_frames", host.frames, sizeof(host.frames));
}
