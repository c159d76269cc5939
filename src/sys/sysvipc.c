/* See sysvipc.h. */
#include "sys/sysvipc.h"

#include "sys/root.h"
#include "sys/scan.h"

void shm_segments_free(struct shm_segments *s)
{
	vec_free(&s->list);
}

static bool octal(struct scan *s, u32 *ret)
{
	u64 v, o = 0;

	if (!scan_u64(s, &v) || v > 77777)
		return false;
	for (u64 place = 1; v; v /= 10, place *= 8)
		o += v % 10 * place;
	*ret = (u32)o;
	return true;
}

/* sysvipc_shm_proc_show() (ipc/shm.c, 6.18): key shmid perms size cpid lpid nattch uid gid cuid
 * cgid atime dtime ctime rss swap. */
static bool line_parse(struct scan s, struct shm_segment *g)
{
	u64 creator_gid;
	struct shm_segment r = {};

	if (!scan_s64(&s, &r.key) || !scan_u64(&s, &r.id) || !octal(&s, &r.perms) ||
		!scan_u64(&s, &r.size_bytes) || !scan_u32(&s, INT32_MAX, &r.creator_pid) ||
		!scan_u32(&s, INT32_MAX, &r.last_pid) || !scan_u64(&s, &r.attached) ||
		!scan_u32(&s, UINT32_MAX, &r.uid) || !scan_u32(&s, UINT32_MAX, &r.gid) ||
		!scan_u32(&s, UINT32_MAX, &r.creator_uid) || !scan_u64(&s, &creator_gid) ||
		!scan_u64(&s, &r.attach_time) || !scan_u64(&s, &r.detach_time) ||
		!scan_u64(&s, &r.change_time) || !scan_u64(&s, &r.resident_bytes) ||
		!scan_u64(&s, &r.swap_bytes))
		return false;
	*g = r;
	return true;
}

int shm_segments_parse(const char *text, struct shm_segments *ret)
{
	struct scan line;
	int rc = 0;

	ret->list.n = 0;
	while (!rc && ret->list.n < SHM_SEGMENTS_MAX && scan_line(&text, &line)) {
		struct shm_segment g;

		if (line_parse(line, &g))
			rc = vec_push(&ret->list, g);
	}
	return rc;
}

int shm_segments_read(struct shm_segments *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/sysvipc/shm");

	ret->list.n = 0;
	return rc ? rc : shm_segments_parse(str_get(&text), ret);
}
