/* A server that makes a large io_uring for each connection, and keeps those of connections that
 * have ended.
 * @state sick
 * @group 2
 * @who rings-many
 * @cause (rings of io_uring|io_uring rings)
 */
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "zoo.h"

#define RINGS 400
#define ENTRIES 32768

int main(void)
{
	for (int i = 0; i < RINGS; i++) {
		struct io_uring_params p = {};

		if (syscall(SYS_io_uring_setup, ENTRIES, &p) < 0)
			err(1, "io_uring_setup");
	}
	zoo_ready();
	zoo_wait();
}
