/*
 * Reclaim of the whole machine: threads that fault in anonymous memory faster than kswapd can make
 * room, beside one that reads a file over and over. For a small virtual machine with swap: on a
 * host in use it pushes everything else out.
 *
 * usage: reclaim_global [-m MIB] [-t THREADS] [-s SECONDS] [-f FILE_MIB] [-d DIRECTORY]
 * -m: anonymous memory of all threads (default: what is available now and half of the free swap).
 * -s: how long it goes on once all of it has been touched, however slow the machine (default 5).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)

static unsigned long mib, threads = 3, seconds = 5, file_mib = 64;
static const char *dir = "/tmp";
static volatile int over;
static unsigned long filled; /* threads that have touched all of theirs */

static bool all_filled(void)
{
	return __atomic_load_n(&filled, __ATOMIC_RELAXED) >= threads;
}

static void *anon_thread(void *arg)
{
	size_t size = mib * MIB / threads, page = (size_t)getpagesize();
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)arg;
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_NOHUGEPAGE);
	for (bool first = true; !over; first = false) {
		for (size_t i = 0; i < size && !over; i += page)
			p[i]++;
		if (first)
			__atomic_fetch_add(&filled, 1, __ATOMIC_RELAXED);
		while (!over && !all_filled())
			usleep(10000); /* or the others would hardly get on */
	}
	munmap(p, size);
	return NULL;
}

static void *file_thread(void *arg)
{
	static char buf[1 << 16];
	char path[512];
	int fd;

	(void)arg;
	snprintf(path, sizeof(path), "%s/memwhy-reclaim-%d", dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	unlink(path);
	for (size_t n = 0; n < file_mib * MIB && !over; n += sizeof(buf))
		if (write(fd, buf, sizeof(buf)) < 0)
			break;
	while (!over) {
		lseek(fd, 0, SEEK_SET);
		while (!over && read(fd, buf, sizeof(buf)) > 0)
			;
	}
	close(fd);
	return NULL;
}

static void arguments(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "m:t:s:f:d:")) > 0) {
		unsigned long v = strtoul(optarg, NULL, 10);

		if (opt == 'd')
			dir = optarg;
		else if (opt == '?')
			exit(2);
		else
			*(opt == 'm'         ? &mib
				: opt == 't' ? &threads
				: opt == 's' ? &seconds
					     : &file_mib) = v;
	}
}

static unsigned long available_mib(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib / 1024;
}

#define FILL_SECONDS 300 /* an emulated machine that swaps needs a minute */

int main(int argc, char **argv)
{
	pthread_t t[64];
	struct sysinfo info;
	unsigned long n = 0;

	arguments(argc, argv);
	sysinfo(&info);
	if (!mib)
		mib = available_mib() + info.freeswap / 2 * info.mem_unit / MIB;
	if (!threads || threads > 60)
		return 2;
	if (file_mib && !pthread_create(&t[n], NULL, file_thread, NULL))
		n++;
	for (unsigned long i = 0; i < threads; i++)
		if (!pthread_create(&t[n], NULL, anon_thread, NULL))
			n++;
	for (int i = 0; i < FILL_SECONDS && !all_filled(); i++)
		sleep(1);
	sleep((unsigned int)seconds);
	over = 1;
	while (n)
		pthread_join(t[--n], NULL);
	printf("anon_bytes %lu\n", mib * MIB);
	return 0;
}
