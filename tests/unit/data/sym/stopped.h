/*
 * Processes stopped at points of chance, by ptrace, and their registers and memory: for comparing
 * ways to unwind their stacks.
 */
#ifndef MEMWHY_TEST_SYM_STOPPED_H
#define MEMWHY_TEST_SYM_STOPPED_H

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>

#include "helpers.h"

struct stopped {
	pid_t pid; /* 0: none */
	const char *command;
	struct user_regs_struct regs;
};

UNUSED static unsigned int chance(unsigned int below)
{
	static unsigned int seed = 12345;

	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % below;
}

static void sleep_us(unsigned int us)
{
	const struct timespec t = {.tv_nsec = us * 1000L};

	nanosleep(&t, NULL);
}

UNUSED static void stopped_end(struct stopped *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, __WALL);
	}
	s->pid = 0;
}
#define _cleanup_stopped_ _cleanup_(stopped_end)

/* Words of the command are separated by single spaces; ' may hold one together. */
static void command_exec(const char *command)
{
	char *text = strdup(command), *argv[32] = {};
	size_t n = 0;

	for (char *at = text; at && *at && n < ARRAY_SIZE(argv) - 1;) {
		char *end;
		bool quoted = *at == '\'';

		at += quoted;
		end = strchr(at, quoted ? '\'' : ' ');
		argv[n++] = at;
		if (!end)
			break;
		*end = '\0';
		at = end + 1 + (quoted && end[1] == ' ');
	}
	execvp(argv[0], argv);
	_exit(127);
}

/* Starts the command in the scratch directory, traced from its first instruction on. */
static void stopped_start(struct stopped *s)
{
	int status;

	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		int null = open("/dev/null", O_RDWR);

		if (chdir(scratch) || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
			ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(126);
		command_exec(s->command);
	}
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFSTOPPED(status)); /* by exec */
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, s->pid, 0, PTRACE_O_EXITKILL), 0);
}

/* Waits for the next stop. Signals that are not ours are delivered. False: it has ended. */
static bool stopped_wait(struct stopped *s, int ours, int how)
{
	int status, signal;

	for (;;) {
		assert_int_equal(waitpid(s->pid, &status, __WALL), s->pid);
		if (!WIFSTOPPED(status)) {
			s->pid = 0;
			return false;
		}
		signal = WSTOPSIG(status);
		if (signal == ours)
			return true;
		if (ptrace(how, s->pid, 0, signal == SIGTRAP ? 0 : signal))
			return false;
	}
}

/* Lets it run for some time, or start anew. */
UNUSED static void stopped_run(struct stopped *s, unsigned int us)
{
	for (;;) {
		if (!s->pid)
			stopped_start(s);
		if (!ptrace(PTRACE_CONT, s->pid, 0, 0)) {
			sleep_us(us);
			syscall(SYS_tgkill, s->pid, s->pid, SIGSTOP); /* to this thread */
			if (stopped_wait(s, SIGSTOP, PTRACE_CONT))
				break;
		} else {
			stopped_end(s);
		}
	}
	assert_int_equal(ptrace(PTRACE_GETREGS, s->pid, 0, &s->regs), 0);
}

/* One instruction. False: it has ended. */
UNUSED static bool stopped_step(struct stopped *s)
{
	return !ptrace(PTRACE_SINGLESTEP, s->pid, 0, 0) &&
	       stopped_wait(s, SIGTRAP, PTRACE_SINGLESTEP) &&
	       !ptrace(PTRACE_GETREGS, s->pid, 0, &s->regs);
}

UNUSED static ssize_t stopped_read(pid_t pid, u64 address, void *buf, size_t n)
{
	struct iovec here = {buf, n}, there = {(void *)address, n};

	return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

#endif
