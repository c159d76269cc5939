/* See again.h. */
#include "base/again.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

_Noreturn void again_exec(const char *const *argv, int out, int err)
{
	int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_DFL);
	dup2(none, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execv("/proc/self/exe", (char *const *)argv);
	dprintf(STDERR_FILENO, "memwhy cannot be run once more: %s\n", strerror(errno));
	_exit(1);
}
