/*
 * memwhy itself, but for what it asks the kernel to load: writes to the file VERIFIER_OUT a line
 * for each BPF program, tab-separated: name, result (0 or -errno), instructions, instructions that
 * the verifier looked at, its states at most, bytes of its full log (0: VERIFIER_LOG is not set,
 * which makes it load everything twice), and how long it took in us. What the verifier says of a
 * program that it refuses goes to VERIFIER_OUT.NAME. Linked with --wrap=syscall.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"

#define LOG_BYTES (256U << 20)
#define LOG_STATS 4 /* BPF_LOG_STATS, since 5.2 */
#define SHORT 16
#define LOG_PATH 1 /* BPF_LOG_LEVEL1: the path that it was refused for */
#define LOG_ALL 2  /* BPF_LOG_LEVEL2 */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static u32 number_in(const char *log, const char *before)
{
	const char *at = strstr(log, before);

	return at ? (u32)strtoul(at + strlen(before), NULL, 10) : 0;
}

/* Has the kernel say everything, for how much that is. */
static u64 log_bytes(union bpf_attr attr, size_t size, char *log)
{
	long fd;

	if (!getenv("VERIFIER_LOG"))
		return 0;
	attr.log_level = LOG_ALL;
	attr.log_buf = (u64)log;
	attr.log_size = LOG_BYTES;
	fd = __real_syscall(SYS_bpf, BPF_PROG_LOAD, &attr, size);
	if (fd >= 0)
		close((int)fd);
	return strlen(log);
}

/* Writes why the program was refused. */
static void refusal_keep(union bpf_attr attr, size_t size, char *log, const char *out)
{
	char path[4096];
	FILE *f;

	attr.log_level = LOG_PATH;
	__real_syscall(SYS_bpf, BPF_PROG_LOAD, &attr, size);
	snprintf(path, sizeof(path), "%s.%s", out, attr.prog_name);
	f = fopen(path, "w");
	if (!f)
		abort();
	fputs(log, f);
	fclose(f);
}

static long program_load(const union bpf_attr *asked, size_t size, const char *out)
{
	union bpf_attr attr = {};
	char *log = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	u64 begun, ns;
	FILE *f = fopen(out, "a");
	long fd;
	int error;

	memcpy(&attr, asked, MIN(size, sizeof(attr)));
	if (!f || log == MAP_FAILED)
		abort();
	attr.log_level = LOG_STATS;
	attr.log_buf = (u64)log;
	attr.log_size = LOG_BYTES;
	begun = clock_mono_ns();
	fd = __real_syscall(SYS_bpf, BPF_PROG_LOAD, &attr, size);
	error = errno;
	ns = clock_mono_ns() - begun;
	fprintf(f, "%s\t%d\t%u\t%u\t%u\t", attr.prog_name, fd < 0 ? -error : 0, attr.insn_cnt,
		number_in(log, "processed "), number_in(log, "peak_states "));
	fprintf(f, "%llu\t%llu\n", fd < 0 ? 0 : log_bytes(attr, size, log), ns / NSEC_PER_USEC);
	fclose(f);
	if (fd < 0)
		refusal_keep(attr, size, log, out);
	munmap(log, LOG_BYTES);
	errno = error;
	return fd;
}

long __wrap_syscall(long number, ...)
{
	const char *out = getenv("VERIFIER_OUT");
	const union bpf_attr *asked;
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	/* Short ones try what this kernel can do; one with a log was refused, and is tried again.
	 */
	asked = (const union bpf_attr *)a[1];
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && out && asked->insn_cnt > SHORT &&
		!asked->log_level)
		return program_load(asked, (size_t)a[2], out);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
