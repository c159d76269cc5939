/* See forbid.h. */
#include "tracker/forbid.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "tracker/modules.h"
#include "tracker/own_stack.h"
#include "tracker/real.h"
#include "tracker/stack.h"
#include "tracker/thread.h"

int calls_forbidden;
const struct filter_row *filter_row;
u16 filter_generation;
int clock_forbidden;

#define STATUS_BYTES 8192

/* The number behind a name that begins a line. */
static int status_value(const char *text, long n, const char *name)
{
	for (long i = 0; i < n; i++) {
		long k = 0;
		int value = 0;

		while (name[k] && i + k < n && text[i + k] == name[k])
			k++;
		if (name[k] || (i && text[i - 1] != '\n'))
			continue;
		for (k += i; k < n && text[k] != '\n'; k++)
			if (text[k] >= '0' && text[k] <= '9')
				value = 10 * value + text[k] - '0';
		return value;
	}
	return -1;
}

int filters_count(void)
{
	long fd = call(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[STATUS_BYTES];
	long n = 0, got;
	int filters;

	if (fd < 0)
		return -1;
	while (n < STATUS_BYTES && (got = call(SYS_read, fd, text + n, STATUS_BYTES - n)) > 0)
		n += got;
	call(SYS_close, fd);
	filters = status_value(text, n, "Seccomp_filters:");
	return filters >= 0 ? filters : status_value(text, n, "Seccomp:") > 0;
}

void clock_look(void)
{
	int mode = PR_TSC_ENABLE;

	if (!call(SYS_prctl, PR_GET_TSC, &mode) && mode == PR_TSC_SIGSEGV)
		clock_forbidden = 1;
}

/*
 * In its control block of a thread, which fs points at: glibc has its id behind room for the loader
 * and a list (nptl/descr.h), musl behind the canary (src/internal/pthread_impl.h).
 */
#define GLIBC_ID 0x2d0
#define MUSL_ID 0x30

extern void *__libc_stack_end __attribute__((weak)); /* of glibc's loader */

static u32 id_at;

static u32 id_read(u32 at)
{
	u32 id;

	__asm__ volatile("movl %%fs:(%1), %0" : "=r"(id) : "r"((u64)at));
	return id;
}

void thread_id_find(void)
{
	u32 at = &__libc_stack_end ? GLIBC_ID : MUSL_ID;

	if (id_read(at) == (u32)call(SYS_gettid))
		id_at = at;
}

static u32 mark_at(u32 place)
{
	return __atomic_load_n(&filter_row->mark[place], __ATOMIC_ACQUIRE);
}

/* Any process of the program. */
static int row_has_mark(void)
{
	for (u32 i = 0; i < FILTER_PLACES; i++)
		if (filter_counts(mark_at(i), filter_generation))
			return 1;
	return 0;
}

u32 thread_id(void)
{
	return id_at ? id_read(id_at) : 0;
}

/* If the program forked by an instruction of its own, libc has the id of the thread that forked. */
u32 fork_id(void)
{
	u32 id = thread.tid ? thread_id() : 0;

	return id != thread.tid ? id : 0;
}

/* A fork that is new does not know its id, and may not ask. */
int filters_seen(void)
{
	u32 pid = self->pid ? self->pid : fork_id();
	int seen = pid ? filter_is_of(mark_at(filter_place(pid)), filter_generation, pid)
		       : row_has_mark();
	if (seen)
		__atomic_store_n(&calls_forbidden, 1, __ATOMIC_RELEASE);
	return seen;
}

/* What needs calls later is done now. Not undone where the program's call fails: other threads may
 * have a filter by then. */
static void calls_forbid(void)
{
	if (calls_forbidden)
		return;
	stack_prepare();
	loaded_prepare();
	__atomic_store_n(&calls_forbidden, 1, __ATOMIC_RELEASE);
}

static void clock_forbid(void)
{
	__atomic_store_n(&clock_forbidden, 1, __ATOMIC_RELEASE);
	thread_clock_gone();
}

/* With a null pointer for the filter it is asked only whether there are any. */
static void look_at_prctl(long option, long a, long b)
{
	if (option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || b))
		calls_forbid();
	if ((option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) ||
		(option == PR_SET_TSC && a == PR_TSC_SIGSEGV))
		clock_forbid();
}

