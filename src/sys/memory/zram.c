/* See zram.h. */
#include "sys/memory/zram.h"

#include <string.h>

#include "base/util.h"
#include "sys/mounts.h"
#include "sys/root.h"

#define BLOCK_DIR "/sys/block"
#define SECTOR 512
#define DEVICES_MAX 256

void zram_devices_free(struct zram_devices *d)
{
	vec_free(&d->list);
}

static bool is_swap(const struct swaps *swaps, const char *path)
{
	vec_each (s, &swaps->list)
		if (!strcmp(s->path, path))
			return true;
	return false;
}

static bool is_mounted(const struct mounts *mounts, struct zram_device *z)
{
	vec_each (m, &mounts->list) {
		if (strcmp(m->source, z->path) != 0)
			continue;
		snprintf(z->on, sizeof(z->on), "%.120s", m->point);
		return true;
	}
	return false;
}

static bool is_below(const char *name, struct zram_device *z)
{
	_cleanup_sys_names_ struct sys_names holders = {};
	char dir[64];

	snprintf(dir, sizeof(dir), BLOCK_DIR "/%.20s/holders", name);
	if (sys_names(&holders, dir, "") || !holders.list.n)
		return false;
	snprintf(z->on, sizeof(z->on), "/dev/%.100s", holders.list.v[0]);
	return true;
}

static int device_add(struct zram_devices *ret, const char *name, const struct swaps *swaps,
	const struct mounts *mounts)
{
	struct zram_device z = {};

	snprintf(z.path, sizeof(z.path), "/dev/%.20s", name);
	if (zram_stat_read(z.path, &z.stat) || !z.stat.memory_bytes)
		return 0;
	if (!sys_read_u64(&z.size_bytes, BLOCK_DIR "/%s/size", z.path + strlen("/dev/")))
		z.size_bytes *= SECTOR;
	z.use = is_swap(swaps, z.path)   ? ZRAM_SWAP
		: is_mounted(mounts, &z) ? ZRAM_MOUNTED
		: is_below(name, &z)     ? ZRAM_BELOW
					 : ZRAM_RAW;
	return vec_push(&ret->list, z);
}

int zram_devices_read(struct zram_devices *ret)
{
	_cleanup_swaps_ struct swaps swaps = {};
	_cleanup_mounts_ struct mounts mounts = {};
	_cleanup_sys_names_ struct sys_names names = {};
	int rc = 0;

	ret->list.n = 0;
	if (sys_names(&names, BLOCK_DIR, "zram") || !names.list.n)
		return 0;
	if (swaps_read(&swaps) == -ENOMEM || mounts_read(&mounts) == -ENOMEM)
		rc = -ENOMEM;
	for (size_t i = 0; i < MIN(names.list.n, (size_t)DEVICES_MAX) && !rc; i++)
		rc = device_add(ret, names.list.v[i], &swaps, &mounts);
	return rc;
}
