/* See tlb.h. */
#include "sys/process/tlb.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SPACES 7 /* TLB_NR_DYN_ASIDS, and one to spare */
#define MOST_NS (500 * NSEC_PER_MSEC)

/* Which child was on which CPU: a byte each, shared with the children. */
struct visits {
	u8 been[SPACES][IDSET_MAX];
};

static void visit_all(const struct idset *cpus, u8 *been)
{
	static cpu_set_t set[IDSET_MAX / CPU_SETSIZE];

	for (u32 cpu = idset_next(cpus, 0); cpu < IDSET_MAX; cpu = idset_next(cpus, cpu + 1)) {
		CPU_ZERO_S(sizeof(set), set);
		CPU_SET_S(cpu, sizeof(set), set);
		been[cpu] = !sched_setaffinity(0, sizeof(set), set);
	}
	_exit(0);
}

static u32 left_count(const struct idset *cpus, const struct visits *v)
{
	u32 left = 0;

	for (u32 cpu = idset_next(cpus, 0); cpu < IDSET_MAX; cpu = idset_next(cpus, cpu + 1)) {
		bool all = true;

		for (int i = 0; i < SPACES; i++)
			all = all && v->been[i][cpu];
		left += !all;
	}
	return left;
}

/* Until all have ended. One that waits for a CPU too long is told to end, and does so once it runs. */
static void visitors_wait(pid_t *pids)
{
	const struct timespec pause = {.tv_nsec = NSEC_PER_MSEC / 2};
	u64 end = clock_mono_ns() + MOST_NS;

	for (int i = 0; i < SPACES; i++) {
		while (pids[i] > 0 && !waitpid(pids[i], NULL, WNOHANG)) {
			if (clock_mono_ns() > end) {
				kill(pids[i], SIGKILL);
				break;
			}
			nanosleep(&pause, NULL);
		}
	}
}

int tlb_forget(const struct idset *cpus, u32 *ret_left)
{
	pid_t pids[SPACES] = {};
	struct visits *v =
		mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rc = 0;

	if (v == MAP_FAILED)
		return -errno;
	for (int i = 0; i < SPACES && !rc; i++) {
		pids[i] = fork();
		if (!pids[i])
			visit_all(cpus, v->been[i]);
		rc = pids[i] < 0 ? -errno : 0;
	}
	visitors_wait(pids);
	*ret_left = left_count(cpus, v);
	munmap(v, sizeof(*v));
	return rc;
}
