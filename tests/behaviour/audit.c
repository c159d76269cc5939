/* A library for LD_AUDIT: the loader asks it about each that it loads. */
#include <link.h>
#include <stdlib.h>

unsigned la_version(unsigned version)
{
	free(malloc(10));
	return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
	free(malloc(map && id + *cookie ? 10 : 20));
	return 0;
}
