/*
 * A control group with a memory limit, version 1 or 2, that a workload makes, enters and leaves.
 * For one file each: all is static.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1UL << 20)

static char group[256]; /* its directory */
static int group_v2;
static const char *group_root; /* of the hierarchy with the memory controller */

static void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	if (group[0])
		rmdir(group);
	exit(1);
}

static void group_put(const char *base, const char *file, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", base, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* Finds the hierarchy; version 2 must first let its groups have the controller. */
static void group_find(void)
{
	group_v2 = access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) != 0;
	group_root = group_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
	if (group_v2)
		group_put(group_root, "cgroup.subtree_control", "+memory");
}

static void group_enter(const char *name, unsigned long limit_mib)
{
	char limit[32];

	snprintf(group, sizeof(group), "%s/memwhy-%s-%d", group_root, name, (int)getpid());
	if (mkdir(group, 0755))
		die(group);
	snprintf(limit, sizeof(limit), "%lu", limit_mib * MIB);
	group_put(group, group_v2 ? "memory.max" : "memory.limit_in_bytes", limit);
	group_put(group, "cgroup.procs", "0"); /* who writes */
}

/* From here on its counters stand still. */
static void group_leave(void)
{
	group_put(group_root, "cgroup.procs", "0");
}
