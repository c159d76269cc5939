/* See policy_host.h. */
#include "probes/policy/policy_host.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "sys/idset.h"
#include "sys/kcore.h"
#include "sys/root.h"

#define MIXED 255 /* of several nodes; then 0 */

static u64 zone_end(const struct zoneinfo_zone *z)
{
	return z->present_pages ? z->start_pfn + z->spanned_pages : 0;
}

static void zone_mark(const struct zoneinfo_zone *z, u8 frames[POLICY_FRAMES], u32 shift)
{
	u64 end = zone_end(z);

	for (u64 at = z->start_pfn >> shift; end && at <= (end - 1) >> shift; at++) {
		u8 node = (u8)(z->id.node + 1);

		frames[at] = frames[at] && frames[at] != node ? MIXED : node;
	}
}

void policy_frames_fill(const struct zoneinfo *zones, u8 frames[POLICY_FRAMES], u32 *ret_shift)
{
	u32 shift = 0;
	u64 end = 0;

	memset(frames, 0, POLICY_FRAMES);
	vec_each (z, &zones->zones)
		end = MAX(end, zone_end(z));
	while (end >> shift >= POLICY_FRAMES)
		shift++;
	vec_each (z, &zones->zones)
		if (z->id.node < MIXED - 1)
			zone_mark(z, frames, shift);
	for (u32 i = 0; i < POLICY_FRAMES; i++)
		if (frames[i] == MIXED)
			frames[i] = 0;
	*ret_shift = shift;
}

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

static void tables_read(struct policy_host *h)
{
	struct kcore k;
	int rc;

	if (h->config.nodes < 2) {
		snprintf(h->missing, sizeof(h->missing), "this host has one node");
		return;
	}
	rc = kcore_read(&k);
	if (rc) {
		snprintf(h->missing, sizeof(h->missing), "/proc/kcore: %s",
			rc == -ENODATA ? "it does not say where memory is mapped" : strerror(-rc));
		return;
	}
	h->config.page_offset = k.page_offset;
	h->config.no_address = k.sme_mask;
	h->config.top_shift = k.five_levels ? 48 : 39;
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
	policy_frames_fill(&zones, h->frames, &h->config.frame_shift);
	tables_read(h);
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
