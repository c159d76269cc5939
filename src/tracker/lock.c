/*
 * What the program calls instead of mlockall. Who has no privilege for it may lock no more than a
 * limit, and the kernel counts the address space for that (mm/mlock.c): the file of events would be
 * too much of it. So where it is refused we give the file up, and it is tried again.
 */
#include <errno.h>
#include <sys/mman.h>

#include "tracker/real.h"
#include "tracker/thread.h"

extern int *__errno_location(void) __attribute__((weak));

__attribute__((visibility("default"))) int mlockall(int flags)
{
	int rc;

	if (!real.mlockall)
		real_find();
	if (!real.mlockall)
		return -1;
	rc = real.mlockall(flags);
	if (rc && &__errno_location && *__errno_location() == ENOMEM && thread_give_up())
		rc = real.mlockall(flags);
	return rc;
}
