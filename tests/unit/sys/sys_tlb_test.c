/* CPUs forget which pages they have accessed: they are reached, and then set accessed bits again. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "sys/process/smaps.h"
#include "sys/process/tlb.h"
#include "sys/root.h"

#define BYTES (4UL << 20)

static struct idset ours(void)
{
	struct idset ret = {};
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (u32 cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			ret.bits[cpu / 64] |= 1ULL << (cpu % 64);
	return ret;
}

static void test_reached(void **unused)
{
	struct idset cpus = ours(), after;
	u32 left = 99;

	(void)unused;
	assert_int_equal(tlb_forget(&cpus, &left), 0);
	assert_int_equal(left, 0);
	after = ours(); /* only the children went there */
	assert_memory_equal(&after, &cpus, sizeof(cpus));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_not_reached(void **unused)
{
	struct idset cpus = ours();
	u32 left = 0;

	(void)unused;
	cpus.bits[IDSET_MAX / 64 - 1] |= 1ULL << 63; /* no kernel has it */
	assert_int_equal(tlb_forget(&cpus, &left), 0);
	assert_int_equal(left, 1);
}

/* Uses the same pages all the time, and calls nothing. */
static void use_all(volatile char *bytes)
{
	for (;;)
		for (u64 i = 0; i < BYTES; i += 4096)
			(void)bytes[i];
}

static u64 referenced(pid_t pid)
{
	struct str text = {};
	struct smaps_all all = {};
	u64 sum = 0;

	assert_int_equal(sys_read(&text, "/proc/%d/smaps", pid), 0);
	assert_int_equal(smaps_all_parse(str_get(&text), &all), 0);
	for (size_t i = 0; i < all.list.n; i++)
		sum += all.list.v[i].referenced_bytes;
	smaps_all_free(&all);
	str_free(&text);
	return sum;
}

static void test_used_again(void **unused)
{
	char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct timespec pause = {.tv_nsec = 50000000};
	struct idset cpus = ours();
	u64 got = 0;
	u32 left;
	char path[64];
	pid_t pid;
	int fd;

	(void)unused;
	for (u64 i = 0; i < BYTES; i += 4096)
		bytes[i] = 1;
	pid = fork();
	if (!pid)
		use_all(bytes);
	snprintf(path, sizeof(path), "/proc/%d/clear_refs", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "1", 1), 1);
	assert_int_equal(tlb_forget(&cpus, &left), 0);
	for (int i = 0; i < 100 && got < BYTES; i++) { /* on a busy machine it has to wait for its turn */
		nanosleep(&pause, NULL);
		got = referenced(pid);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	munmap(bytes, BYTES);
	assert_true(got >= BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reached),
		cmocka_unit_test(test_not_reached),
		cmocka_unit_test(test_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
