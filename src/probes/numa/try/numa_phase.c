/* See numa_phase.h. */
#include "probes/numa/try/numa_phase.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "probes/numa/numa.h"

struct phase_sink {
	struct sink sink;
	const struct numa_object_pages *object;
	struct numa_phase *phase;
	u64 begin_ns, window_ns;
};

/* 1 remote, 0 local, -1 not known: by the two nodes, else as the hardware says, as
 * numa_access_remote(). */
static int sample_is_remote(const struct numa_sample *s)
{
	if (s->cpu_node >= 0 && s->page_node >= 0)
		return s->cpu_node != s->page_node;
	return s->h.flags & NUMA_REMOTE ? 1 : s->h.flags & NUMA_LOCAL ? 0 : -1;
}

static void numa_phase_sample_take(struct phase_sink *k, const struct numa_sample *s)
{
	u64 window = (s->h.time_ns - k->begin_ns) / k->window_ns;
	int remote = sample_is_remote(s);
	struct numa_phase *p = k->phase;

	if (s->h.time_ns < k->begin_ns || window >= PHASE_WINDOWS ||
		s->address < k->object->start || s->address >= k->object->end)
		return;
	if (s->latency) {
		p->latency_total += s->latency;
		p->latency_n++;
	}
	if (remote < 0)
		return;
	p->samples[window]++;
	p->remote[window] += remote;
}

static int numa_phase_put(struct sink *sink, const struct rec *r)
{
	struct phase_sink *k = (struct phase_sink *)sink;

	if (r->kind == REC_NUMA_SAMPLE && r->size >= sizeof(struct numa_sample)) {
		numa_phase_sample_take(k, (const struct numa_sample *)r);
	} else if (r->kind == REC_NUMA_MOVE && r->size >= sizeof(struct numa_move)) {
		const struct numa_move *m = (const struct numa_move *)r;

		if (m->address >= k->object->start && m->address < k->object->end)
			k->phase->moved_pages += m->pages;
	}
	return 0;
}

struct answer {
	int rc;
	struct numa_phase phase;
	struct err err;
};

static void measure(const struct action_task *t, u64 for_ns, const struct numa_object_pages *o,
	struct answer *a)
{
	struct phase_sink k = {
		.sink.put = numa_phase_put,
		.object = o,
		.phase = &a->phase,
		.begin_ns = clock_mono_ns(),
		.window_ns = MAX(for_ns / PHASE_WINDOWS, 1ULL),
	};

	a->rc = t->session(t->capture, for_ns, &k.sink, &a->err);
	if (a->rc == -EINTR && !a->err.code)
		err_set(&a->err, -EINTR, "numa try: interrupted");
}

/* The answer fits into a pipe, but may come in parts. */
static int numa_phase_answer_read(int fd, struct answer *a)
{
	size_t have = 0;

	while (have < sizeof(*a)) {
		ssize_t n = read(fd, (char *)a + have, sizeof(*a) - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		have += (size_t)n;
	}
	return 0;
}

int numa_phase_run(const struct action_task *t, u64 for_ns, const struct numa_object_pages *o,
	struct numa_phase *ret, struct err *err)
{
	static struct answer a;
	int ends[2], rc;
	pid_t child;

	memset(&a, 0, sizeof(a));
	if (pipe2(ends, O_CLOEXEC))
		return err_errno(err, -errno, "numa try");
	child = fork();
	if (!child) {
		close(ends[0]);
		measure(t, for_ns, o, &a);
		_exit(write(ends[1], &a, sizeof(a)) == (ssize_t)sizeof(a) ? 0 : 1);
	}
	rc = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!rc)
		rc = numa_phase_answer_read(ends[0], &a);
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc)
		return err_errno(err, rc, "numa try: measuring");
	if (a.rc) {
		*err = a.err;
		return a.rc;
	}
	*ret = a.phase;
	return 0;
}

u64 numa_phase_samples(const struct numa_phase *p)
{
	u64 n = 0;

	for (int i = 0; i < PHASE_WINDOWS; i++)
		n += p->samples[i];
	return n;
}

bool numa_phase_share(const struct numa_phase *p, double *ret_share, double *ret_variance)
{
	u64 n = numa_phase_samples(p), remote = 0;
	double sum = 0, share;
	int windows = 0;

	for (int i = 0; i < PHASE_WINDOWS; i++)
		remote += p->remote[i];
	if (!n)
		return false;
	share = (double)remote / (double)n;
	for (int i = 0; i < PHASE_WINDOWS; i++) {
		double d = (double)p->remote[i] - share * (double)p->samples[i];

		windows += p->samples[i] > 0;
		sum += d * d;
	}
	*ret_share = share;
	*ret_variance = windows < 2 ? 1 : sum / ((double)n * (double)n) * windows / (windows - 1);
	return n >= PHASE_SAMPLES_MIN && windows >= PHASE_WINDOWS_MIN;
}

enum numa_outcome numa_phase_compare(
	const struct numa_phase *before, const struct numa_phase *after)
{
	double a = 0, b = 0, va = 0, vb = 0;
	bool enough = numa_phase_share(before, &a, &va);

	enough &= numa_phase_share(after, &b, &vb);
	if (!enough)
		return NUMA_TOO_FEW;
	if (fabs(b - a) <= PHASE_T * sqrt(va + vb))
		return NUMA_SAME;
	return b < a ? NUMA_FELL : NUMA_ROSE;
}
