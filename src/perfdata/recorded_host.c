/* See host.h. The layouts are those of tools/perf/Documentation/perf.data-file-format.txt. */
#include "perfdata/recorded_host.h"

#include <errno.h>

#include "perfdata/cursor.h"

#define STRING_MAX 65536
#define BLOCKS_MAX (1ULL << 26) /* blocks of memory in a node: 8 EiB of 128 GiB each */

const char *host_string(struct cursor *c)
{
	u32 len = cursor_u32(c);
	const char *text = len <= STRING_MAX ? cursor_take(c, len) : NULL;

	if (!text || !len || !memchr(text, '\0', len)) {
		c->bad = true;
		return NULL;
	}
	return text;
}

static int string_take(struct perfdata_host *h, struct cursor *c, const char **ret)
{
	const char *text = host_string(c);

	if (!text)
		return -EBADMSG;
	text = arena_strdup(&h->arena, text);
	if (!text)
		return -ENOMEM;
	*ret = text;
	return 0;
}

static int cmdline_take(struct perfdata_host *h, struct cursor *c)
{
	u32 n = cursor_u32(c);
	const char **argv;

	if (c->bad || n > c->left / 4)
		return -EBADMSG;
	argv = arena_alloc(&h->arena, (n + 1UL) * sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		int rc = string_take(h, c, &argv[i]);

		if (rc)
			return rc;
	}
	h->argc = n;
	h->argv = argv;
	return 0;
}

static bool number_take(const char **p, u64 *ret)
{
	u64 v = 0;

	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		v = v * 10 + (u64)(**p - '0');
		if (v > 1U << 30)
			return false;
	}
	*ret = v;
	return true;
}

/* "0-3,8\n", as /sys/devices/system/node/nodeN/cpulist has it; empty: a node without CPUs. */
static int cpus_take(struct perfdata_node *node, const char *p)
{
	while (*p && *p != '\n') {
		struct perfdata_range r;

		if (!number_take(&p, &r.first))
			return -EBADMSG;
		r.last = r.first;
		if (*p == '-' && (p++, !number_take(&p, &r.last)))
			return -EBADMSG;
		if (*p == ',')
			p++;
		else if (*p && *p != '\n')
			return -EBADMSG;
		if (r.last < r.first)
			return -EBADMSG;
		if (vec_push(&node->cpus, r))
			return -ENOMEM;
	}
	return 0;
}

static void nodes_free(struct perfdata_host *h)
{
	vec_each (n, &h->nodes)
		vec_free(&n->cpus);
	vec_free(&h->nodes);
}

static int node_take(struct perfdata_host *h, struct cursor *c)
{
	struct perfdata_node node = {};
	const char *cpus;
	int rc;

	node.id = cursor_u32(c);
	node.total_bytes = cursor_u64(c) << 10;
	node.free_bytes = cursor_u64(c) << 10;
	cpus = host_string(c);
	if (c->bad || node.id >= PERFDATA_NODE_MAX)
		return -EBADMSG;
	if (h->nodes.n && node.id <= h->nodes.v[h->nodes.n - 1].id)
		return -EBADMSG;
	rc = cpus_take(&node, cpus);
	if (!rc && vec_push(&h->nodes, node))
		rc = -ENOMEM;
	if (rc)
		vec_free(&node.cpus);
	return rc;
}

static int numa_take(struct perfdata_host *h, struct cursor *c)
{
	u32 n = cursor_u32(c);

	if (c->bad || n > PERFDATA_NODE_MAX)
		return -EBADMSG;
	nodes_free(h);
	for (u32 i = 0; i < n; i++) {
		int rc = node_take(h, c);

		if (rc) {
			nodes_free(h);
			return rc;
		}
	}
	return 0;
}

/* Neighbouring blocks become one range. */
static int block_add(struct perfdata_host *h, u64 size, u64 block, u32 node)
{
	struct perfdata_memory m = {.start = block * size, .node = node};
	struct perfdata_memory *last = h->memory.n ? &h->memory.v[h->memory.n - 1] : NULL;

	if (__builtin_add_overflow(m.start, size, &m.end))
		return -EBADMSG;
	if (last && last->end == m.start && last->node == node) {
		last->end = m.end;
		return 0;
	}
	return vec_push(&h->memory, m);
}

