/*
 * The holders probe: what holds memory that the resident memory of processes does not show. Cheap
 * totals every second; a look at all processes and files in memory after a second and at the end.
 */
#include "probes/holders/holders.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/holders/holders_inner.h"
#include "sys/rights.h"
#include "sys/root.h"
#include "sys/zram.h"

#define EVERY_NS NSEC_PER_SEC
#define GAP_NS (EVERY_NS * 9 / 10)
#define SEGMENT_LEAST (1ULL << 20)
#define SEGMENTS_SENT 64

u64 holders_cpu(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Threads of the kernel that work for memory. */
static bool is_memory_thread(const char *comm)
{
	static const char *const names[] = {
		"kswapd", "ksmd", "khugepaged", "kcompactd", "oom_reaper"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(comm, names[i], strlen(names[i])))
			return true;
	return false;
}

/* They are started as the kernel boots, so the first numbers are enough to look at. */
static int threads_find(struct holders *s)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	int pid, rc = proc_iter_open(&it);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	while (!rc && proc_iter_next(&it, &pid) && pid < 2000) {
		struct proc_stat st;

		if (proc_stat_read(pid, &st) || !st.is_kthread || !is_memory_thread(st.comm))
			continue;
		rc = vec_push(&s->threads, (u32)pid);
		if (!rc)
			rc = vec_push(&s->thread_ns, ~0ULL);
	}
	return rc;
}

static int threads_send(struct capture *c, struct holders *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->threads.n && !rc; i++) {
		struct held_thread r = REC_INIT(struct held_thread, REC_HELD_THREAD, 0);
		struct proc_stat st;

		if (proc_stat_read((int)s->threads.v[i], &st))
			continue;
		r.tid = s->threads.v[i];
		r.cpu_ns = (st.utime_ticks + st.stime_ticks) * s->tick_ns;
		snprintf(r.comm, sizeof(r.comm), "%.15s", st.comm);
		if (r.cpu_ns == s->thread_ns.v[i] && !c->ending)
			continue;
		s->thread_ns.v[i] = r.cpu_ns;
		rc = capture_emit(c, &r.h);
	}
	return rc;
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
		rc = 0; /* no System V IPC here: survey() said so */
	if (all.list.n)
		qsort(all.list.v, all.list.n, sizeof(all.list.v[0]), by_resident);
	for (size_t i = 0; i < MIN(all.list.n, (size_t)SEGMENTS_SENT) && !rc; i++)
		if (all.list.v[i].resident_bytes + all.list.v[i].swap_bytes >= SEGMENT_LEAST)
			rc = segment_send(c, s, &all.list.v[i]);
	shm_segments_free(&all);
	return rc;
}

static u32 name_of(struct capture *c, struct holders *s, u32 tgid)
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
	r.sender = name_of(c, s, q.worst_sender);
	r.receiver_tgid = q.worst_receiver;
	r.receiver = name_of(c, s, q.worst_receiver);
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

/* After a second, so that it does not delay the start, and at the end. */
static bool look_due(const struct capture *c, const struct holders *s, u64 now_ns)
{
	return c->ending || (!s->looks && now_ns >= s->begin_ns + EVERY_NS);
}

/* `where` looks beside at what is open: heaps and maps are not its matter. They are that of check. */
static bool is_beside(const struct capture *c)
{
	static const char of[] = "where,cache"; /* and what else is beside it */

	return c->opt.named &&
	       (!strcmp(c->opt.named, "where") || !strncmp(c->opt.named, of, strlen(of)));
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
	if (!rc)
		rc = threads_send(c, s);
	if (!rc && look)
		rc = segments_send(c, s);
	if (!rc && look)
		rc = queues_send(c, s);
	if (!rc && look)
		rc = disks_send(c);
	if (!rc && look)
		rc = holders_look(c, s);
	if (!rc && c->ending && !is_beside(c))
		rc = holders_maps_send(c, s);
	if (!rc && c->ending && !is_beside(c))
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
static int survey(struct capture *c)
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
	int rc = survey(c);

	s->begin_ns = clock_mono_ns();
	s->tick_ns = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
	groups_init(&s->inodes, 2 * sizeof(u64), sizeof(u8));
	groups_init(&s->parents, sizeof(u32), sizeof(struct held_children));
	groups_init(&s->spaces, sizeof(u32), sizeof(u64));
	groups_init(&s->writes, sizeof(u32), sizeof(s64));
	cgroup_mounts_read(&s->mounts);
	if (!rc)
		rc = proc_scope_open(c, &s->scope);
	if (!rc)
		rc = threads_find(s);
	if (!rc && !proc_scope_tests(&s->scope) && !is_beside(c))
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
	vec_free(&s->threads);
	vec_free(&s->thread_ns);
	vec_free(&s->maps);
	str_free(&s->peer);
	str_free(&s->local);
	str_free(&s->text);
	str_free(&s->label);
}

