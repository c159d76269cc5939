/* From a perf.data file to records: see numa_perf.h. */
#include "probes/numa/perf/numa_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/str.h"
#include "base/units.h"
#include "capture/names/names.h"
#include "event/meta.h"
#include "perfdata/data_src.h"
#include "probes/numa/perf/numa_perf_space.h"

#define CHAINS_MAX (1U << 18)
#define CHAIN_MAX 128 /* addresses of each side of a stack that are kept */

struct chain_key {
	XXH128_hash_t hash; /* of the addresses */
	u64 ip;
	u64 changes; /* perf_spaces.changes */
	u32 pid, mode;
};

struct numa_perf {
	struct sink stamped; /* first: names and notes go through it */
	struct sink *sink;
	const char *path;
	struct perfdata *data;
	struct perf_spaces spaces;
	struct capture capture; /* for its notes and names */
	struct groups events;   /* of perf: const struct perfdata_event * to numa_perf_event */
	struct groups chains;   /* chain_key to u32, the id of the stack */
	struct groups comms;    /* u32, a thread, to its name, which what it forks has too */
	bool begun;             /* the host and session were sent */
	u64 first_ns, last_ns;
	u64 sent, lost;
	u64 no_access; /* samples of no access to memory */
	u64 other;     /* samples of events without addresses */
	u64 deferred;  /* samples whose user stack came later */
	u64 throttled;
	_Alignas(8) char copy[REC_MAX_SIZE];
};

/* Names and notes get the time of the file, which may be that of another machine. */
static int stamped_put(struct sink *sink, const struct rec *r)
{
	struct numa_perf *p = (struct numa_perf *)sink;
	struct rec *copy = (struct rec *)p->copy;

	memcpy(copy, r, r->size);
	copy->time_ns = p->last_ns;
	return p->sink->put(p->sink, copy);
}

bool numa_perf_is(const void *head, size_t n)
{
	return perfdata_is(head, n);
}

/* As it is: time 0 means something. */
static int send(struct numa_perf *p, const struct rec *r)
{
	return p->sink->put(p->sink, r);
}

/* When the recording began. perf does not write it down, unless it was told to use a clock; else it
 * was as long before the file was written as its samples took, where the file says how long that
 * is. 0: not known. */
static u64 wall_begin(const struct numa_perf *p)
{
	const struct perfdata_host *h = perfdata_host(p->data);
	struct stat st;

	if (h->wall_ns)
		return h->wall_ns + (p->first_ns - h->clock_ns);
	if (!h->first_ns || h->last_ns < h->first_ns || stat(p->path, &st))
		return 0;
	return (u64)st.st_mtim.tv_sec * 1000000000 + (u64)st.st_mtim.tv_nsec -
	       (h->last_ns - h->first_ns);
}

static int host_send(struct numa_perf *p)
{
	struct rec_host host = REC_INIT(struct rec_host, REC_HOST, p->first_ns);
	const struct perfdata_host *h = perfdata_host(p->data);

	host.cpus = h->cpus_online;
	host.nodes = (u32)h->nodes.n;
	host.page_bytes = h->arch && !strcmp(h->arch, "x86_64") ? 4096 : 0;
	host.memory_bytes = h->memory_bytes;
	snprintf(host.kernel, sizeof(host.kernel), "%.63s", h->release ? h->release : "");
	return send(p, &host.h);
}

static int session_send(struct numa_perf *p)
{
	struct rec_session s = REC_INIT(struct rec_session, REC_SESSION, p->first_ns);
	const struct perfdata_host *h = perfdata_host(p->data);
	_cleanup_str_ struct str scope = {};

	s.wall_ns = wall_begin(p);
	snprintf(s.command, sizeof(s.command), "numa");
	str_add(&scope, "perf.data");
	for (u32 i = 0; i < h->argc; i++)
		str_addf(&scope, "%s%s", i ? " " : ": ", h->argv[i]);
	snprintf(s.scope, sizeof(s.scope), "%.199s", str_get(&scope));
	s.options = perfdata_fields_any(p->data) & PERFDATA_CALLCHAIN ? SESSION_STACKS : 0;
	return send(p, &s.h);
}

