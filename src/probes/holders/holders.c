/*
 * The holders probe: what holds memory that the resident memory of processes does not show. Cheap
 * totals every second; a look at all processes and files in memory after a second and at the end.
 */
#include "probes/holders/holders.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/holders/holders_inner.h"
#include "sys/kernel/trace_buffers.h"
#include "sys/memory/zram.h"
#include "sys/rights.h"
#include "sys/root.h"

#define EVERY_NS NSEC_PER_SEC
#define GAP_NS (EVERY_NS * 9 / 10)
#define SEGMENT_LEAST (1ULL << 20)
#define SEGMENTS_SENT 512

u64 holders_cpu(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int segment_send(struct capture *c, struct holders *s, const struct shm_segment *g)
{
	struct held_segment r = REC_INIT(struct held_segment, REC_HELD_SEGMENT, 0);
	u64 now_s = clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC;
	u64 last_s = MAX(MAX(g->attach_time, g->detach_time), g->change_time);

	r.id = g->id;
	r.key = g->key;
	r.size_bytes = g->size_bytes;
	r.resident_bytes = g->resident_bytes;
	r.swap_bytes = g->swap_bytes;
	r.attached = g->attached;
	r.creator_tgid = g->creator_pid;
	r.uid = g->uid;
	r.removed = !!(g->perms & SHM_SEGMENT_REMOVED);
	r.idle_ns = now_s > last_s ? (now_s - last_s) * NSEC_PER_SEC : 0;
	if (g->creator_pid && !proc_label_read(g->creator_pid, &s->label))
		r.creator = names_string(c->names, str_get(&s->label));
	return capture_emit(c, &r.h);
}

static int by_resident(const void *a, const void *b)
{
	const struct shm_segment *x = a, *y = b;
	u64 xb = x->resident_bytes + x->swap_bytes, yb = y->resident_bytes + y->swap_bytes;

	return xb < yb ? 1 : xb > yb ? -1 : 0;
}

static int segments_send(struct capture *c, struct holders *s)
{
	struct shm_segments all = {};
	int rc = shm_segments_read(&all);

	if (rc && rc != -ENOMEM)
		rc = 0; /* no System V IPC here: holders_survey() said so */
	if (all.list.n)
		qsort(all.list.v, all.list.n, sizeof(all.list.v[0]), by_resident);
	s->segment_bytes = 0;
	vec_each (g, &all.list)
		s->segment_bytes += g->resident_bytes;
	for (size_t i = 0; i < MIN(all.list.n, (size_t)SEGMENTS_SENT) && !rc; i++)
		if (all.list.v[i].resident_bytes + all.list.v[i].swap_bytes >= SEGMENT_LEAST)
			rc = segment_send(c, s, &all.list.v[i]);
	shm_segments_free(&all);
	return rc;
}

static u32 holders_name_of(struct capture *c, struct holders *s, u32 tgid)
{
	return tgid && !proc_label_read(tgid, &s->label)
		       ? names_string(c->names, str_get(&s->label))
		       : 0;
}

static int queues_send(struct capture *c, struct holders *s)
{
	struct held_queues r = REC_INIT(struct held_queues, REC_HELD_QUEUES, 0);
	u64 now_s = clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC;
	struct msg_queues q;

	if (msg_queues_read(&q) || q.bytes < SEGMENT_LEAST)
		return 0;
	r.queues = q.queues;
	r.messages = q.messages;
	r.bytes = q.bytes;
	r.id = q.worst_id;
	r.id_messages = q.worst_messages;
	r.id_bytes = q.worst_bytes;
	r.sender_tgid = q.worst_sender;
	r.sender = holders_name_of(c, s, q.worst_sender);
	r.receiver_tgid = q.worst_receiver;
	r.receiver = holders_name_of(c, s, q.worst_receiver);
	r.most_tgid = q.most_sender;
	r.most = holders_name_of(c, s, q.most_sender);
	r.most_queues = q.most_queues;
	r.most_bytes = q.most_bytes;
	r.most_uid = q.most_uid;
	if (q.worst_received_s)
		r.idle_ns = now_s > q.worst_received_s ? (now_s - q.worst_received_s) * NSEC_PER_SEC
						       : 1;
	return capture_emit(c, &r.h);
}

static int disks_send(struct capture *c)
{
	_cleanup_zram_devices_ struct zram_devices all = {};
	int rc = zram_devices_read(&all);

	vec_each (z, &all.list) {
		struct held_disk r = REC_INIT(struct held_disk, REC_HELD_DISK, 0);

		if (rc || z->use == ZRAM_SWAP)
			continue;
		r.device = names_string(c->names, z->path);
		r.on = names_string(c->names, z->on);
		r.use = z->use;
		r.memory_bytes = z->stat.memory_bytes;
		r.data_bytes = z->stat.data_bytes;
		r.size_bytes = z->size_bytes;
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

static int traces_send(struct capture *c)
{
	_cleanup_trace_buffers_ struct trace_buffers all = {};
	int rc = trace_buffers_read(&all);

	vec_each (b, &all.list) {
		struct held_trace r = REC_INIT(struct held_trace, REC_HELD_TRACE, 0);

		if (rc || b->bytes < SEGMENT_LEAST)
			continue;
		r.instance = names_string(c->names, b->instance[0] ? b->instance : NULL);
		r.directory = names_string(c->names, all.mounted ? b->directory : NULL);
		r.bytes = b->bytes;
		r.cpu_bytes = b->cpu_bytes;
		r.on = b->on;
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

/* After a second, so that it does not delay the start, and at the end. */
static bool look_due(const struct capture *c, const struct holders *s, u64 now_ns)
{
	return c->ending || (!s->looks && now_ns >= s->begin_ns + EVERY_NS);
}

/* `where` runs it for what is open. Heaps, maps and the status of processes are for check. */
static bool is_brief(const struct capture *c)
{
	return capture_names(c, "where") && !capture_named(c);
}

static int holders_sample(struct capture *c, void *state)
{
	struct holders *s = state;
	u64 now = clock_mono_ns();
	bool look = look_due(c, s, now);
	int rc;

	if (!c->ending && now < s->next_ns)
		return 0;
	s->next_ns = now + GAP_NS;
	rc = holders_mounts_read(s);
	if (!rc && look)
		rc = segments_send(c, s);
	if (!rc && look)
		rc = queues_send(c, s);
	if (!rc && look)
		rc = disks_send(c);
	if (!rc && look)
		rc = traces_send(c);
	if (!rc && look)
		rc = holders_look(c, s);
	if (!rc && c->ending && !s->brief)
		rc = holders_maps_send(c, s);
	if (!rc && c->ending && !s->brief)
		rc = holders_heaps_send(c, s);
	if (!rc)
		rc = holders_files_send(c, s, look);
	if (!rc && c->ending && s->cut)
		rc = capture_note(c, NOTE_NOT_CHECKED,
			"what some of %zu processes have open: that would have taken too long",
			s->list.n);
	return rc;
}

#define OPEN_DATA "what processes have open"

/* Process 1 stands for those of other users: its executable may be read by whom its files may.
 * Where /proc hides it (hidepid) all of others' are hidden. */
static int holders_survey(struct capture *c)
{
	int others = rights_over_others() ? 0 : sys_exists("/proc/1/exe");
	int segments = sys_exists("/proc/sysvipc/shm");
	int rc = capture_method(c, "files in memory (tmpfs)", "statfs of the mounts", NULL);

	if (!rc)
		rc = capture_method(c, "System V segments", segments ? NULL : "/proc/sysvipc/shm",
			segments ? "the kernel has none: it needs CONFIG_SYSVIPC" : NULL);
	if (!rc)
		rc = others ? capture_not_of_others(c, OPEN_DATA, "/proc/PID/fd")
			    : capture_method(c, OPEN_DATA, "/proc/PID/fd", NULL);
	return rc;
}

static int holders_open(struct capture *c, void *state, struct err *err)
{
	struct holders *s = state;
	int rc = holders_survey(c);

	s->brief = is_brief(c);
	s->begin_ns = clock_mono_ns();
	groups_init(&s->inodes, 2 * sizeof(u64), sizeof(u8));
	groups_init(&s->parents, sizeof(u32), sizeof(struct held_children));
	groups_init(&s->spaces, sizeof(u32), sizeof(struct holder_space));
	groups_init(&s->writes, sizeof(u32), sizeof(s64));
	cgroup_mounts_read(&s->mounts);
	if (!rc)
		rc = proc_scope_open(c, &s->scope);
	if (!rc && !proc_scope_tests(&s->scope) && !s->brief)
		rc = holders_maps_list(s);
	return rc ? err_errno(err, rc, "holders") : 0;
}

static void holders_close(void *state)
{
	struct holders *s = state;

	holders_files_free(s);
	mounts_free(&s->table);
	groups_free(&s->inodes);
	groups_free(&s->parents);
	groups_free(&s->spaces);
	groups_free(&s->writes);
	keyvals_free(&s->io);
	proc_scope_free(&s->scope);
	vec_free(&s->list);
	vec_free(&s->maps);
	vec_free(&s->told);
	if (s->iterator)
		close(s->iterator - 1);
	str_free(&s->peer);
	str_free(&s->local);
	str_free(&s->unnamed);
	str_free(&s->text);
	str_free(&s->label);
}

static const struct probe_sampler sampler = {
	.size = sizeof(struct holders),
	.every_ns = EVERY_NS,
	.open = holders_open,
	.sample = holders_sample,
	.close = holders_close,
	.survey = holders_survey,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_HELD_FILES, struct held_files, "held_files", HELD_FILES_FIELDS,
		"a file system in memory (tmpfs), sent when it has changed"),
	RECORD_KIND(REC_HELD_SEGMENT, struct held_segment, "held_segment", HELD_SEGMENT_FIELDS,
		"a System V shared memory segment"),
	RECORD_KIND(REC_HELD_MAPS, struct held_maps, "held_maps", HELD_MAPS_FIELDS,
		"BPF maps that no process has open"),
	RECORD_KIND(REC_HELD_HEAP, struct held_heap, "held_heap", HELD_HEAP_FIELDS,
		"what the allocator of a process holds"),
	RECORD_KIND(REC_HELD_QUEUES, struct held_queues, "held_queues", HELD_QUEUES_FIELDS,
		"System V message queues"),
	RECORD_KIND(REC_HELD_DISK, struct held_disk, "held_disk", HELD_DISK_FIELDS,
		"a zram device that is not swap"),
	RECORD_KIND(REC_HELD_TRACE, struct held_trace, "held_trace", HELD_TRACE_FIELDS,
		"a ring buffer of the kernel's tracing"),
	RECORD_KIND(REC_HELD_PROCESS, struct held_process, "held_process", HELD_PROCESS_FIELDS,
		"what a process has open and what the kernel keeps for it"),
	RECORD_KIND(REC_HELD_THREAD, struct held_thread, "held_thread", HELD_THREAD_FIELDS,
		"a thread of the kernel that works for memory; now among system values"),
	RECORD_KIND(REC_HELD_CHILDREN, struct held_children, "held_children", HELD_CHILDREN_FIELDS,
		"the children of a process that has many"),
	RECORD_KIND(REC_HELD_TOTALS, struct held_totals, "held_totals", HELD_TOTALS_FIELDS,
		"what all processes have open together"),
};

const struct probe probe_holders = {
	.name = "holders",
	.summary = "What holds memory that no process's resident memory shows",
	.details =
		"Reads what file systems in memory hold once a second, and, after a second and at "
		"the end, System V segments and queues, and what processes have open: pipes, "
		"sockets, files in "
		"memory, BPF maps, and their page tables, locked memory and threads; at the end "
		"also "
		"what glibc's malloc holds in the two with most anonymous memory. One look "
		"takes "
		"at most 180 ms of CPU time. It feeds `memwhy check` and has no command of its "
		"own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.sampler = &sampler,
	.aside = true,
	.cheap = true,
	.borrows = true,
};
