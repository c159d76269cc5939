/* See processes_paths.h. */
#include "probes/processes/processes_paths.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/reader/reader.h"
#include "capture/unwind/sample_opener.h"
#include "probes/processes/processes.h"
#include "sys/process/maps.h"

/* Since it was first seen, or touched in a second: else it is not worth it. */
#define GROWN_BYTES (8ULL << 20)
#define TOUCHED_BYTES (16ULL << 20)
#define FAULTS_LEAST 4       /* a second */
#define SEEN_NS NSEC_PER_SEC /* before: who comes and goes is not worth it either */
#define LENGTH_NS NSEC_PER_SEC
#define SAMPLES 48 /* aimed at, and the most that are taken */
#define PATHS 4    /* told: those with most samples */
#define DONE_MOST 256
#define PAUSE_PART 50 /* the readers' work is to take 1/50 of one CPU */

/* Process 1 stands for those of others. */
static int processes_paths_survey(struct capture *c)
{
	static const char data[] = "code paths without frame pointers";
	int fd = sample_opener_open(c->opener, 1, 1ULL << 30);

	if (fd < 0)
		return capture_refused(c, data, strerror(-fd), fd,
			"CAP_SYS_ADMIN, or kernel.perf_event_paranoid of at most 2");
	close(fd);
	return capture_method(c, data, "copies of stacks by perf_event_open", NULL);
}

int processes_paths_open(struct processes_paths *p, struct capture *c)
{
	groups_init(&p->done, sizeof(struct path_of), sizeof(u8));
	return stack_samples_wanted(&c->opt) ? processes_paths_survey(c) : 0;
}

void processes_paths_free(struct processes_paths *p)
{
	stack_samples_close(p->samples);
	groups_free(&p->done);
}

static u64 readers_ns(const struct capture *c)
{
	return c->reader ? reader_cpu_ns(c->reader) : 0;
}

/* How much a look at it is worth; 0: none. */
static u64 worth(const struct process_entry *e, bool *ret_grows)
{
	u64 grown = process_entry_growth(e);
	u64 touched = e->faults_second * (u64)sysconf(_SC_PAGESIZE);

	*ret_grows = grown >= GROWN_BYTES;
	if (e->faults_second < FAULTS_LEAST || (!*ret_grows && touched < TOUCHED_BYTES))
		return 0;
	return MAX(grown, touched);
}

static struct path_of processes_path_of(const struct process_entry *e)
{
	return (struct path_of){.pid = e->pid, .start_ticks = e->start_ticks};
}

/* Who has not been looked at and is worth most; NULL: nobody. */
static const struct process_entry *choose(
	struct processes_paths *p, const struct processes_table *t, u64 now_ns)
{
	const struct process_entry *best = NULL;
	u64 most = 0;

	vec_each (at, &t->chosen) {
		const struct process_entry *e = &t->list.v[*at];
		struct path_of of = processes_path_of(e);
		bool grows;
		u64 n = worth(e, &grows);

		if (!e->start_ticks || n <= most || now_ns < e->first_ns + SEEN_NS ||
			groups_find(&p->done, &of))
			continue;
		most = n;
		best = e;
		p->grows = grows;
	}
	return best;
}

static int processes_paths_begin(
	struct processes_paths *p, struct capture *c, const struct process_entry *e, u64 now_ns)
{
	u64 faults = e->faults_second * LENGTH_NS / NSEC_PER_SEC;

	p->now = processes_path_of(e);
	p->reader_ns = readers_ns(c);
	p->until_ns = now_ns + LENGTH_NS;
	if (p->done.n >= DONE_MOST)
		groups_clear(&p->done);
	if (!groups_get(&p->done, &p->now))
		return -ENOMEM;
	/* That it has gone, or may not be sampled, is no failure: stacks by frame pointers are
	 * left. */
	stack_samples_open(c, c->opener, e->pid, faults / SAMPLES, &p->samples);
	return 0;
}

static void leave(struct processes_paths *p, const struct capture *c, u64 now_ns)
{
	p->next_ns = now_ns + (readers_ns(c) - p->reader_ns) * PAUSE_PART;
	stack_samples_close(p->samples);
	p->samples = NULL;
}

/* Memory without a file. What is not there any more did not make it grow. */
static bool processes_paths_is_asked_for(
	const struct processes_paths *p, const struct maps *maps, u64 address)
{
	const struct mapping *m = maps_find(maps, address);

	return m ? !m->inode && !m->shared : !p->grows;
}

/* The one with most samples, which it leaves without any; count 0: there is none. */
static struct process_path most_take(struct groups *by, u64 *count)
{
	struct process_path r = REC_INIT(struct process_path, REC_PROCESS_PATH, 0);
	u64 *best = NULL;

	for (size_t i = 0; i < by->n; i++) {
		u64 *n = groups_value(by, i);

		if (*n && (!best || *n > *best)) {
			best = n;
			r.stack = *(const u32 *)groups_key(by, i);
		}
	}
	*count = best ? *best : 0;
	if (best)
		*best = 0;
	return r;
}

static int paths_send(const struct processes_paths *p, struct capture *c, struct groups *by, u64 of)
{
	int rc = 0;

	for (u32 i = 0; i < PATHS && !rc; i++) {
		u64 count;
		struct process_path r = most_take(by, &count);

		if (!count)
			break;
		r.tgid = p->now.pid;
		r.count = count;
		r.samples = of;
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

static int paths_sum(const struct processes_paths *p, struct capture *c, const struct maps *maps,
	struct groups *by)
{
	const struct stack_sample *list;
	u64 of = 0;
	size_t n;

	list = stack_samples_get(p->samples, &n);
	for (size_t i = 0; i < n; i++) {
		u64 *count;

		if (!processes_paths_is_asked_for(p, maps, list[i].address))
			continue;
		of++;
		if (!list[i].stack)
			continue;
		count = groups_get(by, &list[i].stack);
		if (!count)
			return -ENOMEM;
		(*count)++;
	}
	return paths_send(p, c, by, of);
}

static int end(struct processes_paths *p, struct capture *c, u64 now_ns)
{
	_cleanup_maps_ struct maps maps = {};
	struct groups by;
	int rc = stack_samples_take(p->samples, SAMPLES);

	groups_init(&by, sizeof(u32), sizeof(u64));
	if (!rc && !maps_read((int)p->now.pid, &maps))
		rc = paths_sum(p, c, &maps, &by);
	groups_free(&by);
	leave(p, c, now_ns);
	return rc;
}

int processes_paths_step(struct processes_paths *p, struct capture *c,
	const struct processes_table *t, bool chosen, u64 now_ns)
{
	const struct process_entry *e;

	if (p->samples && (c->ending || now_ns >= p->until_ns))
		return end(p, c, now_ns);
	if (p->samples)
		return stack_samples_take(p->samples, SAMPLES);
	if (c->ending || !chosen || now_ns < p->next_ns)
		return 0;
	e = choose(p, t, now_ns);
	return e ? processes_paths_begin(p, c, e, now_ns) : 0;
}
