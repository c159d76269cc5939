/* See sample_opener.h. */
#include "capture/unwind/sample_opener.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd_pass.h"
#include "cage/cage.h"
#include "sys/root.h"

#define ANSWER_MS 1000
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_LEAST 2 /* that nobody without a capability may look at all faults above */
#define REGISTERS_MASK (((1ULL << (PERF_REG_X86_IP + 1)) - 1) | 0xffULL << PERF_REG_X86_R8)

struct sample_opener {
	pid_t pid;
	int socket;
};

struct ask {
	u64 every;
	s32 tid, reserved;
};

struct answer {
	s32 rc;
};

static int sample_opener_event_open(int tid, u64 every)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.size = sizeof(attr),
		.sample_period = MAX(every, 1ULL),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REGISTERS_MASK,
		.sample_stack_user = SAMPLE_STACK_BYTES,
		.watermark = 1,
		.wakeup_watermark = 1U << 30,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	/* Without the right to those that the kernel takes for it, as in read(). */
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		attr.exclude_kernel = 1;
		fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static void sample_opener_shut_in(int socket)
{
	struct err err = {};

	child_shut_in("memwhy-opener", socket);
	/* also where there is no filter: then it would have too many rights */
	if (cage_enter(CAGE_OPENER, &err))
		_exit(1);
}

static void work(int socket)
{
	struct ask ask;
	int none;

	sample_opener_shut_in(socket);
	while (!fd_receive(0, &ask, sizeof(ask), &none)) {
		int fd = ask.tid > 0 ? sample_opener_event_open(ask.tid, ask.every) : -EINVAL;
		struct answer answer = {.rc = MIN(fd, 0)};

		if (none >= 0)
			close(none);
		if (fd_send(0, &answer, sizeof(answer), fd))
			break;
		if (fd >= 0)
			close(fd);
	}
}

static bool is_needed(void)
{
	u64 n;

	/* -1 to 1: not as a number without sign, or low enough */
	return !sys_read_u64(&n, PARANOID) && n >= PARANOID_LEAST;
}

int sample_opener_begin(struct sample_opener **ret)
{
	struct sample_opener *o;
	int rc;

	*ret = NULL;
	if (!is_needed())
		return 0;
	o = calloc(1, sizeof(*o));
	rc = o ? child_begin(SOCK_SEQPACKET, SIGKILL, work, &o->pid, &o->socket) : -ENOMEM;
	if (rc) {
		free(o);
		return rc;
	}
	*ret = o;
	return 0;
}

pid_t sample_opener_pid(const struct sample_opener *o)
{
	return o ? o->pid : 0;
}

static int ask_other(struct sample_opener *o, int tid, u64 every)
{
	struct ask ask = {.every = every, .tid = tid};
	struct pollfd p = {.events = POLLIN, .fd = o->socket};
	struct answer answer;
	int rc, fd;

	rc = fd_send(o->socket, &ask, sizeof(ask), -1);
	if (!rc && poll(&p, 1, ANSWER_MS) != 1) {
		close(take_fd(o->socket)); /* its answer would be taken for another's */
		rc = -ETIMEDOUT;
	}
	rc = rc ? rc : fd_receive(o->socket, &answer, sizeof(answer), &fd);
	if (rc || answer.rc || fd < 0)
		return rc ? rc : answer.rc ? answer.rc : -EBADMSG;
	return fd;
}

int sample_opener_open(struct sample_opener *o, int tid, u64 every)
{
	int fd = o ? ask_other(o, tid, every) : -ESRCH, own;

	if (fd >= 0)
		return fd;
	/* It could not be shut in, or there is none: what may be had without it. */
	own = sample_opener_event_open(tid, every);
	return own < 0 && o ? fd : own;
}

void sample_opener_close(struct sample_opener *o)
{
	if (!o)
		return;
	if (o->socket >= 0)
		close(o->socket);
	waitpid(o->pid, NULL, 0);
	free(o);
}
