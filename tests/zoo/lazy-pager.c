/* A restored virtual machine gets its pages on demand: a userfaultfd handler fetches each of them
 * slowly, and the threads that touch them wait.
 * @state sick
 * @group 4
 * @who lazy-pager
 * @cause userfaultfd
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "zoo.h"

#define AREA (512 * MIB)

static char *area;
static int uffd;

static void *guest(void *arg)
{
	size_t pages = AREA / 4096;

	for (size_t i = (size_t)arg;; i += 7919) {
		volatile char *p = area + i % pages * 4096;

		(*p)++;
	}
	return NULL;
}

static void serve(void)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct uffd_msg m;

	if (read(uffd, &m, sizeof(m)) != sizeof(m) || m.event != UFFD_EVENT_PAGEFAULT)
		return;
	usleep(2000); /* the page comes over the network */
	memset(page, 7, sizeof(page));
	struct uffdio_copy c = {
		.dst = m.arg.pagefault.address & ~4095ULL, .src = (unsigned long)page, .len = 4096};

	ioctl(uffd, UFFDIO_COPY, &c);
}

int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	pthread_t t;

	area = zoo_memory(AREA);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		err(1, "userfaultfd");
	struct uffdio_register r = {
		.range = {(unsigned long)area, AREA}, .mode = UFFDIO_REGISTER_MODE_MISSING};

	if (ioctl(uffd, UFFDIO_REGISTER, &r))
		err(1, "UFFDIO_REGISTER");
	for (size_t i = 0; i < 4; i++)
		pthread_create(&t, NULL, guest, (void *)(i * 1000));
	zoo_ready();
	while (!zoo_over)
		serve();
}
