/* See numa_topology.h. */
#include "probes/numa/capture/numa_topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sys/keyvals.h"
#include "sys/root.h"

#define NODES "/sys/devices/system/node"
#define TIERS "/sys/devices/virtual/memory_tiering"
#define TIERS_MAX 4096 /* numbers of tiers are adistance >> 7: 4 is DRAM */

void numa_topology_free(struct numa_topology *t)
{
	vec_free(&t->cpus);
}

static struct numa_node *node_get(struct numa_topology *t, u32 node)
{
	struct numa_node *n = &t->nodes[node];

	if (!(t->known & 1ULL << node))
		*n = (struct numa_node){
			.h = {.size = sizeof(*n), .kind = REC_NUMA_NODE},
			.node = node,
			.tier = -1,
		};
	t->known |= 1ULL << node;
	return n;
}

static int cpus_add(struct numa_topology *t, u32 node, const char *list)
{
	struct idset *cpus = malloc(sizeof(*cpus));
	int rc = cpus ? idset_parse(list, cpus) : -ENOMEM;

	for (u32 cpu = 0; !rc && (cpu = idset_next(cpus, cpu)) < IDSET_MAX; cpu++) {
		struct numa_cpu c = {
			.h = {.size = sizeof(c), .kind = REC_NUMA_CPU},
			.cpu = cpu,
			.node = (s32)node,
		};

		t->nodes[node].h.flags |= NUMA_NODE_CPUS;
		rc = idset_has(&t->placed, cpu) ? -EEXIST : vec_push(&t->cpus, c);
		t->placed.bits[cpu / 64] |= 1ULL << cpu % 64;
	}
	free(cpus);
	return rc;
}

/* Numbers with commas or blanks between them. */
static int distances_parse(struct numa_node *n, const char *text)
{
	char *end;

	for (u32 i = 0; i < NUMA_NODES; i++) {
		unsigned long v = strtoul(text, &end, 10);

		if (end == text)
			return i ? 0 : -EINVAL;
		if (v > 255)
			return -EINVAL;
		n->distances[i] = (u8)v;
		text = end;
		while (*text == ',' || isspace((unsigned char)*text))
			text++;
	}
	return 0;
}

static int word_parse(struct numa_topology *t, struct numa_node *n, const char *key, char *value)
{
	u64 number;
	int rc;

	if (!strcmp(key, "cpus"))
		return strcmp(value, "-") ? cpus_add(t, n->node, value) : 0;
	if (!strcmp(key, "distances"))
		return distances_parse(n, value);
	if (!strcmp(key, "bytes")) {
		rc = parse_size(value, &n->bytes);
		n->h.flags |= !rc && n->bytes ? NUMA_NODE_MEMORY : 0;
		return rc;
	}
	if (!strcmp(key, "tier")) {
		rc = parse_u64(value, 0, TIERS_MAX, &number);
		n->tier = rc ? -1 : (s32)number;
		return rc;
	}
	return -EINVAL;
}

/* NULL: it is empty. */
static char *word_next(char **at)
{
	char *word;

	while (isspace((unsigned char)**at))
		(*at)++;
	word = *at;
	while (**at && !isspace((unsigned char)**at))
		(*at)++;
	if (**at)
		*(*at)++ = '\0';
	return *word ? word : NULL;
}

static int numa_topology_line_parse(struct numa_topology *t, char *line)
{
	char *hash = strchr(line, '#'), *key, *value;
	struct numa_node *n;
	bool bytes = false;
	u64 node;
	int rc;

	if (hash)
		*hash = '\0';
	key = word_next(&line);
	if (!key)
		return 0;
	value = word_next(&line);
	if (strcmp(key, "node") != 0 || !value || parse_u64(value, 0, NUMA_NODES - 1, &node))
		return -EINVAL;
	n = node_get(t, (u32)node);
	while ((key = word_next(&line))) {
		value = word_next(&line);
		rc = value ? word_parse(t, n, key, value) : -EINVAL;
		if (rc)
			return rc;
		bytes = bytes || !strcmp(key, "bytes");
	}
	if (!bytes)
		n->h.flags |= NUMA_NODE_MEMORY; /* as nearly all have */
	return 0;
}

