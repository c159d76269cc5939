/* See policy_host.h. */
#include "probes/policy/policy_host.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <string.h>

#include "capture/page_tables.h"
#include "sys/idset.h"
#include "sys/root.h"

/* Where it is not there, all nodes with memory are those that have pages. */
static void memory_read(const struct zoneinfo *zones, struct policy_config *c)
{
	_cleanup_str_ struct str text = {};
	struct idset nodes;

	if (!sys_read(&text, "/sys/devices/system/node/has_memory") &&
		!idset_parse(str_get(&text), &nodes))
		memcpy(c->memory, nodes.bits, sizeof(c->memory));
	vec_each (z, &zones->zones) {
		if (z->managed_pages && z->id.node < MASK_NODES)
			c->memory[z->id.node / 64] |= 1ULL << z->id.node % 64;
		if (z->id.node < POLICY_NODES)
			c->node_pages[z->id.node] += z->managed_pages;
	}
	for (u32 i = 0; i < MASK_WORDS; i++)
		c->nodes += (u32)__builtin_popcountll(c->memory[i]);
}

static void places_find(struct policy_host *h)
{
	const char *missing = "this host has one node";

	h->config.places = h->config.nodes > 1 && !place_known(&missing);
	snprintf(h->missing, sizeof(h->missing), "%s", missing);
}

static void host_find(struct policy_host *h)
{
	_cleanup_zoneinfo_ struct zoneinfo zones = {};
	int rc = zoneinfo_read(&zones);

	if (rc) {
		snprintf(h->missing, sizeof(h->missing), "/proc/zoneinfo: %s", strerror(-rc));
		return;
	}
	memory_read(&zones, &h->config);
	places_find(h);
	h->config.find_vma =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_find_vma, NULL) == 1;
}

const struct policy_host *policy_host(void)
{
	static struct policy_host host;
	static bool known;

	if (!known)
		host_find(&host);
	known = true;
	return &host;
}
