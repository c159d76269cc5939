/* See compaction_host.h. */
#include "probes/compaction/compaction_host.h"

#include <stdint.h>
#include <string.h>

#include "capture/kbtf.h"
#include "capture/value_names.h"
#include "sys/memory/buddyinfo.h"
#include "sys/memory/zoneinfo.h"

/* enum compact_result of include/linux/compaction.h, 5.10 to 6.18. The tracepoint's only list of
 * names is that of its status. */
int compaction_results_read(
	int (*fn)(void *arg, u64 value, const char *name), void *arg, const char **ret_method)
{
	static const char *const table[] = {"not_suitable_zone", "skipped", "deferred",
		"no_suitable_page", "continue", "complete", "partial_skipped", "contended",
		"success", NULL};
	static const struct value_names results = {
		"compaction", "mm_compaction_end", "compact_result", "COMPACT_", table};

	return value_names_read(&results, fn, arg, ret_method);
}

static int success_take(void *arg, u64 value, const char *name)
{
	if (!strcmp(name, "success"))
		*(u8 *)arg = (u8)value;
	return 0;
}

u8 compaction_success(void)
{
	const char *method;
	u8 value = 255;

	compaction_results_read(success_take, &value, &method);
	return value;
}

u32 compaction_orders(void)
{
	_cleanup_buddyinfo_ struct buddyinfo info = {};

	return buddyinfo_read(&info) || !info.zones.n ? 0 : info.zones.v[0].orders;
}

void compaction_zone_find(u64 start_pfn, s16 *node, u8 *zone)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};
	u32 last = UINT32_MAX;
	u8 index = 0;

	if (zoneinfo_read(&info))
		return;
	vec_each (z, &info.zones) {
		index = z->id.node == last ? index + 1 : 0;
		last = z->id.node;
		if (!z->present_pages || z->start_pfn != start_pfn)
			continue;
		*node = (s16)z->id.node;
		*zone = index;
		return;
	}
}

/* The zones of a node have the order of enum zone_type, and every node has the same. */
static int compaction_host_zones_send(struct capture *c)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};
	int rc = zoneinfo_read(&info);
	u64 index = 0;

	if (rc)
		return capture_method(c, "names of zones", NULL, "/proc/zoneinfo");
	vec_each (z, &info.zones) {
		if (z->id.node != info.zones.v[0].id.node || rc)
			break;
		rc = capture_enum(c, COMPACTION_ZONE_SET, index++, z->id.zone);
	}
	return rc;
}

static int result_send(void *arg, u64 value, const char *name)
{
	return capture_enum(arg, COMPACTION_RESULT_SET, value, name);
}

static int result_count(void *arg, u64 value, const char *name)
{
	(void)arg;
	(void)value;
	(void)name;
	return 0;
}

static void names_tell(struct capture *c, bool send)
{
	const char *method;

	compaction_results_read(send ? result_send : result_count, c, &method);
	capture_method(c, "names of results", method, NULL);
	if (!kbtf_available())
		capture_method(c, "free pages, watermarks, deferrals by zone", NULL,
			"the kernel's BTF (/sys/kernel/btf/vmlinux)");
}

static int compaction_host_sampler_open(struct capture *c, void *state, struct err *err)
{
	int rc = compaction_host_zones_send(c);

	(void)state;
	names_tell(c, true);
	return rc ? err_errno(err, rc, "%s", c->probe) : 0;
}

static int compaction_host_sampler_sample(struct capture *c, void *state)
{
	(void)c;
	(void)state;
	return 0;
}

static int compaction_host_sampler_survey(struct capture *c)
{
	names_tell(c, false);
	return 0;
}

const struct probe_sampler compaction_sampler = {
	.open = compaction_host_sampler_open,
	.sample = compaction_host_sampler_sample,
	.survey = compaction_host_sampler_survey,
};
