/*
 * Reclaim of a control group, for certain: makes a group with a memory limit, and in it writes and
 * reads a file larger than the limit beside some anonymous memory. Every page beyond the limit
 * must be reclaimed by this task, as nobody else may. Where the file lies in memory (tmpfs), or
 * with more anonymous memory than the limit, that takes swap.
 *
 * usage: reclaim_memcg [-l LIMIT_MIB] [-f FILE_MIB] [-a ANON_MIB] [-r ROUNDS] [-d DIRECTORY]
 * Prints lines of "name value": what it did, and what the group's own counters say.
 */
#include <sys/mman.h>

#include "limited_group.h"

static unsigned long limit_mib = 32, file_mib = 128, anon_mib = 12, rounds = 2;
static const char *dir = "/tmp";

static void file_use(void)
{
	static char buf[1 << 16];
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/memwhy-reclaim-%d", dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	unlink(path);
	for (size_t n = 0; n < file_mib * MIB; n += sizeof(buf))
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			die("write");
	fsync(fd);
	for (unsigned long r = 0; r < rounds; r++) {
		lseek(fd, 0, SEEK_SET);
		while (read(fd, buf, sizeof(buf)) > 0)
			;
	}
	close(fd);
}

static void counters_print(void)
{
	char path[512], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", group, group_v2 ? "memory.stat" : "memory.failcnt");
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!group_v2)
			printf("failcnt %s", line);
		else if (!strncmp(line, "pgscan", 6) || !strncmp(line, "pgsteal", 7))
			fputs(line, stdout);
	}
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	char *anon;
	int opt;

	while ((opt = getopt(argc, argv, "l:f:a:r:d:")) > 0) {
		unsigned long v = strtoul(optarg, NULL, 10);

		if (opt == 'd')
			dir = optarg;
		else if (opt == '?')
			return 2;
		else
			*(opt == 'l'         ? &limit_mib
				: opt == 'f' ? &file_mib
				: opt == 'a' ? &anon_mib
					     : &rounds) = v;
	}
	group_find();
	group_enter("reclaim", limit_mib);
	anon = mmap(NULL, anon_mib * MIB + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (anon == MAP_FAILED)
		die("mmap");
	memset(anon, 1, anon_mib * MIB);
	file_use();
	printf("cgroup %s\n", group);
	printf("pid %d\n", (int)getpid());
	printf("least_reclaimed_pages %lu\n",
		(file_mib + anon_mib > limit_mib ? file_mib + anon_mib - limit_mib : 0) * MIB /
			(unsigned long)getpagesize());
	group_leave();
	counters_print();
	if (rmdir(group))
		die(group);
	return 0;
}
