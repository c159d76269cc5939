/* See child.h. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int child_begin(int type, int signal, void (*work)(int socket), pid_t *ret_pid, int *ret_socket)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, signal);
		if (getppid() != parent) /* it ended before that */
			_exit(0);
		close(ends[0]);
		work(ends[1]);
		_exit(0);
	}
	if (pid < 0) {
		int rc = -errno;

		close(ends[0]);
		close(ends[1]);
		return rc;
	}
	close(ends[1]);
	*ret_pid = pid;
	*ret_socket = ends[0];
	return 0;
}

void child_shut_in(const char *name, int socket)
{
	sigset_t all;

	prctl(PR_SET_NAME, name);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(socket, 0);
	dup2(open("/dev/null", O_WRONLY), 1);
	dup2(1, 2);
	syscall(SYS_close_range, 3, ~0U, 0);
}

bool child_has_ended(pid_t pid)
{
	siginfo_t info = {};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

void child_end(pid_t pid, int socket)
{
	/* Others that were forked since have this end of it, too. */
	shutdown(socket, SHUT_RDWR);
	close(socket);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
