/* See syscalls_words.h. */
#include "probes/syscalls/syscalls_words.h"

#include <errno.h>
#include <string.h>

#include "base/closest.h"
#include "base/units.h"
#include "base/vec.h"
#include "sys/calls/syscall_args.h"
#include "sys/calls/syscall_flags.h"
#include "sys/calls/syscalls.h"

#define RING_CALLS 128
#define RING_CALLS_MOST 4096

static const char *const memory_calls[] = {"brk", "mmap", "mmap2", "munmap", "mremap", "mprotect",
	"pkey_mprotect", "madvise", "process_madvise", "msync", "mincore", "mlock", "mlock2",
	"munlock", "mlockall", "munlockall", "mseal", "remap_file_pages", "mbind", "set_mempolicy",
	"get_mempolicy", "migrate_pages", "move_pages", "set_mempolicy_home_node", "shmget",
	"shmat", "shmctl", "shmdt", "memfd_create", "memfd_secret", "userfaultfd",
	"map_shadow_stack", "process_mrelease", NULL};
static const char *const process_calls[] = {"fork", "vfork", "clone", "clone3", "execve",
	"execveat", "exit", "exit_group", "wait4", "waitid", "waitpid", "kill", "tkill", "tgkill",
	"pidfd_open", "pidfd_send_signal", NULL};
static const char *const network_calls[] = {"socket", "socketpair", "bind", "listen", "accept",
	"accept4", "connect", "getsockname", "getpeername", "sendto", "recvfrom", "sendmsg",
	"recvmsg", "sendmmsg", "recvmmsg", "shutdown", "getsockopt", "setsockopt", "socketcall",
	NULL};
static const char *const sync_calls[] = {"futex", "futex_waitv", "futex_wait", "futex_wake",
	"futex_requeue", "semop", "semtimedop", "membarrier", "sched_yield", NULL};

static const struct class
{
	const char *name;
	const char *const *calls; /* NULL: those that take a path */
} classes[] = {
	{"%memory", memory_calls},
	{"%process", process_calls},
	{"%network", network_calls},
	{"%sync", sync_calls},
	{"%file", NULL},
};

static void path_call_want(void *arg, const char *name, const u8 *args)
{
	for (u32 i = 0; i < SYSCALL_ARGS; i++)
		if (args[i] == ARG_STR)
			syscalls_want_name(arg, name);
}

static int class_want(struct syscalls_config *set, const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strcmp(classes[i].name, word) != 0)
			continue;
		if (!classes[i].calls)
			syscall_args_each(path_call_want, set);
		for (const char *const *c = classes[i].calls; c && *c; c++)
			syscalls_want_name(set, *c);
		return 0;
	}
	return -ENOENT;
}

static int call_unknown(const char *word, struct err *err)
{
	VEC(const char *) names = {};
	const char *near;
	int rc = 0;

	for (u32 abi = SYSCALL_NATIVE; abi <= SYSCALL_COMPAT; abi++)
		for (u32 nr = 0; nr < SYSCALL_NUMBERS && !rc; nr++)
			if (syscalls_name(abi, nr))
				rc = vec_push(&names, syscalls_name(abi, nr));
	for (size_t i = 0; i < ARRAY_SIZE(classes) && !rc; i++)
		rc = vec_push(&names, classes[i].name);
	near = closest(word, names.v, names.n);
	vec_free(&names);
	err_set(err, -EINVAL, "'%.40s' is not a system call", word);
	if (near)
		return err_hint(err, "did you mean '%s'?", near);
	return err_hint(err, "a name, or %%memory, %%file, %%process, %%network or %%sync");
}

/* "openat,read" or "%memory". */
static int words_want(struct syscalls_config *set, const char *words, struct err *err)
{
	const char *p = words;
	char word[64];

	do {
		size_t n = strcspn(p, ",");

		snprintf(word, sizeof(word), "%.*s", (int)MIN(n, 63UL), p);
		if (class_want(set, word) && syscalls_want_name(set, word))
			return call_unknown(word, err);
		p += n;
		p += *p == ',';
	} while (*p);
	return 0;
}

static int flight_parse(const char *text, struct syscalls_wish *w, struct err *err)
{
	u64 n = RING_CALLS;

	if (!text)
		return 0;
	if (*text && parse_u64(text, 1, RING_CALLS_MOST, &n)) {
		err_set(err, -EINVAL, "--flight: '%.40s' is not a number of calls", text);
		return err_hint(
			err, "from 1 to %u; it is rounded up to a power of two", RING_CALLS_MOST);
	}
	w->flight = true;
	w->ring_calls = 1;
	while (w->ring_calls < n)
		w->ring_calls *= 2;
	return 0;
}

static int dump_word(const char *word, struct syscalls_wish *w)
{
	if (!strncmp(word, "slow>", 5))
		return parse_duration(word + 5, &w->dump_ns);
	if (!strncmp(word, "fail=", 5)) {
		w->dump_error = error_number(word + 5);
		return MIN(w->dump_error, 0);
	}
	if (!strcmp(word, "fail"))
		w->dump_error = -1;
	else if (!strcmp(word, "exit"))
		w->dump_exit = true;
	else if (!strcmp(word, "crash"))
		w->dump_crash = true;
	else
		return -EINVAL;
	return 0;
}

static int dump_parse(const char *text, struct syscalls_wish *w, struct err *err)
{
	char word[64];

	if (text && !w->flight)
		return err_set(err, -EINVAL, "--dump-on needs --flight");
	for (const char *p = text ? text : ""; *p;) {
		size_t n = strcspn(p, ",");

		snprintf(word, sizeof(word), "%.*s", (int)MIN(n, 63UL), p);
		if (dump_word(word, w)) {
			err_set(err, -EINVAL, "--dump-on: '%.40s' is not known", word);
			return err_hint(err, "it takes slow>TIME, fail, fail=ERROR, exit, crash");
		}
		p += n;
		p += *p == ',';
	}
	return 0;
}

int syscalls_wish_parse(char *const *operands, u32 n, const char *flight, const char *dump_on,
	struct syscalls_wish *ret, struct err *err)
{
	int rc = 0;

	*ret = (struct syscalls_wish){};
	if (!n)
		syscalls_want_all(&ret->set);
	for (u32 i = 0; i < n && !rc; i++)
		rc = words_want(&ret->set, operands[i], err);
	if (!rc)
		rc = flight_parse(flight, ret, err);
	return rc ? rc : dump_parse(dump_on, ret, err);
}
