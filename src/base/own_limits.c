/* See own_limits.h. */
#include "base/own_limits.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#define FILES_WANTED 65536 /* a command with each probe opens some hundred; heap two a program */
#define FILES_NEEDED 128
#define STACK_WANTED (8UL << 20)
#define STACK_NEEDED (1UL << 20) /* libdw takes 200 KiB of it at a time */

static struct rlimit given_files, given_stack;
static bool files_raised, stack_raised, ignores_size;

/* Without the right to go beyond the hard limit: up to that. */
static bool limit_raise(int which, struct rlimit *given, rlim_t want)
{
	struct rlimit more;

	if (getrlimit(which, given) || given->rlim_cur >= want)
		return false;
	more = (struct rlimit){want, MAX(given->rlim_max, want)};
	if (!setrlimit(which, &more))
		return true;
	more = (struct rlimit){MIN(given->rlim_max, want), given->rlim_max};
	return more.rlim_cur > given->rlim_cur && !setrlimit(which, &more);
}

static bool limit_below(int which, rlim_t needed, rlim_t *ret)
{
	struct rlimit now;

	if (getrlimit(which, &now) || now.rlim_cur >= needed)
		return false;
	*ret = now.rlim_cur;
	return true;
}

int limits_raise(struct err *err)
{
	rlim_t now;

	files_raised = limit_raise(RLIMIT_NOFILE, &given_files, FILES_WANTED);
	stack_raised = limit_raise(RLIMIT_STACK, &given_stack, STACK_WANTED);
	ignores_size = signal(SIGXFSZ, SIG_IGN) == SIG_IGN;
	if (limit_below(RLIMIT_NOFILE, FILES_NEEDED, &now)) {
		err_set(err, -EOPNOTSUPP, "memwhy may open only %llu files, but needs %d",
			(unsigned long long)now, FILES_NEEDED);
		return err_hint(err, "raise the limit: ulimit -n 1024");
	}
	if (limit_below(RLIMIT_STACK, STACK_NEEDED, &now)) {
		err_set(err, -EOPNOTSUPP, "memwhy's stack is limited to %llu KiB, but needs %lu",
			(unsigned long long)now >> 10, STACK_NEEDED >> 10);
		return err_hint(err, "raise the limit: ulimit -s 8192");
	}
	return 0;
}

void limits_give_back(void)
{
	if (files_raised)
		setrlimit(RLIMIT_NOFILE, &given_files);
	if (stack_raised)
		setrlimit(RLIMIT_STACK, &given_stack);
	if (!ignores_size)
		signal(SIGXFSZ, SIG_DFL);
}
