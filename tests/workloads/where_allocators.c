/*
 * A program that frees nine of ten blocks, for whatever allocator is put in front of it
 * (LD_PRELOAD): THREADS threads allocate BLOCKS blocks each. Prints what the allocator itself says,
 * as "NAME in_use committed kept" in bytes, then "ready", and waits for a line. In use by
 * mallctl("stats.allocated"), by generic.current_allocated_bytes and what its caches hold, or by
 * mi_heap_visit_blocks().
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long blocks;

static size_t size_of(unsigned long i)
{
	return 64 + i * 7919 % 8000;
}

static void work(void)
{
	char **v = malloc(blocks * sizeof(*v));

	for (unsigned long i = 0; v && i < blocks; i++) {
		v[i] = malloc(size_of(i));
		if (v[i])
			memset(v[i], 1, size_of(i));
	}
	for (unsigned long i = 0; v && i < blocks; i++)
		if (i % 80 >= 8)
			free(v[i]);
}

static pthread_barrier_t all_there;

static void *thread(void *unused)
{
	(void)unused;
	work();
	pthread_barrier_wait(&all_there);
	getchar();
	return NULL;
}

typedef int mallctl_fn(const char *name, void *old, size_t *old_n, void *new, size_t new_n);

static size_t number(mallctl_fn *ctl, const char *name)
{
	uint64_t epoch = 1;
	size_t v = 0, n = sizeof(v);

	ctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	ctl(name, &v, &n, NULL, 0);
	return v;
}

static void jemalloc_tell(mallctl_fn *ctl)
{
	size_t used = number(ctl, "stats.allocated"), active = number(ctl, "stats.active"), kept;

	/* 4096: all arenas, merged */
	kept = 4096 *
	       (number(ctl, "stats.arenas.4096.pdirty") + number(ctl, "stats.arenas.4096.pmuzzy"));
	printf("jemalloc %zu %zu %zu\n", used, active + kept, kept);
}

static void tcmalloc_tell(int (*get)(const char *name, size_t *v))
{
	static const char *const caches[] = {"tcmalloc.central_cache_free_bytes",
		"tcmalloc.transfer_cache_free_bytes", "tcmalloc.thread_cache_free_bytes"};
	size_t used = 0, heap = 0, unmapped = 0, kept = 0, v = 0;

	get("generic.current_allocated_bytes", &used);
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		used += get(caches[i], &v) ? v : 0;
	get("generic.heap_size", &heap);
	get("tcmalloc.pageheap_unmapped_bytes", &unmapped);
	get("tcmalloc.pageheap_free_bytes", &kept);
	printf("tcmalloc %zu %zu %zu\n", used, heap - unmapped, kept);
}

struct area {
	void *blocks;
	size_t reserved, committed, used, block_size;
};

static bool area_add(const void *heap, const struct area *a, void *block, size_t size, void *arg)
{
	(void)heap;
	(void)size;
	if (!block)
		*(size_t *)arg += a->used * a->block_size;
	return true;
}

static void mimalloc_tell(bool (*visit)(void *heap, bool blocks,
	bool (*each)(const void *, const struct area *, void *, size_t, void *), void *arg))
{
	void *(*heap)(void) = dlsym(RTLD_DEFAULT, "mi_heap_get_default");
	size_t used = 0;

	visit(heap(), false, area_add, &used);
	printf("mimalloc %zu 0 0\n", used);
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	void *ctl = dlsym(RTLD_DEFAULT, "mallctl");
	void *get = dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
	void *visit = dlsym(RTLD_DEFAULT, "mi_heap_visit_blocks");

	blocks = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	printf("\n"); /* its buffer is there */
	pthread_barrier_init(&all_there, NULL, threads + 1);
	for (unsigned int i = 0; i < threads; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread, NULL))
			return 1;
	}
	work();
	pthread_barrier_wait(&all_there);
	if (ctl)
		jemalloc_tell((mallctl_fn *)ctl);
	else if (get)
		tcmalloc_tell((int (*)(const char *, size_t *))get);
	else if (visit)
		mimalloc_tell((bool (*)(void *, bool,
			bool (*)(const void *, const struct area *, void *, size_t, void *),
			void *))visit);
	printf("ready\n");
	fflush(stdout);
	getchar();
	return 0;
}