static const struct probe_sampler sampler = {
	.size = sizeof(struct holders),
	.every_ns = EVERY_NS,
	.open = holders_open,
	.sample = holders_sample,
	.close = holders_close,
	.survey = survey,
};

#define FILES(member_, type_, unit_, help_) FIELD(struct held_files, member_, type_, unit_, help_)
#define SEGMENT(member_, type_, unit_, help_) \
	FIELD(struct held_segment, member_, type_, unit_, help_)
#define QUEUES(member_, type_, unit_, help_) FIELD(struct held_queues, member_, type_, unit_, help_)
#define HEAP(member_, type_, unit_, help_) FIELD(struct held_heap, member_, type_, unit_, help_)
#define CHILDREN(member_, type_, unit_, help_) \
	FIELD(struct held_children, member_, type_, unit_, help_)
#define PROCESS(member_, type_, unit_, help_) \
	FIELD(struct held_process, member_, type_, unit_, help_)

static const struct field files_fields[] = {
	FILES(mount, FIELD_U32, UNIT_STRING, "where the file system is mounted"),
	FILES(directory, FIELD_U32, UNIT_STRING,
		"the directory in it that has most; 0: not looked for"),
	FILES(used_bytes, FIELD_U64, UNIT_BYTES, "memory of its files, in swap too"),
	FILES(limit_bytes, FIELD_U64, UNIT_BYTES, "the most it takes; 0: no limit"),
	FILES(first_used_bytes, FIELD_U64, UNIT_BYTES, "used_bytes when it was first seen"),
	FILES(files, FIELD_U64, UNIT_COUNT, "files found in it"),
	FILES(found_bytes, FIELD_U64, UNIT_BYTES, "memory of these"),
	FILES(directory_bytes, FIELD_U64, UNIT_BYTES, "memory of the files of the directory"),
	FILES(directory_files, FIELD_U64, UNIT_COUNT, "files in the directory, and below"),
	FILES(uid, FIELD_U32, UNIT_ID, "user who owns the largest file of the directory"),
	FILES(partial, FIELD_U32, UNIT_NONE, "1: not all of it was looked through"),
	FILES(newest_age_ns, FIELD_U64, UNIT_NS, "time since a file of the directory was written"),
	FILES(opener, FIELD_U32, UNIT_STRING, "a process that has files of it open; 0: none"),
	FILES(opener_tgid, FIELD_U32, UNIT_ID, "that process"),
	FILES(opener_files, FIELD_U64, UNIT_COUNT, "how many it has open"),
	FILES(inodes, FIELD_U64, UNIT_COUNT, "its files and directories, empty ones too"),
	FILES(first_inodes, FIELD_U64, UNIT_COUNT, "inodes when it was first seen"),
};

static const struct field segment_fields[] = {
	SEGMENT(id, FIELD_U64, UNIT_ID, "the segment (shmid)"),
	SEGMENT(key, FIELD_S64, UNIT_ID, "its key"),
	SEGMENT(size_bytes, FIELD_U64, UNIT_BYTES, "size"),
	SEGMENT(resident_bytes, FIELD_U64, UNIT_BYTES, "memory it has"),
	SEGMENT(swap_bytes, FIELD_U64, UNIT_BYTES, "of it in swap"),
	SEGMENT(attached, FIELD_U64, UNIT_COUNT, "how often it is attached"),
	SEGMENT(creator_tgid, FIELD_U32, UNIT_ID, "process that made it"),
	SEGMENT(creator, FIELD_U32, UNIT_STRING, "its name; 0: it has ended"),
	SEGMENT(uid, FIELD_U32, UNIT_ID, "user who owns it"),
	SEGMENT(removed, FIELD_U32, UNIT_NONE, "1: it goes when nobody has it attached"),
	SEGMENT(idle_ns, FIELD_U64, UNIT_NS, "time since it was last attached or detached"),
};

