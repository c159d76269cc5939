/*
 * A server registers far larger buffers with io_uring than it uses: they are pinned.
 * @state sick
 * @group 3
 * @who rings-pinned
 * @cause pinned
 */
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "zoo.h"

int main(void)
{
	struct io_uring_params p = {};
	struct iovec v = {zoo_memory(600 * MIB), 600 * MIB};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &p);

	if (fd < 0 || syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, &v, 1))
		err(1, "io_uring");
	zoo_ready();
	zoo_wait();
}