#define EXPORT __attribute__((visibility("default")))

/* As variadic as libc's: five words are handed on, whatever is in those that were not given. */
int told_prctl(int option, long a, long b, long c, long d) __asm__("prctl");

EXPORT int told_prctl(int option, long a, long b, long c, long d)
{
	if (!real.prctl)
		real_find();
	look_at_prctl(option, a, b);
	return real.prctl ? real.prctl(option, a, b, c, d) : -1;
}

OURS void look_at_syscall(long number, long a, long b, long c);
OURS long memory_syscall(long number, long a, long b, long c, long d, long e, long f);

/* Where libc has a syscall(), for the jump below. */
OURS void *forbid_real_syscall;

static void real_syscall_find(void)
{
	int allocator;

	if (!forbid_real_syscall)
		forbid_real_syscall = real_function("syscall", &allocator);
}

/* One that may take memory (own_stack.h). */
long memory_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long (*real_syscall)(long number, ...), rc = -1;
	int goes = memory_goes(number, (u64)a, (u64)b, (u64)c, (u64)d, (u64)e);

	real_syscall_find();
	real_syscall = (long (*)(long, ...))forbid_real_syscall;
	if (real_syscall)
		rc = real_syscall(number, a, b, c, d, e, f);
	memory_is_gone(goes);
	return rc;
}

void look_at_syscall(long number, long a, long b, long c)
{
	real_syscall_find();
	if (number == SYS_prctl)
		look_at_prctl(a, b, c);
	if (number != SYS_seccomp)
		return;
	if (a == SECCOMP_SET_MODE_STRICT && !b && !c)
		look_at_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0);
	else if (a == SECCOMP_SET_MODE_FILTER && c)
		calls_forbid();
}

/* A jump, with the stack as it was: a clone() by syscall() returns on another stack. */
__asm__(".pushsection .text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	".cfi_startproc\n"
	"	lea -9(%edi), %r11d\n" /* SYS_mmap, SYS_mprotect, SYS_munmap */
	"	cmp $2, %r11d\n"
	"	jbe memory_syscall\n"
	"	cmp $25, %edi\n" /* SYS_mremap */
	"	je memory_syscall\n"
	"	cmp $28, %edi\n" /* SYS_madvise */
	"	je memory_syscall\n"
	"	cmp $30, %edi\n" /* SYS_shmat */
	"	je memory_syscall\n"
	"	cmp $67, %edi\n" /* SYS_shmdt */
	"	je memory_syscall\n"
	"	cmp $329, %edi\n" /* SYS_pkey_mprotect */
	"	je memory_syscall\n"
	"	cmp $157, %edi\n" /* SYS_prctl */
	"	je 1f\n"
	"	cmp $317, %edi\n" /* SYS_seccomp */
	"	je 1f\n"
	"	mov forbid_real_syscall(%rip), %r11\n"
	"	test %r11, %r11\n"
	"	je 1f\n"
	"	jmp *%r11\n"
	"1:	push %rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rdx\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rcx\n	.cfi_adjust_cfa_offset 8\n"
	"	push %r8\n	.cfi_adjust_cfa_offset 8\n"
	"	push %r9\n	.cfi_adjust_cfa_offset 8\n"
	"	sub $8, %rsp\n	.cfi_adjust_cfa_offset 8\n"
	"	call look_at_syscall\n"
	"	add $8, %rsp\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %r9\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %r8\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rcx\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdx\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	mov forbid_real_syscall(%rip), %r11\n"
	"	test %r11, %r11\n"
	"	je 2f\n"
	"	jmp *%r11\n"
	"2:	mov $-1, %rax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size syscall, .-syscall\n"
	".popsection\n");
