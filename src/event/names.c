/* See names.h. Open addressing with linear probing; nothing is ever removed. */
#include "event/names.h"

#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/clock.h"

#define MAP_FIRST_CAP 64

struct stream_names *names_new(void)
{
	struct stream_names *names = calloc(1, sizeof(*names));

	if (names && getrandom(&names->seed, sizeof(names->seed), GRND_NONBLOCK) < 0)
		names->seed = clock_mono_ns();
	return names;
}

void names_free(struct stream_names *names)
{
	if (!names)
		return;
	vec_each (e, &names->enums) {
		free(e->names.slots);
		vec_free(&e->order);
	}
	vec_free(&names->enums);
	free(names->strings.slots);
	free(names->tasks.slots);
	free(names->cgroups.slots);
	free(names->frames.slots);
	free(names->symbols.slots);
	free(names->stacks.slots);
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
	struct id_map grown = {.n = map->n, .cap = map->cap ? map->cap * 2 : MAP_FIRST_CAP};

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

const void *names_find(const struct stream_names *names, const struct id_map *map, u64 id)
{
	return map->cap ? map_slot(map, id, names->seed)->value : NULL;
}

int names_set(const struct stream_names *names, struct id_map *map, u64 id, const void *value)
{
	struct id_slot *slot;

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
