/* See sysvipc.h. */
#include "sys/memory/sysvipc.h"

#include "base/groups.h"
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
static bool sysvipc_line_parse(struct scan s, struct shm_segment *g)
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

		if (sysvipc_line_parse(line, &g))
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

/* Who has sent to queues. Of one in another namespace only the user is known. */
struct sender {
	u32 tgid, uid;
};

struct sent {
	u64 queues, bytes;
};

static void sender_take(struct groups *from, u32 tgid, u32 uid, u64 bytes)
{
	struct sender k = {tgid, uid};
	struct sent *s = bytes ? groups_get(from, &k) : NULL; /* no room: it is not counted */

	if (!s)
		return;
	s->queues++;
	s->bytes += bytes;
}

static void sender_most(const struct groups *from, struct msg_queues *r)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct sender *k = groups_key(from, i);
		const struct sent *s = groups_value(from, i);

		if (s->bytes <= r->most_bytes)
			continue;
		r->most_sender = k->tgid;
		r->most_uid = k->uid;
		r->most_queues = s->queues;
		r->most_bytes = s->bytes;
	}
}

/* sysvipc_msg_proc_show() (ipc/msg.c, 6.18): key msqid perms cbytes qnum lspid lrpid uid gid cuid
 * cgid stime rtime ctime. */
static bool queue_parse(struct scan s, struct msg_queues *r, struct groups *from)
{
	u64 id, perms, bytes, messages, skipped, received;
	u32 sender, receiver, uid;
	s64 key;

	if (!scan_s64(&s, &key) || !scan_u64(&s, &id) || !scan_u64(&s, &perms) ||
		!scan_u64(&s, &bytes) || !scan_u64(&s, &messages) ||
		!scan_u32(&s, INT32_MAX, &sender) || !scan_u32(&s, INT32_MAX, &receiver) ||
		!scan_u32(&s, UINT32_MAX, &uid))
		return false;
	for (int i = 0; i < 4; i++) /* three ids and the time of the last message sent */
		if (!scan_u64(&s, &skipped))
			return false;
	if (!scan_u64(&s, &received))
		return false;
	r->queues++;
	r->messages += messages;
	r->bytes += bytes;
	sender_take(from, sender, uid, bytes);
	if (bytes < r->worst_bytes)
		return true;
	r->worst_id = id;
	r->worst_bytes = bytes;
	r->worst_messages = messages;
	r->worst_sender = sender;
	r->worst_receiver = receiver;
	r->worst_received_s = received;
	return true;
}

void msg_queues_parse(const char *text, struct msg_queues *ret)
{
	struct groups from;
	struct scan line;

	*ret = (struct msg_queues){};
	groups_init(&from, sizeof(struct sender), sizeof(struct sent));
	while (scan_line(&text, &line))
		queue_parse(line, ret, &from);
	sender_most(&from, ret);
	groups_free(&from);
}

int msg_queues_read(struct msg_queues *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/sysvipc/msg");

	if (!rc)
		msg_queues_parse(str_get(&text), ret);
	return rc;
}