/* Nodes and CPUs, as far as the file has them; distances it has not. */
static int nodes_send(struct numa_perf *p)
{
	const struct perfdata_host *h = perfdata_host(p->data);
	int rc = 0;

	vec_each (n, &h->nodes) {
		struct numa_node node = {.h = {sizeof(node), REC_NUMA_NODE, 0, p->first_ns}};

		node.node = n->id;
		node.tier = -1;
		node.bytes = n->total_bytes;
		node.free_bytes = n->free_bytes;
		node.h.flags =
			(n->cpus.n ? NUMA_NODE_CPUS : 0) | (n->total_bytes ? NUMA_NODE_MEMORY : 0);
		rc = rc ? rc : send(p, &node.h);
		vec_each (r, &n->cpus)
			for (u64 cpu = r->first; !rc && cpu <= r->last && cpu < 65536; cpu++) {
				struct numa_cpu c = {.h = {sizeof(c), REC_NUMA_CPU, 0, p->first_ns},
					.cpu = (u32)cpu,
					.node = (s32)n->id};

				rc = send(p, &c.h);
			}
	}
	return rc;
}

static struct numa_perf_event *event_get(struct numa_perf *p, const struct perfdata_event *e)
{
	size_t before = p->events.n;
	struct numa_perf_event *how = groups_get(&p->events, &e);

	if (how && p->events.n > before)
		*how = numa_perf_event_of(e, perfdata_host(p->data));
	return how;
}

/* Which events the accesses are of; -EINVAL: there is none. */
static int method_send(struct numa_perf *p, struct err *err)
{
	const struct perfdata_host *h = perfdata_host(p->data);
	_cleanup_str_ struct str names = {};

	for (size_t i = 0; i < perfdata_events(p->data); i++) {
		const struct perfdata_event *e = perfdata_event(p->data, i);

		if (numa_perf_event_of(e, h).accesses)
			str_addf(&names, "%s%s", names.len ? ", " : "",
				e->name[0] ? e->name : "unnamed event");
	}
	if (!names.len) {
		err_set(err, -EINVAL, "%s has no samples with the addresses of accesses", p->path);
		return err_hint(err, "record with perf mem record, or perf record -d of an event "
				     "that has them");
	}
	return capture_method(&p->capture, "accesses", str_get(&names), NULL);
}

static int numa_perf_begin(struct numa_perf *p, u64 time, struct err *err)
{
	const struct perfdata_host *h = perfdata_host(p->data);
	int rc;

	p->begun = true;
	/* Of what was there before perf tells at time 0. */
	p->first_ns = h->first_ns ? h->first_ns : time ? time : h->wall_ns ? h->clock_ns : 0;
	perf_spaces_begin(&p->spaces);
	rc = host_send(p);
	if (!rc)
		rc = session_send(p);
	if (!rc)
		rc = nodes_send(p);
	return rc ? rc : method_send(p, err);
}

/* The instruction is the first frame, where the chain does not begin with it. */
static u32 stack_make(struct numa_perf *p, const struct perfdata_record *r)
{
	enum perfdata_context context = PERFDATA_CONTEXT_NONE;
	bool in_kernel = (r->misc & PERFDATA_MISC_MODE) == PERFDATA_MODE_KERNEL;
	u64 kernel[CHAIN_MAX], user[CHAIN_MAX], i = 0, ip;
	u32 n_kernel = 0, n_user = 0;
	bool any = false;

	while (perfdata_chain_next(&r->sample, &i, &context, &ip)) {
		bool of_kernel = context == PERFDATA_CONTEXT_KERNEL ||
				 (context == PERFDATA_CONTEXT_NONE && in_kernel);

		if (!any && ip != r->sample.ip && r->sample.ip) {
			if (in_kernel)
				kernel[n_kernel++] = r->sample.ip;
			else
				user[n_user++] = r->sample.ip;
		}
		any = true;
		if (of_kernel && n_kernel < CHAIN_MAX)
			kernel[n_kernel++] = ip;
		else if (context == PERFDATA_CONTEXT_USER && n_user < CHAIN_MAX)
			user[n_user++] = ip;
	}
	if (!any && r->sample.ip) {
		if (in_kernel)
			kernel[n_kernel++] = r->sample.ip;
		else
			user[n_user++] = r->sample.ip;
	}
	return names_addresses(p->capture.names, kernel, n_kernel,
		perf_spaces_of(&p->spaces, r->where.pid), user, n_user,
		STACK_BY_FRAME_POINTERS | STACK_KERNEL << 8);
}

/* Most stacks come again, in the same process with the same mappings. */
static u32 stack_of(struct numa_perf *p, const struct perfdata_record *r)
{
	const struct perfdata_sample *s = &r->sample;
	struct chain_key key = {
		.hash = XXH3_128bits(s->ips, s->n_ips * sizeof(*s->ips)),
		.ip = s->ip,
		.pid = r->where.pid,
		.changes = p->spaces.changes,
		.mode = r->misc & PERFDATA_MISC_MODE,
	};
	u32 *stack;

	if (p->chains.n >= CHAINS_MAX)
		groups_clear(&p->chains);
	stack = groups_get(&p->chains, &key);
	if (!stack)
		return 0;
	if (!*stack)
		*stack = stack_make(p, r);
	p->deferred += perfdata_chain_cookie(s) != 0;
	return *stack;
}

