/*
 * A log collector that accepts connections and reads nothing: what clients sent waits in the
 * kernel.
 * @state sick
 * @group 2
 * @who unix-unread
 * @cause socket
 */
#include <sys/resource.h>

#include "zoo.h"

int main(void)
{
	struct rlimit files = {8192, 8192};
	static char block[8192];
	int size = 1 << 20;

	setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < 1000; i++) {
		int s[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
			err(1, "socketpair");
		setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		fcntl(s[0], F_SETFL, O_NONBLOCK);
		while (write(s[0], block, sizeof(block)) > 0)
			;
	}
	zoo_ready();
	zoo_wait();
}
