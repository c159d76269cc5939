/* A container runtime forgets network namespaces: each job gets a new one, which an open descriptor
 * keeps.
 * @state sick
 * @group 2
 * @who percpu-namespac
 * @cause slab memory grew|on each CPU
 */
#include <sched.h>

#include "zoo.h"

int main(void)
{
	int n = 0;

	zoo_ready();
	while (!zoo_over) {
		if (n < 900 && !unshare(CLONE_NEWNET) &&
			open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) >= 0)
			n++;
		usleep(8000);
	}
}