static int numa_perf_sample_take(struct numa_perf *p, const struct perfdata_record *r)
{
	const struct numa_perf_event *how = event_get(p, r->event);
	struct numa_sample s;

	if (!how)
		return -ENOMEM;
	if (!how->accesses) {
		p->other++;
		return 0;
	}
	if (!numa_perf_sample(r, perfdata_host(p->data), how, &s)) {
		p->no_access++;
		return 0;
	}
	s.ustack = stack_of(p, r);
	p->sent++;
	return send(p, &s.h);
}

static int map_take(struct numa_perf *p, const struct perfdata_record *r)
{
	int rc = perf_spaces_map(&p->spaces, r);
	struct numa_mapping m;

	if (rc || r->mmap.pid == ~0U)
		return rc;
	numa_perf_mapping(r, &m);
	m.file = names_string(p->capture.names, numa_perf_path(r->mmap.path));
	return send(p, &m.h);
}

static int numa_perf_task_send(struct numa_perf *p, const struct perfdata_record *r, u32 tgid,
	u32 tid, u32 parent, enum numa_task_what what)
{
	struct numa_task t = {.h = {sizeof(t), REC_NUMA_TASK, 0, r->where.time}};

	t.tgid = tgid;
	t.tid = tid;
	t.parent = parent;
	t.what = (u8)what;
	return send(p, &t.h);
}

/* The first thread's name is that of the process. */
static int task_name(struct numa_perf *p, u32 pid, u32 tid, const char *name)
{
	char *kept = groups_get(&p->comms, &tid);
	int rc = kept ? 0 : -ENOMEM;

	if (kept)
		snprintf(kept, COMM_LEN, "%s", name);
	if (!rc && pid == tid)
		rc = names_task(p->capture.names, pid, 0, name, 0);
	return rc ? rc : names_task(p->capture.names, pid, tid, name, 0);
}

/* A new task is called as who made it, until it says otherwise. */
static int fork_name(struct numa_perf *p, const struct perfdata_record *r)
{
	const char *parent = groups_find(&p->comms, &r->task.ptid);
	char name[COMM_LEN];

	if (!parent)
		return 0;
	memcpy(name, parent, sizeof(name));
	return task_name(p, r->task.pid, r->task.tid, name);
}

static int numa_perf_comm_take(struct numa_perf *p, const struct perfdata_record *r)
{
	u32 pid = r->comm.pid, tid = r->comm.tid;
	int rc = task_name(p, pid, tid, r->comm.name);

	if (rc || (r->where.time && !r->comm.exec))
		return rc;
	if (r->comm.exec)
		perf_spaces_forget(&p->spaces, pid);
	return numa_perf_task_send(
		p, r, pid, tid, 0, r->comm.exec ? NUMA_TASK_EXEC : NUMA_TASK_HELD);
}

/* What perf tells of at time 0 was there before, with mappings of its own that follow. */
static int fork_take(struct numa_perf *p, const struct perfdata_record *r)
{
	u32 pid = r->task.pid, parent = r->task.ppid;
	int rc = fork_name(p, r);

	if (rc)
		return rc;
	if (!r->where.time)
		return numa_perf_task_send(p, r, pid, r->task.tid, 0, NUMA_TASK_HELD);
	if (pid == parent)
		return numa_perf_task_send(p, r, pid, r->task.tid, 0, NUMA_TASK_THREAD);
	rc = perf_spaces_fork(&p->spaces, pid, parent);
	return rc ? rc : numa_perf_task_send(p, r, pid, r->task.tid, parent, NUMA_TASK_FORK);
}

static int numa_perf_record_take(struct numa_perf *p, const struct perfdata_record *r)
{
	p->last_ns = MAX(p->last_ns, r->where.time);
	switch (r->type) {
	case PERFDATA_SAMPLE:
		return numa_perf_sample_take(p, r);
	case PERFDATA_MMAP:
	case PERFDATA_MMAP2:
		return map_take(p, r);
	case PERFDATA_COMM:
		return numa_perf_comm_take(p, r);
	case PERFDATA_FORK:
		return fork_take(p, r);
	case PERFDATA_EXIT:
		if (r->task.pid == r->task.tid)
			perf_spaces_forget(&p->spaces, r->task.pid);
		return numa_perf_task_send(p, r, r->task.pid, r->task.tid, 0,
			r->task.pid == r->task.tid ? NUMA_TASK_EXIT : NUMA_TASK_THREAD_EXIT);
	case PERFDATA_LOST: /* also records of other types; perf tells no more */
	case PERFDATA_LOST_SAMPLES:
		p->lost += r->lost.n;
		return 0;
	case PERFDATA_THROTTLE:
		p->throttled++;
		return 0;
	default:
		return 0;
	}
}