int numa_topology_parse(const char *text, struct numa_topology *ret, struct err *err)
{
	struct numa_topology t = {};
	char *copy = strdup(text), *at = copy, *line;
	u32 number = 0;
	int rc = copy ? 0 : -ENOMEM;

	while (!rc && (line = strsep(&at, "\n"))) {
		number++;
		rc = numa_topology_line_parse(&t, line);
	}
	free(copy);
	if (!rc && !t.known)
		rc = err_set(err, -EINVAL, "topology: no node");
	else if (rc == -EEXIST)
		rc = err_set(err, -EINVAL, "topology: line %u: a CPU is there twice", number);
	else if (rc && rc != -ENOMEM)
		rc = err_set(
			err, -EINVAL, "topology: line %u is not 'node N cpus LIST ...'", number);
	if (rc == -ENOMEM)
		err_errno(err, rc, "topology");
	if (rc) {
		numa_topology_free(&t);
		return rc;
	}
	*ret = t;
	return 0;
}

static int node_read(struct numa_topology *t, u32 node)
{
	_cleanup_str_ struct str cpus = {}, distances = {}, text = {};
	_cleanup_keyvals_ struct keyvals mem = {};
	struct numa_node *n = node_get(t, node);

	if (!sys_read(&distances, NODES "/node%u/distance", node) &&
		distances_parse(n, str_get(&distances)))
		memset(n->distances, 0, sizeof(n->distances));
	if (!sys_read(&text, NODES "/node%u/meminfo", node) &&
		!keyvals_parse(str_get(&text), &mem)) {
		n->bytes = keyvals_get_or(&mem, "MemTotal", 0);
		n->free_bytes = keyvals_get_or(&mem, "MemFree", 0);
		n->h.flags |= n->bytes ? NUMA_NODE_MEMORY : 0;
	}
	if (sys_read(&cpus, NODES "/node%u/cpulist", node))
		return 0;
	return cpus_add(t, node, str_get(&cpus)) == -ENOMEM ? -ENOMEM : 0;
}

/* Distances stand in the order of the nodes online, which may have gaps between their numbers. */
static void distances_spread(struct numa_topology *t)
{
	for (u32 node = 0; node < NUMA_NODES; node++) {
		struct numa_node *n = &t->nodes[node];
		u8 packed[NUMA_NODES];
		u32 k = 0;

		if (!(t->known & 1ULL << node))
			continue;
		memcpy(packed, n->distances, sizeof(packed));
		for (u32 to = 0; to < NUMA_NODES; to++)
			n->distances[to] = t->known & 1ULL << to ? packed[k++] : 0;
	}
}

static void tiers_read(struct numa_topology *t, struct idset *set)
{
	for (u32 tier = 0; tier < 64; tier++) {
		_cleanup_str_ struct str list = {};

		if (sys_read(&list, TIERS "/memory_tier%u/nodelist", tier) ||
			idset_parse(str_get(&list), set))
			continue;
		for (u32 node = 0; node < NUMA_NODES; node++)
			if (t->known & 1ULL << node && idset_has(set, node))
				t->nodes[node].tier = (s32)tier;
	}
}

int numa_topology_read(struct numa_topology *ret)
{
	_cleanup_str_ struct str online = {};
	struct idset *set = malloc(sizeof(*set));
	struct numa_topology t = {};
	int rc = set ? 0 : -ENOMEM;

	/* Without CONFIG_NUMA there is one node, which has all. */
	if (!rc && (sys_read(&online, NODES "/online") || idset_parse(str_get(&online), set))) {
		node_get(&t, 0)->h.flags = NUMA_NODE_MEMORY;
		rc = sys_read(&online, "/sys/devices/system/cpu/online");
		rc = rc ? 0 : cpus_add(&t, 0, str_get(&online)) == -ENOMEM ? -ENOMEM : 0;
	} else {
		for (u32 n = 0; !rc && (n = idset_next(set, n)) < NUMA_NODES; n++)
			rc = node_read(&t, n);
		distances_spread(&t);
		tiers_read(&t, set);
	}
	free(set);
	if (rc) {
		numa_topology_free(&t);
		return rc;
	}
	*ret = t;
	return 0;
}

int numa_topology_send(struct capture *c, const struct numa_topology *t)
{
	int rc = 0;

	for (u32 node = 0; node < NUMA_NODES && !rc; node++) {
		struct numa_node n = t->nodes[node];

		rc = t->known & 1ULL << node ? capture_emit(c, &n.h) : 0;
	}
	vec_each (cpu, &t->cpus) {
		struct numa_cpu copy = *cpu;

		rc = rc ? rc : capture_emit(c, &copy.h);
	}
	return rc;
}
