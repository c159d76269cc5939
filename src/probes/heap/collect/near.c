/* See near.h. */
#include "probes/heap/collect/near.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "sys/process/proc.h"
#include "tracker/ring.h"

#define TOLD 5
#define GROUP_PART 8 /* a limit of which no more than this part is left is near */

static int limit_note(struct near *n, const struct near_limit *new)
{
	vec_each (l, &n->seen)
		if (l->pid == new->pid && l->cgroup == new->cgroup) {
			l->used_bytes = MAX(l->used_bytes, new->used_bytes);
			return 0;
		}
	return vec_push(&n->seen, *new) ? -ENOMEM : 0;
}

/* So near that it would not be, were we not there. */
static int space_look(struct near *n, u32 pid, const char *comm)
{
	struct near_limit l = {.pid = pid};
	struct proc_stat st;
	u64 hard;

	if (proc_limit_read((int)pid, PROC_LIMIT_SPACE, &l.limit_bytes, &hard) ||
		proc_stat_read((int)pid, &st) || l.limit_bytes == UINT64_MAX ||
		st.vsize_bytes + TRACK_FILE_BYTES < l.limit_bytes)
		return 0;
	l.used_bytes = st.vsize_bytes;
	snprintf(l.name, sizeof(l.name), "%.16s", comm);
	return limit_note(n, &l);
}

/* Pages of files, which the kernel drops before a limit is in anybody's way. */
static u64 group_files(const struct cgroup *cg)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	const char *total = cg->version == 1 ? "total_" : "";
	char active[32], inactive[32];

	if (cgroup_stat_read(cg, &kv))
		return 0;
	snprintf(active, sizeof(active), "%sactive_file", total);
	snprintf(inactive, sizeof(inactive), "%sinactive_file", total);
	return keyvals_get_or(&kv, active, 0) + keyvals_get_or(&kv, inactive, 0);
}

static int near_group_look(struct near *n, u32 pid)
{
	_cleanup_free_ struct cgroup *cg = n->cgroups ? calloc(1, sizeof(*cg)) : NULL;
	struct cgroup_memory m;
	struct near_limit l = {};
	u64 near;

	if (!cg || cgroup_of_pid(n->cgroups, (int)pid, cg) || cgroup_memory_read(cg, &m) ||
		m.limit_bytes == CGROUP_NO_LIMIT)
		return 0;
	near = m.limit_bytes - m.limit_bytes / GROUP_PART;
	if (m.usage_bytes < near)
		return 0;
	m.usage_bytes -= MIN(m.usage_bytes, group_files(cg));
	if (m.usage_bytes < near)
		return 0;
	l.cgroup = cg->id;
	l.limit_bytes = m.limit_bytes;
	l.used_bytes = m.usage_bytes;
	snprintf(l.name, sizeof(l.name), "%.127s", cgroup_path(cg));
	return limit_note(n, &l);
}

int near_look(struct near *n, u32 pid, const char *comm)
{
	int rc = space_look(n, pid, comm);

	return rc ? rc : near_group_look(n, pid);
}

static void limit_tell(const struct near_limit *l, struct capture *c)
{
	char limit[UNIT_BUF], used[UNIT_BUF], ours[UNIT_BUF];

	fmt_bytes(limit, l->limit_bytes);
	fmt_bytes(used, l->used_bytes);
	fmt_bytes(ours, TRACK_FILE_BYTES);
	if (l->pid)
		capture_note(c, NOTE_WARNING,
			"'%.16s' (pid %u) used %s of the %s that its address space may have "
			"(ulimit -v), %s of it for memwhy: without memwhy it has that much more",
			l->name, l->pid, used, limit, ours);
	else
		capture_note(c, NOTE_WARNING,
			"the control group %.127s used %s of its limit of %s, without pages of "
			"files: a tracked program takes up to 2 MiB of it with 64 threads, see "
			"`memwhy help heap`",
			l->name, used, limit);
}

void near_tell(const struct near *n, struct capture *c)
{
	u32 told = 0;

	vec_each (l, &n->seen)
		if (told++ < TOLD)
			limit_tell(l, c);
	if (told > TOLD)
		capture_note(c, NOTE_WARNING, "%u more limits of programs were near", told - TOLD);
}

void near_free(struct near *n)
{
	vec_free(&n->seen);
}