static const struct field process_fields[] = {
	PROCESS(tgid, FIELD_U32, UNIT_ID, "process"),
	PROCESS(name, FIELD_U32, UNIT_STRING, "its name, of an interpreter with what it runs"),
	PROCESS(start_ns, FIELD_U64, UNIT_NS, "its start, since boot"),
	PROCESS(cgroup, FIELD_U64, UNIT_CGROUP, "control group that its memory is charged to"),
	PROCESS(threads, FIELD_U32, UNIT_COUNT, "its threads"),
	PROCESS(uid, FIELD_U32, UNIT_ID, "user"),
	PROCESS(page_table_bytes, FIELD_U64, UNIT_BYTES, "page tables"),
	PROCESS(locked_bytes, FIELD_U64, UNIT_BYTES, "locked memory (mlock)"),
	PROCESS(rss_bytes, FIELD_U64, UNIT_BYTES, "resident memory"),
	PROCESS(shmem_bytes, FIELD_U64, UNIT_BYTES, "shared memory in it"),
	PROCESS(files, FIELD_U64, UNIT_COUNT, "open files"),
	FIELD_ARRAY(struct held_process, kinds, FIELD_U32, UNIT_COUNT, HELD_KINDS,
		"of these: paths, pipes, sockets, epoll, event and timer, watches, userfaultfd, "
		"BPF "
		"maps, other BPF, io_uring, perf, memfd, other shared memory, dmabuf, removed, "
		"other"),
	PROCESS(memfd_bytes, FIELD_U64, UNIT_BYTES, "memory of open files that have no name"),
	PROCESS(pipe_bytes, FIELD_U64, UNIT_BYTES, "in its pipes, not read"),
	PROCESS(pipes, FIELD_U64, UNIT_COUNT, "pipes"),
	PROCESS(pipes_measured, FIELD_U64, UNIT_COUNT, "of these, looked into"),
	PROCESS(unread_bytes, FIELD_U64, UNIT_BYTES, "arrived at its sockets, not read"),
	PROCESS(unsent_bytes, FIELD_U64, UNIT_BYTES, "written to its sockets, not taken"),
	PROCESS(sockets, FIELD_U64, UNIT_COUNT, "sockets"),
	PROCESS(sockets_measured, FIELD_U64, UNIT_COUNT, "of these, looked into"),
	PROCESS(bpf_bytes, FIELD_U64, UNIT_BYTES, "memory of its BPF maps"),
	PROCESS(worst_bytes, FIELD_U64, UNIT_BYTES, "of the socket that holds most"),
	PROCESS(peer, FIELD_U32, UNIT_STRING, "the other side of that"),
	PROCESS(worst_unsent, FIELD_U32, UNIT_NONE, "1: it was written and not taken; 0: not read"),
	PROCESS(parent, FIELD_U32, UNIT_STRING, "its parent"),
	PROCESS(parent_tgid, FIELD_U32, UNIT_ID, "the parent's number"),
	PROCESS(pinned_bytes, FIELD_U64, UNIT_BYTES, "kept in place for devices and io_uring"),
	PROCESS(ksm_pages, FIELD_U64, UNIT_PAGES, "that KSM looks at"),
	PROCESS(ksm_merged, FIELD_U64, UNIT_PAGES, "of these, merged with others"),
	PROCESS(local, FIELD_U32, UNIT_STRING, "this side of the connection with peer"),
	PROCESS(packets, FIELD_U32, UNIT_COUNT, "packet sockets"),
	PROCESS(vm_bytes, FIELD_U64, UNIT_BYTES, "its address space"),
	PROCESS(reserved_bytes, FIELD_U64, UNIT_BYTES,
		"huge pages of the pool that it has mapped and not touched"),
	PROCESS(mappings, FIELD_U64, UNIT_COUNT,
		"its mappings, where its address space grew between the looks; else 0"),
	PROCESS(written_bytes, FIELD_U64, UNIT_BYTES,
		"written since the first look, by ended children too, to no disk"),
	PROCESS(written_ns, FIELD_U64, UNIT_NS, "time since the first look; 0: there was none"),
};