static int memory_of_node(struct perfdata_host *h, struct cursor *c, u64 block_size)
{
	u64 node = cursor_u64(c);
	u64 bits, words;

	(void)cursor_u64(c); /* how many blocks: the bits tell */
	bits = cursor_u64(c);
	words = bits / 64 + (bits % 64 != 0);
	if (c->bad || node >= PERFDATA_NODE_MAX || bits > BLOCKS_MAX || words > c->left / 8 ||
		(bits && block_size > ~0ULL / bits))
		return -EBADMSG;
	for (u64 i = 0; i < words; i++)
		for (u64 w = cursor_u64(c); w; w &= w - 1) {
			u64 block = i * 64 + (u64)__builtin_ctzll(w);
			int rc = block < bits ? block_add(h, block_size, block, (u32)node) : 0;

			if (rc)
				return rc;
		}
	return 0;
}

static int memory_order(const void *a, const void *b)
{
	const struct perfdata_memory *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts; false: a place is of two nodes. */
static bool memory_sort(struct perfdata_host *h)
{
	if (h->memory.n)
		qsort(h->memory.v, h->memory.n, sizeof(h->memory.v[0]), memory_order);
	for (size_t i = 1; i < h->memory.n; i++)
		if (h->memory.v[i].start < h->memory.v[i - 1].end)
			return false;
	return true;
}

static int perf_recorded_host_memory_take(struct perfdata_host *h, struct cursor *c)
{
	u64 version = cursor_u64(c);
	u64 block_size = cursor_u64(c);
	u64 n = cursor_u64(c);

	if (c->bad || version != 1 || !block_size || n > PERFDATA_NODE_MAX)
		return -EBADMSG;
	h->memory.n = 0;
	for (u64 i = 0; i < n; i++) {
		int rc = memory_of_node(h, c, block_size);

		if (rc) {
			h->memory.n = 0;
			return rc;
		}
	}
	if (memory_sort(h))
		return 0;
	h->memory.n = 0;
	return -EBADMSG;
}

int host_build_id(struct perfdata_host *h, const struct perfdata_head *head, struct cursor *c)
{
	struct perfdata_build_id b = {.mode = head->misc & PERFDATA_MISC_MODE, .len = 20};
	const char *id, *path;

	b.pid = cursor_u32(c);
	id = cursor_take(c, 24);
	path = cursor_text(c);
	if (c->bad)
		return -EBADMSG;
	if (head->misc & PERFDATA_MISC_BUILD_ID_SIZE) /* since v5.11 */
		b.len = (u8)id[20];
	if (b.len > sizeof(b.id))
		return -EBADMSG;
	memcpy(b.id, id, b.len);
	b.path = arena_strdup(&h->arena, path);
	return b.path ? vec_push(&h->build_ids, b) : -ENOMEM;
}

static int build_ids_take(struct perfdata_host *h, struct cursor *c)
{
	size_t before = h->build_ids.n;
	int rc = 0;

	while (!rc && c->left) {
		struct perfdata_head head = {};
		struct cursor entry = {.swap = c->swap};

		head.type = cursor_u32(c);
		head.misc = cursor_u16(c);
		head.size = cursor_u16(c);
		if (c->bad || head.size < sizeof(head))
			rc = -EBADMSG;
		entry.left = rc ? 0 : head.size - sizeof(head);
		entry.p = rc ? NULL : cursor_take(c, entry.left);
		rc = entry.p ? host_build_id(h, &head, &entry) : -EBADMSG;
	}
	if (rc)
		h->build_ids.n = before;
	return rc;
}

static int compressed_take(struct perfdata_host *h, struct cursor *c)
{
	u32 version = cursor_u32(c), type = cursor_u32(c), level = cursor_u32(c),
	    ratio = cursor_u32(c);

	(void)version;
	if (c->bad)
		return -EBADMSG;
	h->compression = type;
	h->compression_level = level;
	h->compression_ratio = ratio;
	return 0;
}

static int clock_take(struct perfdata_host *h, struct cursor *c)
{
	u32 version = cursor_u32(c), id = cursor_u32(c);
	u64 wall = cursor_u64(c), clock = cursor_u64(c);

	if (c->bad || version != 1)
		return -EBADMSG;
	h->clockid = id;
	h->wall_ns = wall;
	h->clock_ns = clock;
	return 0;
}

static int pair_take(u64 *a, u64 *b, struct cursor *c)
{
	u64 x = cursor_u64(c), y = cursor_u64(c);

	if (c->bad)
		return -EBADMSG;
	*a = x;
	*b = y;
	return 0;
}

static int number_u64(u64 *ret, struct cursor *c, unsigned int shift)
{
	u64 v = cursor_u64(c);

	if (c->bad || v > ~0ULL >> shift)
		return -EBADMSG;
	*ret = v << shift;
	return 0;
}

static int cpus_count(struct perfdata_host *h, struct cursor *c)
{
	u32 present = cursor_u32(c), online = cursor_u32(c);

	if (c->bad)
		return -EBADMSG;
	h->cpus_present = present;
	h->cpus_online = online;
	return 0;
}

static int feature_take(struct perfdata_host *h, u32 feature, struct cursor *c)
{
	switch (feature) {
	case PERFDATA_FEAT_BUILD_ID:
		return build_ids_take(h, c);
	case PERFDATA_FEAT_HOSTNAME:
		return string_take(h, c, &h->hostname);
	case PERFDATA_FEAT_OSRELEASE:
		return string_take(h, c, &h->release);
	case PERFDATA_FEAT_VERSION:
		return string_take(h, c, &h->version);
	case PERFDATA_FEAT_ARCH:
		return string_take(h, c, &h->arch);
	case PERFDATA_FEAT_NRCPUS:
		return cpus_count(h, c);
	case PERFDATA_FEAT_CPUDESC:
		return string_take(h, c, &h->cpu);
	case PERFDATA_FEAT_CPUID:
		return string_take(h, c, &h->cpuid);
	case PERFDATA_FEAT_TOTAL_MEM:
		return number_u64(&h->memory_bytes, c, 10);
	case PERFDATA_FEAT_CMDLINE:
		return cmdline_take(h, c);
	case PERFDATA_FEAT_NUMA_TOPOLOGY:
		return numa_take(h, c);
	case PERFDATA_FEAT_SAMPLE_TIME:
		return pair_take(&h->first_ns, &h->last_ns, c);
	case PERFDATA_FEAT_MEM_TOPOLOGY:
		return perf_recorded_host_memory_take(h, c);
	case PERFDATA_FEAT_CLOCKID:
		return number_u64(&h->clock_resolution_ns, c, 0);
	case PERFDATA_FEAT_COMPRESSED:
		return compressed_take(h, c);
	case PERFDATA_FEAT_CLOCK_DATA:
		return clock_take(h, c);
	case PERFDATA_FEAT_DIR_FORMAT:
		h->directory = true;
		return 0;
	default:
		return 0;
	}
}

int host_take(struct perfdata_host *h, u32 feature, struct cursor *c)
{
	return feature < PERFDATA_FEAT_MAX ? feature_take(h, feature, c) : 0;
}

void host_free(struct perfdata_host *h)
{
	nodes_free(h);
	vec_free(&h->memory);
	vec_free(&h->build_ids);
	arena_free(&h->arena);
}

int perfdata_node_of_cpu(const struct perfdata_host *h, u32 cpu)
{
	vec_each (n, &h->nodes)
		vec_each (r, &n->cpus)
			if (cpu >= r->first && cpu <= r->last)
				return (int)n->id;
	return -1;
}

int perfdata_node_of_memory(const struct perfdata_host *h, u64 phys_addr)
{
	size_t lo = 0, hi = h->memory.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (phys_addr >= h->memory.v[mid].end)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < h->memory.n && phys_addr >= h->memory.v[lo].start)
		return (int)h->memory.v[lo].node;
	return -1;
}
