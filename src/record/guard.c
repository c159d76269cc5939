/* See guard.h. */
#include "record/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* What the samples of a minute, a report and its text take; reports were seen to take 1 MiB. */
#define HEAP_BYTES (6UL << 20)
#define STACK_BYTES (256UL << 10)

static int exempt(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, "-1000", 5) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* The heap keeps what is freed, so that it need not ask the kernel again. */
static int guard_heap_take(void)
{
	char *volatile p;

	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	p = malloc(HEAP_BYTES);
	if (!p)
		return -ENOMEM;
	memset(p, 1, HEAP_BYTES);
	free(p);
	return 0;
}

static void guard_stack_take(void)
{
	volatile char room[STACK_BYTES];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1;
}

/* Later mappings are locked too, if the limit can be lifted: by then we have no privilege. */
static int lock(void)
{
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	int future = setrlimit(RLIMIT_MEMLOCK, &none) ? 0 : MCL_FUTURE;

	return mlockall(MCL_CURRENT | future) ? -errno : 0;
}

int guard_memory(struct capture *c)
{
	int exempted = exempt(), locked = guard_heap_take(), rc = 0;

	guard_stack_take();
	if (!locked)
		locked = lock();
	if (!exempted && !locked)
		return capture_note(c, NOTE_INFO,
			"memwhy has locked its memory and set its own oom_score_adj to -1000, to "
			"report when memory is gone");
	if (exempted)
		rc = capture_note(c, NOTE_WARNING,
			"memwhy may itself be killed when memory is gone: its oom_score_adj cannot "
			"be "
			"lowered: %s (it takes CAP_SYS_RESOURCE)",
			strerror(-exempted));
	if (!rc && locked)
		rc = capture_note(c, NOTE_WARNING,
			"the report may come late when memory is gone: memwhy's memory cannot be "
			"locked: %s",
			strerror(-locked));
	return rc;
}