static const struct field heap_fields[] = {
	HEAP(tgid, FIELD_U32, UNIT_ID, "process"),
	HEAP(name, FIELD_U32, UNIT_STRING, "its name"),
	HEAP(start_ns, FIELD_U64, UNIT_NS, "its start, since boot"),
	HEAP(cgroup, FIELD_U64, UNIT_CGROUP, "control group that its memory is charged to"),
	HEAP(arenas, FIELD_U32, UNIT_COUNT, "arenas of glibc's malloc"),
	HEAP(partial, FIELD_U32, UNIT_COUNT, "of these, read in part only"),
	HEAP(anon_bytes, FIELD_U64, UNIT_BYTES, "resident anonymous memory of the process"),
	HEAP(system_bytes, FIELD_U64, UNIT_BYTES, "that the arenas have from the kernel"),
	HEAP(live_bytes, FIELD_U64, UNIT_BYTES, "blocks in use"),
	HEAP(free_bytes, FIELD_U64, UNIT_BYTES, "free blocks between these"),
	HEAP(kept_bytes, FIELD_U64, UNIT_BYTES, "resident pages with nothing but free blocks"),
	HEAP(trimmable_bytes, FIELD_U64, UNIT_BYTES, "of these, what malloc_trim(0) gives back"),
};

static const struct field queues_fields[] = {
	QUEUES(queues, FIELD_U64, UNIT_COUNT, "queues"),
	QUEUES(messages, FIELD_U64, UNIT_COUNT, "messages in them"),
	QUEUES(bytes, FIELD_U64, UNIT_BYTES, "text of these"),
	QUEUES(id, FIELD_U64, UNIT_ID, "the queue that holds most (msqid)"),
	QUEUES(id_messages, FIELD_U64, UNIT_COUNT, "messages in it"),
	QUEUES(id_bytes, FIELD_U64, UNIT_BYTES, "their text"),
	QUEUES(sender_tgid, FIELD_U32, UNIT_ID, "process that last sent to it"),
	QUEUES(sender, FIELD_U32, UNIT_STRING, "its name; 0: it has ended"),
	QUEUES(receiver_tgid, FIELD_U32, UNIT_ID, "process that last received from it"),
	QUEUES(receiver, FIELD_U32, UNIT_STRING, "its name; 0: it has ended"),
	QUEUES(idle_ns, FIELD_U64, UNIT_NS, "time since that; 0: nobody ever did"),
};

#define DISK(member_, type_, unit_, help_) FIELD(struct held_disk, member_, type_, unit_, help_)

static const struct field disk_fields[] = {
	DISK(device, FIELD_U32, UNIT_STRING, "the device"),
	DISK(on, FIELD_U32, UNIT_STRING,
		"where it is mounted, or which device it is below; 0: neither"),
	DISK(use, FIELD_U32, UNIT_ID, "0 neither mounted nor below another, 2 mounted, 3 below"),
	DISK(memory_bytes, FIELD_U64, UNIT_BYTES, "memory that it takes"),
	DISK(data_bytes, FIELD_U64, UNIT_BYTES, "stored in it, before compression"),
	DISK(size_bytes, FIELD_U64, UNIT_BYTES, "the most that it stores"),
};

static const struct field children_fields[] = {
	CHILDREN(tgid, FIELD_U32, UNIT_ID, "the parent"),
	CHILDREN(name, FIELD_U32, UNIT_STRING, "its name"),
	CHILDREN(child, FIELD_U32, UNIT_STRING, "one of its children"),
	CHILDREN(partial, FIELD_U32, UNIT_NONE, "1: there may be more: not all were looked at"),
	CHILDREN(children, FIELD_U64, UNIT_COUNT, "its children"),
	CHILDREN(zombies, FIELD_U64, UNIT_COUNT, "of these, ended and not waited for"),
	CHILDREN(threads, FIELD_U64, UNIT_COUNT, "threads of all of them"),
	CHILDREN(page_table_bytes, FIELD_U64, UNIT_BYTES, "page tables of all of them"),
	CHILDREN(rss_bytes, FIELD_U64, UNIT_BYTES,
		"resident memory, what they share counted for each"),
	CHILDREN(anon_bytes, FIELD_U64, UNIT_BYTES, "resident anonymous memory of all of them"),
	CHILDREN(most_shared_bytes, FIELD_U64, UNIT_BYTES,
		"resident files and shared memory of the one that has most"),
};

