/* See unwind.h. */
#include "capture/unwind/unwind.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "bpf/unwind.h"
#include "capture/object.h"

#define PAGES_DEFAULT 64

u32 unwind_maps_pages(u32 shrink)
{
	return MAX(PAGES_DEFAULT >> shrink, 2);
}

/* Its elements have the form of this array. */
static int pages_make(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, inner_opts, .map_flags = BPF_F_MMAPABLE);
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_page", sizeof(u32),
		sizeof(struct unwind_page), 1, &inner_opts);
	int fd, rc;

	if (inner < 0)
		return -errno;
	opts.inner_map_fd = (u32)inner;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "unwind_pages", sizeof(u32), sizeof(u32),
		UNWIND_PAGES_MAX, &opts);
	rc = fd < 0 ? -errno : fd;
	close(inner);
	return rc;
}

/* Hash tables are allocated at once: programs of perf events take no others before 6.1. */
static const struct shape {
	enum shared_map map;
	enum bpf_map_type type;
	u32 key_size, value_size, entries, flags;
} shapes[] = {
	{SHARED_UNWIND_RULES, BPF_MAP_TYPE_ARRAY, sizeof(u32), sizeof(struct cfi_rule),
		UNWIND_RULES_MAX, BPF_F_MMAPABLE},
	{SHARED_UNWIND_MAPS, BPF_MAP_TYPE_ARRAY, sizeof(u32), sizeof(struct unwind_mapping),
		UNWIND_MAPPINGS_MAX, BPF_F_MMAPABLE},
	{SHARED_UNWIND_PROCS, BPF_MAP_TYPE_HASH, sizeof(u64), sizeof(struct unwind_process),
		UNWIND_PROCESSES_MAX, 0},
	{SHARED_UNWIND_KNOWN, BPF_MAP_TYPE_HASH, sizeof(struct unwind_file_key),
		sizeof(struct unwind_file), UNWIND_KNOWN_MAX, 0},
	{SHARED_UNWIND_ASKS, BPF_MAP_TYPE_RINGBUF, 0, 0, UNWIND_ASKS_BYTES, 0},
	{SHARED_UNWIND_COPIES, BPF_MAP_TYPE_RINGBUF, 0, 0, UNWIND_COPIES_BYTES, 0},
	{SHARED_UNWIND_COPY, BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(u32), sizeof(struct unwind_copy), 1,
		0},
	{SHARED_UNWIND_COUNTS, BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(u32), sizeof(struct unwind_counts),
		1, 0},
	{SHARED_UNWIND_WALKS, BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(u32), sizeof(struct unwind_walk), 1,
		0},
};

/* Of the ring of copies with --max-memory: it holds one at least. */
#define COPIES_LEAST 32768

static int shape_make(const struct capture *c, const struct shape *s)
{
	bool less = s->map == SHARED_UNWIND_COPIES && c->opt.max_bytes;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = s->flags);
	int fd = bpf_map_create(s->type, object_shared_names[s->map], s->key_size, s->value_size,
		less ? COPIES_LEAST : s->entries, &opts);

	return fd < 0 ? -errno : fd;
}

int unwind_maps_make(struct capture *c)
{
	int fd = pages_make();

	if (fd < 0)
		return fd;
	c->shared[SHARED_UNWIND_PAGES] = fd + 1;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		fd = shape_make(c, &shapes[i]);
		if (fd < 0)
			return fd;
		c->shared[shapes[i].map] = fd + 1;
	}
	return 0;
}

u64 unwind_maps_bytes(const struct capture *c)
{
	u64 bytes = object_map_bytes(c->shared[SHARED_UNWIND_PAGES] - 1);

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		bytes += object_map_bytes(c->shared[shapes[i].map] - 1);
	return bytes;
}
