/* See child.h. */
#include "base/child.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