static void notes_send(struct numa_perf *p)
{
	const struct perfdata_host *h = perfdata_host(p->data);
	struct capture *c = &p->capture;
	char n[UNIT_BUF];

	if (p->no_access)
		capture_note(c, NOTE_INFO,
			"%s samples are neither loads nor stores according to the processor: left "
			"out",
			fmt_count(n, p->no_access));
	if (p->other)
		capture_note(c, NOTE_INFO,
			"%s samples come from events without addresses: left out",
			fmt_count(n, p->other));
	if (p->throttled)
		capture_note(c, NOTE_WARNING,
			"the kernel stopped sampling %s times, as there were too many samples",
			fmt_count(n, p->throttled));
	if (perfdata_stats(p->data)->late)
		capture_note(c, NOTE_WARNING, "%s records came out of the order of time",
			fmt_count(n, perfdata_stats(p->data)->late));
	if (p->deferred)
		capture_note(c, NOTE_WARNING, "%s user stacks were recorded later, and are missing",
			fmt_count(n, p->deferred));
	if (!h->nodes.n)
		capture_note(c, NOTE_NOT_CHECKED,
			"nodes: the file does not say which CPUs are on which (--topology FILE)");
	if (!(perfdata_fields_any(p->data) & PERFDATA_PHYS_ADDR))
		capture_note(c, NOTE_NOT_CHECKED,
			"nodes of pages: the samples have no physical addresses (--phys-data)");
	if (p->spaces.files_other)
		capture_note(c, NOTE_INFO,
			"%s files are not here as they were recorded: addresses in them have no "
			"names",
			fmt_count(n, p->spaces.files_other));
}

static int end(struct numa_perf *p)
{
	struct rec_tick e = REC_INIT(struct rec_tick, REC_END, MAX(p->last_ns, 1ULL));
	int rc;

	perf_spaces_end(&p->spaces);
	rc = names_symbolize(p->capture.names, true);
	p->capture.probe = "numa";
	if (!rc)
		rc = capture_loss(&p->capture, p->sent + p->lost, p->sent, p->lost,
			p->lost ? "perf did not come to read them in time" : NULL);
	notes_send(p);
	return rc ? rc : send(p, &e.h);
}

static int read_all(struct numa_perf *p, struct err *err)
{
	const struct perfdata_record *r;
	struct err damage = {};
	int rc, done = 0;

	while (!done && (rc = perfdata_next(p->data, &r, &damage)) == 1) {
		if (!p->begun)
			done = numa_perf_begin(p, r->where.time, err);
		if (!done)
			done = numa_perf_record_take(p, r);
	}
	if (!done && !p->begun)
		done = numa_perf_begin(p, 0, err);
	if (!done)
		done = end(p);
	if (done)
		return err->code == done ? done : err_errno(err, done, "reading %s", p->path);
	if (rc < 0)
		*err = damage;
	return rc;
}

static int read_open(struct numa_perf *p, struct err *err)
{
	struct names_options o = {.debug_info = true};
	int rc = names_open(&p->stamped, &o, &p->capture.names);

	if (rc)
		return err_errno(err, rc, "reading %s", p->path);
	perf_spaces_init(&p->spaces, perfdata_host(p->data), p->capture.names);
	groups_init(&p->chains, sizeof(struct chain_key), sizeof(u32));
	groups_init(&p->events, sizeof(void *), sizeof(struct numa_perf_event));
	groups_init(&p->comms, sizeof(u32), COMM_LEN);
	rc = read_all(p, err);
	groups_free(&p->events);
	groups_free(&p->comms);
	groups_free(&p->chains);
	perf_spaces_free(&p->spaces);
	names_close(p->capture.names);
	return rc;
}

int numa_perf_read(int fd, const char *path, struct sink *sink, struct err *err)
{
	_cleanup_free_ struct numa_perf *p = calloc(1, sizeof(*p));
	_cleanup_perfdata_ struct perfdata *data = NULL;
	int rc = perfdata_open_fd(path, fd, NULL, &data, err);

	if (rc)
		return rc;
	if (!p)
		return err_errno(err, -ENOMEM, "reading %s", path);
	p->stamped.put = stamped_put;
	p->capture = (struct capture){.sink = &p->stamped, .probe = "numa"};
	p->path = path;
	p->sink = sink;
	p->data = data;
	return read_open(p, err);
}
