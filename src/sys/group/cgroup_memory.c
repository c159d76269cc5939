/* See cgroup.h: what the memory controller of one group says, in v1 and in v2. */
#include <errno.h>
#include <string.h>

#include "sys/group/cgroup.h"
#include "sys/root.h"
#include "sys/scan.h"

/* v1 has LONG_MAX rounded down to a page for "no limit" (PAGE_COUNTER_MAX, 4.x to 6.18). Nobody
 * sets half of that. */
#define V1_NO_LIMIT (1ULL << 62)
#define ROOT_ID 1 /* of a hierarchy's root, if it is not a namespace's (kernfs_create_root()) */

int cgroup_limit_parse(const char *text, u64 *ret)
{
	struct scan s = scan_text(text);
	u64 v;

	if (scan_lit(&s, "max")) {
		*ret = CGROUP_NO_LIMIT;
		return 0;
	}
	if (!scan_u64(&s, &v))
		return -EINVAL;
	*ret = v >= V1_NO_LIMIT ? CGROUP_NO_LIMIT : v;
	return 0;
}

/* One number of the group; left as it is where the file is missing. */
static bool number_read(const struct cgroup *cg, const char *name, u64 *ret)
{
	_cleanup_str_ struct str text = {};

	return !sys_read_once(&text, "%s/%s", cg->dir, name) &&
	       !cgroup_limit_parse(str_get(&text), ret);
}

static int keyvals_read_in(const struct cgroup *cg, const char *name, struct keyvals *kv)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", cg->dir, name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	return keyvals_read(path, kv);
}

/* Of the root the kernel adds up pages of files and of processes, and leaves out its own
 * (mem_cgroup_usage(), mm/memcontrol-v1.c, 4.5 to 6.18); of other groups they are in it. */
static void v1_root_add(const struct cgroup *cg, struct cgroup_memory *m)
{
	u64 kernel;

	if (cg->id == ROOT_ID && number_read(cg, "memory.kmem.usage_in_bytes", &kernel))
		m->usage_bytes += kernel;
}

static void v1_read(const struct cgroup *cg, struct cgroup_memory *m)
{
	_cleanup_keyvals_ struct keyvals kv = {};

	v1_root_add(cg, m);

	number_read(cg, "memory.max_usage_in_bytes", &m->peak_bytes);
	number_read(cg, "memory.limit_in_bytes", &m->limit_bytes);
	number_read(cg, "memory.failcnt", &m->limit_hit_total);
	m->has_swap = number_read(cg, "memory.memsw.limit_in_bytes", &m->memsw_limit_bytes);
	if (!keyvals_read_in(cg, "memory.stat", &kv))
		m->swap_bytes = keyvals_get_or(&kv, "total_swap", 0);
	if (!keyvals_read_in(cg, "memory.oom_control", &kv)) {
		m->oom_kill_total = keyvals_get_or(&kv, "oom_kill", 0);
		m->hangs = keyvals_get_or(&kv, "oom_kill_disable", 0) &&
			   keyvals_get_or(&kv, "under_oom", 0);
	}
}

static void v2_read(const struct cgroup *cg, struct cgroup_memory *m)
{
	_cleanup_keyvals_ struct keyvals kv = {};

	number_read(cg, "memory.peak", &m->peak_bytes);
	number_read(cg, "memory.max", &m->limit_bytes);
	number_read(cg, "memory.high", &m->high_bytes);
	number_read(cg, "memory.low", &m->low_bytes);
	number_read(cg, "memory.min", &m->min_bytes);
	number_read(cg, "memory.swap.max", &m->swap_limit_bytes);
	m->has_swap = number_read(cg, "memory.swap.current", &m->swap_bytes);
	if (keyvals_read_in(cg, "memory.events", &kv))
		return;
	m->limit_hit_total = keyvals_get_or(&kv, "max", 0);
	m->high_hit_total = keyvals_get_or(&kv, "high", 0);
	m->oom_total = keyvals_get_or(&kv, "oom", 0);
	m->oom_kill_total = keyvals_get_or(&kv, "oom_kill", 0);
}

int cgroup_memory_read(const struct cgroup *cg, struct cgroup_memory *ret)
{
	struct cgroup_memory m = {
		.version = cg->version,
		.limit_bytes = CGROUP_NO_LIMIT,
		.high_bytes = CGROUP_NO_LIMIT,
		.swap_limit_bytes = CGROUP_NO_LIMIT,
		.memsw_limit_bytes = CGROUP_NO_LIMIT,
	};
	int rc = sys_read_u64(&m.usage_bytes, "%s/%s", cg->dir,
		cg->version == 1 ? "memory.usage_in_bytes" : "memory.current");

	if (rc)
		return rc;
	if (cg->version == 1)
		v1_read(cg, &m);
	else
		v2_read(cg, &m);
	*ret = m;
	return 0;
}

int cgroup_stat_read(const struct cgroup *cg, struct keyvals *kv)
{
	int rc = keyvals_read_in(cg, "memory.stat", kv);

	if (rc == -ENAMETOOLONG)
		kv->items.n = 0;
	return rc;
}
