/* See names.h. What is no index is in open addressing with linear probing. */
#include "event/dictionaries.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/clock.h"

#define MAP_FIRST_CAP 64
#define LOW_FIRST 256 /* room for indexes; from then on, for up to four times what there is */

struct stream_names *names_new(void)
{
	struct stream_names *names = calloc(1, sizeof(*names));

	if (names && getrandom(&names->seed, sizeof(names->seed), GRND_NONBLOCK) < 0)
		names->seed = clock_mono_ns();
	if (names)
		names->tasks.hashed = true;
	return names;
}

static void map_free(struct id_map *map)
{
	free(map->low);
	free(map->slots);
}

void names_free(struct stream_names *names)
{
	if (!names)
		return;
	vec_each (e, &names->enums) {
		map_free(&e->names);
		vec_free(&e->order);
	}
	vec_free(&names->enums);
	tasks_free(names);
	map_free(&names->strings);
	map_free(&names->tasks);
	map_free(&names->cgroups);
	map_free(&names->frames);
	map_free(&names->symbols);
	map_free(&names->modules);
	map_free(&names->stacks);
	free(names);
}

/* The slot of id, or the free one where it belongs. There is always a free one. */
static struct id_slot *map_slot(const struct id_map *map, u64 id, u64 seed)
{
	size_t i = XXH64(&id, sizeof(id), seed) & (map->cap - 1);

	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & (map->cap - 1);
	return &map->slots[i];
}

static int map_grow(struct id_map *map, u64 seed)
{
	struct id_map grown = *map;

	grown.cap = map->cap ? map->cap * 2 : MAP_FIRST_CAP;
	grown.slots = calloc(grown.cap, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->cap; i++) {
		if (map->slots[i].value)
			*map_slot(&grown, map->slots[i].id, seed) = map->slots[i];
	}
	free(map->slots);
	*map = grown;
	return 0;
}

/* What was set as an index is newer than what was put under a hash before there was room for it. */
const void *names_find(const struct stream_names *names, const struct id_map *map, u64 id)
{
	if (id < map->n_low && map->low[id])
		return map->low[id];
	return map->cap ? map_slot(map, id, names->seed)->value : NULL;
}

/* Room for an index; where there is none the id goes under a hash. */
static bool low_has_room(struct id_map *map, u64 id)
{
	size_t n = map->n_low ? map->n_low : LOW_FIRST;
	const void **low;

	if (map->hashed)
		return false;
	if (id < map->n_low)
		return true;
	if (id >= LOW_FIRST && id >= 4 * map->set_low)
		return false;
	while (n <= id)
		n *= 2;
	low = reallocarray(map->low, n, sizeof(*low));
	if (!low)
		return false;
	memset(low + map->n_low, 0, (n - map->n_low) * sizeof(*low));
	map->low = low;
	map->n_low = n;
	return true;
}

int names_set(const struct stream_names *names, struct id_map *map, u64 id, const void *value)
{
	struct id_slot *slot;

	if (low_has_room(map, id)) {
		map->set_low += !map->low[id];
		map->low[id] = value;
		return 0;
	}
	if (map->n >= map->cap / 4 * 3) {
		int rc = map_grow(map, names->seed);

		if (rc)
			return rc;
	}
	slot = map_slot(map, id, names->seed);
	map->n += !slot->value;
	*slot = (struct id_slot){.id = id, .value = value};
	return 0;
}

/* What stands behind a slot that becomes free moves up, or it would not be found any more. */
void names_remove(const struct stream_names *names, struct id_map *map, u64 id)
{
	size_t mask = map->cap - 1, hole, at;
	struct id_slot *slot = map->cap ? map_slot(map, id, names->seed) : NULL;

	if (!slot || !slot->value)
		return;
	hole = at = (size_t)(slot - map->slots);
	for (;;) {
		size_t home;

		at = (at + 1) & mask;
		if (!map->slots[at].value)
			break;
		home = XXH64(&map->slots[at].id, sizeof(u64), names->seed) & mask;
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole] = (struct id_slot){};
	map->n--;
}