#define MAPS(member_, type_, unit_, help_) FIELD(struct held_maps, member_, type_, unit_, help_)

static const struct field maps_fields[] = {
	MAPS(maps, FIELD_U64, UNIT_COUNT, "maps"),
	MAPS(bytes, FIELD_U64, UNIT_BYTES, "memory of them"),
	MAPS(pinned, FIELD_U64, UNIT_COUNT, "of these, pinned in a bpffs"),
	MAPS(id, FIELD_U64, UNIT_ID, "the largest"),
	MAPS(id_bytes, FIELD_U64, UNIT_BYTES, "its memory"),
	MAPS(path, FIELD_U32, UNIT_STRING, "where it is pinned; 0: not seen to be"),
	FIELD_ARRAY(struct held_maps, name, FIELD_CHARS, UNIT_NONE, 16, "its name"),
};

#define TOTALS(member_, type_, unit_, help_) FIELD(struct held_totals, member_, type_, unit_, help_)

static const struct field totals_fields[] = {
	TOTALS(pipes, FIELD_U64, UNIT_COUNT, "pipes"),
	TOTALS(pipe_bytes, FIELD_U64, UNIT_BYTES, "in them, not read, in whole pages"),
	TOTALS(memfd_bytes, FIELD_U64, UNIT_BYTES, "memory of open files that have no name"),
	TOTALS(unread_bytes, FIELD_U64, UNIT_BYTES, "arrived at sockets, not read"),
	TOTALS(unsent_bytes, FIELD_U64, UNIT_BYTES, "written to sockets, not taken"),
	TOTALS(sockets, FIELD_U64, UNIT_COUNT, "sockets"),
	TOTALS(processes, FIELD_U32, UNIT_COUNT, "processes that were looked at"),
	TOTALS(refused, FIELD_U32, UNIT_COUNT, "processes that may not be looked at"),
	TOTALS(cut, FIELD_U32, UNIT_NONE, "1: the look was cut short"),
	TOTALS(status_cut, FIELD_U32, UNIT_NONE, "1: … so that some were not asked their status"),
	TOTALS(hugetlb_bytes, FIELD_U64, UNIT_BYTES, "huge pages of the pools that are mapped"),
};

static const struct field thread_fields[] = {
	FIELD(struct held_thread, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct held_thread, cpu_ns, FIELD_U64, UNIT_NS, "its time on CPUs since boot"),
	FIELD_ARRAY(struct held_thread, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
};

static const struct kind kinds[] = {
	KIND(REC_HELD_FILES, struct held_files, "held_files", files_fields,
		"a file system in memory (tmpfs), sent when it has changed"),
	KIND(REC_HELD_SEGMENT, struct held_segment, "held_segment", segment_fields,
		"a System V shared memory segment"),
	KIND(REC_HELD_MAPS, struct held_maps, "held_maps", maps_fields,
		"BPF maps that no process has open"),
	KIND(REC_HELD_HEAP, struct held_heap, "held_heap", heap_fields,
		"what the allocator of a process holds"),
	KIND(REC_HELD_QUEUES, struct held_queues, "held_queues", queues_fields,
		"System V message queues"),
	KIND(REC_HELD_DISK, struct held_disk, "held_disk", disk_fields,
		"a zram device that is not swap"),
	KIND(REC_HELD_PROCESS, struct held_process, "held_process", process_fields,
		"what a process has open and what the kernel keeps for it"),
	KIND(REC_HELD_THREAD, struct held_thread, "held_thread", thread_fields,
		"a thread of the kernel that works for memory"),
	KIND(REC_HELD_CHILDREN, struct held_children, "held_children", children_fields,
		"the children of a process that has many"),
	KIND(REC_HELD_TOTALS, struct held_totals, "held_totals", totals_fields,
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
