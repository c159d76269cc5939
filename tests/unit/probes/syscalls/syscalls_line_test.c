/* A system call in strace's manner: what is written of it, whatever a record holds. */
#include <errno.h>

#include "capture/syscall_hook.h"
#include "probes/syscalls/syscalls_line.h"
#include "probes/syscalls/syscalls_words.h"
#include "sys/calls/syscall_args.h"
#include "sys/calls/syscall_flags.h"
#include "sys/calls/syscalls.h"
#include "view_fixture.h"

/* A call with what was copied of its arguments. */
struct called {
	struct syscalls_call call;
	char text[1024];
};

static struct called called(u32 nr, s64 ret, const u64 args[6])
{
	struct called c = {};

	c.call.h.size = sizeof(c);
	c.call.h.kind = REC_SYSCALLS_CALL;
	c.call.nr = nr;
	c.call.ret = ret;
	memcpy(c.call.args, args, sizeof(c.call.args));
	return c;
}

/* Argument i was copied, as the k-th. */
static void copied(struct called *c, u32 k, u32 i, u8 how, const char *bytes, u16 n)
{
	c->call.copy[k] = (u8)(how | (i + 1));
	c->call.copied[k] = n;
	memcpy(c->text + (k ? c->call.copied[0] : 0) + (k > 1 ? c->call.copied[1] : 0), bytes, n);
}

static void assert_line(const struct called *c, const char *want)
{
	_cleanup_str_ struct str s = {};
	struct stream stream;

	assert_int_equal(stream_init(&stream), 0);
	syscalls_call_add(&s, &stream, &c->call);
	str_add(&s, " = ");
	syscalls_result_add(&s, &c->call);
	assert_string_equal(str_get(&s), want);
	stream_destroy(&stream);
}

#define ARGS(...)           \
	(const u64[6])      \
	{                   \
		__VA_ARGS__ \
	}
#define TEXT(c_, k_, i_, text_) copied(c_, k_, i_, SYSCALLS_COPY_TEXT, text_, sizeof(text_) - 1)

/* What strace writes of the same calls, looked at beside it. */
static void as_strace(void **state)
{
	struct called c = called(257, 3, ARGS((u32)-100, 0x1000, 02200000));
	static const u64 usage[4] = {1, 86757, 0, 12};
	static const u64 fs[8] = {0xef53, 4096, 66053021, 59863819, 18895095, 16777216, 16275549};

	(void)state;
	TEXT(&c, 0, 1, "/");
	assert_line(&c, "openat(AT_FDCWD, \"/\", O_RDONLY|O_CLOEXEC|O_DIRECTORY) = 3");
	c.call.args[2] = 020200002;
	c.call.args[3] = 0600;
	assert_line(&c, "openat(AT_FDCWD, \"/\", O_RDWR|O_TMPFILE, 0600) = 3");
	c = called(62, 0, ARGS(7, 29));
	assert_line(&c, "kill(7, SIGIO) = 0");
	c.call.args[1] = 32;
	assert_line(&c, "kill(7, SIGRTMIN) = 0");
	c.call.args[1] = 33;
	assert_line(&c, "kill(7, SIGRT_1) = 0");
	c.call.args[1] = 64;
	assert_line(&c, "kill(7, SIGRT_32) = 0");
	c = called(14, 0, ARGS(0, 0x1000, 0, 8));
	copied(&c, 0, 1, SYSCALLS_COPY_8, "\0\0\0\x90\x03\0\0\0", 8);
	assert_line(&c, "rt_sigprocmask(SIG_BLOCK, [IO RTMIN RT_1 RT_2], NULL, 8) = 0");
	c = called(79, 5, ARGS(0x1000, 1024));
	copied(&c, 0, 0, SYSCALLS_COPY_RESULT, "/tmp", 5);
	assert_line(&c, "getcwd(\"/tmp\", 1024) = 5");
	c = called(318, 3, ARGS(0x1000, 3, 0));
	copied(&c, 0, 0, SYSCALLS_COPY_RESULT, "u\xde", 3);
	assert_line(&c, "getrandom(\"\\x75\\xde\\x00\", 3, 0) = 3");
	c = called(98, 0, ARGS(0, 0x1000));
	copied(&c, 0, 1, SYSCALLS_COPY_32, (const char *)usage, 32);
	assert_line(&c, "getrusage(RUSAGE_SELF, {ru_utime={tv_sec=1, tv_usec=86757}, "
			"ru_stime={tv_sec=0, tv_usec=12}, ...}) = 0");
	c = called(138, 0, ARGS(3, 0x1000));
	copied(&c, 0, 1, SYSCALLS_COPY_64, (const char *)fs, 64);
	assert_line(&c, "fstatfs(3, {f_type=EXT2_SUPER_MAGIC, f_bsize=4096, f_blocks=66053021, "
			"f_bfree=59863819, f_bavail=18895095, f_files=16777216, "
			"f_ffree=16275549, ...}) = 0");
}

static void files(void **state)
{
	struct called c = called(257, 3, ARGS((u32)-100, 0x1000, 02000000));

	(void)state;
	TEXT(&c, 0, 1, "/etc/passwd");
	assert_line(&c, "openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3");
	c.call.args[2] = 01101;
	c.call.args[3] = 0644;
	c.call.ret = -ENOENT;
	assert_line(&c, "openat(AT_FDCWD, \"/etc/passwd\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = "
			"-1 ENOENT (No such file or directory)");
	c.call.flags = SYSCALLS_FAULTED_0;
	assert_line(&c, "openat(AT_FDCWD, 0x1000, O_WRONLY|O_CREAT|O_TRUNC, 0644) = "
			"-1 ENOENT (No such file or directory)");
	c = called(82, 0, ARGS(0x1000, 0x2000));
	TEXT(&c, 0, 0, "old");
	TEXT(&c, 1, 1, "new");
	c.call.flags = SYSCALLS_CUT_0 << 1;
	assert_line(&c, "rename(\"old\", \"new\"...) = 0");
	c = called(0, 2, ARGS(4, 0x1000, 64));
	copied(&c, 0, 1, SYSCALLS_COPY_RESULT, "a\0", 2);
	assert_line(&c, "read(4, \"a\\0\", 64) = 2");
	c.call.ret = -EAGAIN;
	assert_line(&c, "read(4, 0x1000, 64) = -1 EAGAIN (Resource temporarily unavailable)");
}

static void memory(void **state)
{
	struct called c = called(9, 0x7f0000000000, ARGS(0, 4096, 3, 0x22, (u64)-1, 0));

	(void)state;
	assert_line(&c, "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) "
			"= 0x7f0000000000");
	c = called(28, 0, ARGS(0x1000, 4096, 14));
	assert_line(&c, "madvise(0x1000, 4096, MADV_HUGEPAGE) = 0");
	c = called(25, -ENOMEM, ARGS(0x1000, 4096, 8192, 1, 7));
	assert_line(&c, "mremap(0x1000, 4096, 8192, MREMAP_MAYMOVE) = -1 ENOMEM (Cannot allocate "
			"memory)");
	c = called(237, 0, ARGS(0x1000, 4096, 0x8002, 0x2000, 65, 3));
	copied(&c, 0, 3, SYSCALLS_COPY_8, "\5\0\0\0\0\0\0\0", 8);
	assert_line(&c, "mbind(0x1000, 4096, MPOL_BIND|MPOL_F_STATIC_NODES, [0x5], 65, "
			"MPOL_MF_STRICT|MPOL_MF_MOVE) = 0");
}

static void waiting(void **state)
{
	static const char second[16] = {1, 0, 0, 0, 0, 0, 0, 0, 2};
	static const char event[12] = {1, 0, 0, 0, 9};
	struct called c = called(202, 1, ARGS(0x1000, 0x81, 1, 5, 6, 7));

	(void)state;
	assert_line(&c, "futex(0x1000, FUTEX_WAKE_PRIVATE, 1) = 1");
	c = called(202, -ETIMEDOUT, ARGS(0x1000, 0x109, 1, 5, 0, 0xffffffff));
	copied(&c, 0, 3, SYSCALLS_COPY_16, second, 16);
	assert_line(&c, "futex(0x1000, FUTEX_WAIT_BITSET|FUTEX_CLOCK_REALTIME, 1, {tv_sec=1, "
			"tv_nsec=2}, NULL, 0xffffffff) = -1 ETIMEDOUT (Connection timed out)");
	c = called(233, 0, ARGS(3, 1, 4, 0x1000));
	copied(&c, 0, 3, SYSCALLS_COPY_12, event, 12);
	assert_line(&c, "epoll_ctl(3, EPOLL_CTL_ADD, 4, {events=EPOLLIN, data=0x9}) = 0");
	c = called(16, 0, ARGS(3, 0xc0046d07, 0x10));
	assert_line(&c, "ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x6d, 0x7, 0x4), 0x10) = 0");
	c = called(34, -514, ARGS(0));
	assert_line(&c, "pause() = ? ERESTARTNOHAND (to be restarted)");
}

static void processes(void **state)
{
	struct called c = called(56, 77, ARGS(0x1200011, 0, 0, 0x7000));

	(void)state;
	assert_line(&c, "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|"
			"SIGCHLD, child_tidptr=0x7000) = 77");
	c = called(59, 0, ARGS(0x1000, 0x2000, 0x3000));
	TEXT(&c, 0, 0, "/bin/ls");
	copied(&c, 1, 1, SYSCALLS_COPY_ARGV, "ls\0-l", 6);
	assert_line(&c, "execve(\"/bin/ls\", [\"ls\", \"-l\"], 0x3000) = 0");
	c.call.copied[1] = 0;
	assert_line(&c, "execve(\"/bin/ls\", 0x2000, 0x3000) = 0");
	c = called(231, 0, ARGS(3));
	c.call.flags = SYSCALLS_NO_END;
	assert_line(&c, "exit_group(3) = ?");
	c = called(110, -ENOTTY, ARGS(0));
	c.call.flags = SYSCALLS_REFUSED;
	assert_line(&c, "getppid() = -1 ENOTTY (Inappropriate ioctl for device) (refused before it "
			"began)");
	c = called(62, 0, ARGS(1, 15));
	assert_line(&c, "kill(1, SIGTERM) = 0");
}

static void abis(void **state)
{
	struct called c = called(20, 5, ARGS(0));

	(void)state;
	c.call.abi = SYSCALL_COMPAT;
	assert_line(&c, "compat:getpid() = 5");
	c.call.nr = 90;
	c.call.args[0] = 0x1000;
	assert_line(&c, "compat:mmap(0x1000) = 0x5");
	c = called(39, -ENOSYS, ARGS(0));
	c.call.abi = SYSCALL_X32;
	assert_line(&c, "x32:getpid() = -1 ENOSYS (Function not implemented)");
	c = called(5000, -ENOSYS, ARGS(1, 2, 3, 4, 5, 6));
	assert_line(&c, "syscall_5000(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -1 ENOSYS (Function not "
			"implemented)");
}

/* No byte that a program chose reaches a terminal as it is. */
static void texts_are_quoted(void **state)
{
	struct called c = called(87, 0, ARGS(0x1000));

	(void)state;
	TEXT(&c, 0, 0, "\033[2J\"\\\n\t\r\1772\xc2\x9b\xff k\xc3\xa4se");
	assert_line(
		&c, "unlink(\"\\33[2J\\\"\\\\\\n\\t\\r\\1772\\302\\233\\377 k\xc3\xa4se\") = 0");
	c = called(87, 0, ARGS(0x1000));
	assert_line(&c, "unlink(0x1000) = 0");
	TEXT(&c, 0, 0, "");
	assert_line(&c, "unlink(\"\") = 0");
}

/* Of a record only what lies within it is read. */
static void damaged(void **state)
{
	struct called c = called(59, 0, ARGS(1, 2, 3));

	(void)state;
	c.call.copied[0] = sizeof(c.text);
	assert_true(syscalls_call_valid(&c.call));
	c.call.copied[1] = 1;
	assert_false(syscalls_call_valid(&c.call));
	c.call.copied[0] = 0xffff;
	assert_false(syscalls_call_valid(&c.call));
	c.call.copied[0] = c.call.copied[1] = 0;
	c.call.h.size = sizeof(c.call) - 8;
	assert_false(syscalls_call_valid(&c.call));
	/* a structure that is shorter than its kind */
	c = called(233, 0, ARGS(3, 1, 4, 0x1000));
	copied(&c, 0, 3, SYSCALLS_COPY_12, "\1", 1);
	assert_line(&c, "epoll_ctl(3, EPOLL_CTL_ADD, 4, 0x1000) = 0");
}

static void described(void **state)
{
	struct called c = called(9999, 0, ARGS(3, 0x1000));
	struct rec_enum e = REC(struct rec_enum, REC_ENUM, .set = SYSCALLS_ARGS_SET, .value = 9999,
		.name = "int fd, struct stat * statbuf");
	_cleanup_str_ struct str s = {};
	struct stream stream;

	(void)state;
	assert_int_equal(stream_init(&stream), 0);
	assert_int_equal(stream_feed(&stream, &e.h), 0);
	syscalls_call_add(&s, &stream, &c.call);
	assert_string_equal(str_get(&s), "syscall_9999(fd=0x3, statbuf=0x1000)");
	stream_destroy(&stream);
}

static void row_check(void *arg, const char *name, const u8 *args)
{
	struct syscalls_config set = {};

	if (syscalls_want_name(&set, name))
		fail_msg("%s is in no table of numbers", name);
	for (u32 i = 0; i < SYSCALL_ARGS; i++)
		if (args[i] >= ARG_FLAGS && !syscall_flags(args[i]))
			fail_msg("%s: argument %u has no table", name, i);
	++*(int *)arg;
}

static void tables(void **state)
{
	int n = 0;

	(void)state;
	syscall_args_each(row_check, &n);
	assert_true(n > 350);
	assert_string_equal(syscall_name(0), "read");
	assert_string_equal(syscall_compat_name(3), "read");
	assert_string_equal(syscall_name(520), "execve");
	assert_null(syscall_name(-1));
	assert_null(syscall_name(400));
	assert_int_equal(error_number("ENOMEM"), ENOMEM);
	assert_int_equal(error_number("ERESTARTSYS"), 512);
	assert_int_equal(error_number("ENOSUCH"), -ENOENT);
}

static bool wanted(const u64 *bits, u32 nr)
{
	return bits[nr / 64] >> nr % 64 & 1;
}

static int wish(const char *word, const char *flight, const char *dump_on, struct syscalls_wish *w)
{
	char *words[] = {(char *)(uintptr_t)word};
	struct err err = {};

	return syscalls_wish_parse(words, word != NULL, flight, dump_on, w, &err);
}

static void wishes(void **state)
{
	struct syscalls_wish w;

	(void)state;
	assert_int_equal(wish(NULL, NULL, NULL, &w), 0);
	assert_true(w.set.all);
	assert_int_equal(wish("openat,read", NULL, NULL, &w), 0);
	assert_false(w.set.all);
	assert_true(wanted(w.set.native, 257) && wanted(w.set.native, 0));
	assert_true(wanted(w.set.compat, 295) && wanted(w.set.compat, 3));
	assert_false(wanted(w.set.native, 1) || wanted(w.set.compat, 0));
	assert_true(wanted(w.set.ends, 59) && !wanted(w.set.any, 59));
	assert_int_equal(wish("%memory", NULL, NULL, &w), 0);
	assert_true(wanted(w.set.native, 9) && wanted(w.set.compat, 192));
	assert_int_equal(wish("%file", NULL, NULL, &w), 0);
	assert_true(wanted(w.set.native, 257) && !wanted(w.set.native, 0));
	assert_int_equal(wish("opnat", NULL, NULL, &w), -EINVAL);
	assert_int_equal(wish("", NULL, NULL, &w), -EINVAL);
	assert_int_equal(wish("read,,write", NULL, NULL, &w), -EINVAL);
	assert_int_equal(wish(NULL, "", NULL, &w), 0);
	assert_true(w.flight && w.ring_calls == 128);
	assert_int_equal(wish(NULL, "9", "slow>5ms,fail=ENOMEM,crash", &w), 0);
	assert_int_equal(w.ring_calls, 16);
	assert_int_equal(w.dump_ns, 5000000);
	assert_int_equal(w.dump_error, ENOMEM);
	assert_true(w.dump_crash && !w.dump_exit);
	assert_int_equal(wish(NULL, "0", NULL, &w), -EINVAL);
	assert_int_equal(wish(NULL, "100000", NULL, &w), -EINVAL);
	assert_int_equal(wish(NULL, NULL, "crash", &w), -EINVAL);
	assert_int_equal(wish(NULL, "", "fail=ENOSUCH", &w), -EINVAL);
	assert_int_equal(wish(NULL, "", "slow>soon", &w), -EINVAL);
}

#define COPY(c_, k_, i_, how_, what_) \
	copied(c_, k_, i_, how_, (const char *)&(what_), sizeof(what_))

static void structures(void **state)
{
	struct called c = called(61, 77, ARGS((u64)-1, 0x1000, 0, 0)); /* wait4 */
	const u64 set = 1 << 13 | 1ULL << 33, none = 0;
	const u64 action[4] = {0x4000, 0x14000000, 0x5000, 1};
	const u64 limits[2] = {8192 * 1024, UINT64_MAX};
	int status = 9 | 0x80;

	(void)state;
	COPY(&c, 0, 1, SYSCALLS_COPY_4, status);
	assert_line(&c,
		"wait4(-1, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL && WCOREDUMP(s)}], 0, "
		"NULL) = 77");
	c.call.ret = 0;
	assert_line(&c, "wait4(-1, 0x1000, 0, NULL) = 0");
	c = called(14, 0, ARGS(2, 0x1000, 0x2000, 8));
	COPY(&c, 0, 1, SYSCALLS_COPY_8, set);
	COPY(&c, 1, 2, SYSCALLS_COPY_8, none);
	assert_line(&c, "rt_sigprocmask(SIG_SETMASK, [ALRM RT_2], [], 8) = 0");
	c = called(13, 0, ARGS(2, 0x1000, 0, 8));
	COPY(&c, 0, 1, SYSCALLS_COPY_32, action);
	assert_line(&c,
		"rt_sigaction(SIGINT, {sa_handler=0x4000, sa_mask=[HUP], sa_flags=SA_RESTORER|"
		"SA_RESTART, sa_restorer=0x5000}, NULL, 8) = 0");
	c = called(302, 0, ARGS(0, 3, 0, 0x1000));
	COPY(&c, 0, 3, SYSCALLS_COPY_16, limits);
	assert_line(&c, "prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, "
			"rlim_max=RLIM64_INFINITY}) = 0");
	c.call.copied[0] = 15;
	assert_line(&c, "prlimit64(0, RLIMIT_STACK, NULL, 0x1000) = 0");
}

static void sockets(void **state)
{
	struct called c = called(42, -EINPROGRESS, ARGS(3, 0x1000, 28));
	char in6[28] = {10, 0, 0, 80, [23] = 1, [24] = 2}, un[] = {1, 0, 0, 'a', 27};
	struct syscalls_length l = {128, 5, {1, 0, '/', 's'}};

	(void)state;
	COPY(&c, 0, 1, SYSCALLS_COPY_SOCK, in6);
	assert_line(&c,
		"connect(3, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), "
		"inet_pton(AF_INET6, \"::1\", &sin6_addr), sin6_scope_id=2}, 28) = "
		"-1 EINPROGRESS (Operation now in progress)");
	COPY(&c, 0, 1, SYSCALLS_COPY_SOCK, un);
	c.call.ret = 0;
	assert_line(&c, "connect(3, {sa_family=AF_UNIX, sun_path=@\"a\\33\"}, 28) = 0");
	c.call.copied[0] = 1;
	assert_line(&c, "connect(3, 0x1000, 28) = 0");
	c = called(43, 4, ARGS(3, 0x1000, 0x2000));
	copied(&c, 0, 1, SYSCALLS_COPY_LENGTH, (const char *)&l, 8 + 5);
	assert_line(&c, "accept(3, {sa_family=AF_UNIX, sun_path=\"/s\"}, [128 => 5]) = 4");
	c.call.ret = -EINVAL;
	assert_line(&c, "accept(3, 0x1000, 0x2000) = -1 EINVAL (Invalid argument)");
	c = called(54, 0, ARGS(3, 1, 2, 0x1000, 4));
	copied(&c, 0, 3, SYSCALLS_COPY_BYTES, "\1\0\0", 4);
	assert_line(&c, "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0");
}

static void vectors(void **state)
{
	struct called c = called(20, 3, ARGS(1, 0x1000, 3));
	struct syscalls_iov v[2] = {{0x2000, 3, 3, 0, {}, "a\nb"}, {0x3000, ~0ULL, 32, 1, {}, {}}};
	struct {
		u64 words[7];
		struct syscalls_iov v;
	} msg = {{0x10, 16ULL | 128ULL << 32, 0x4000, 1, 0x20, 24, 0x40}, v[0]};

	(void)state;
	memset(v[1].data, 'x', sizeof(v[1].data));
	COPY(&c, 0, 1, SYSCALLS_COPY_IOV, v);
	assert_line(&c,
		"writev(1, [{iov_base=\"a\\nb\", iov_len=3}, {iov_base=\"xxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxx\"..., iov_len=18446744073709551615}, ...], 3) = 3");
	v[1].got = SYSCALLS_UNREAD;
	c.call.args[2] = 2;
	COPY(&c, 0, 1, SYSCALLS_COPY_IOV, v);
	assert_line(&c, "writev(1, [{iov_base=\"a\\nb\", iov_len=3}, {iov_base=0x3000, "
			"iov_len=18446744073709551615}], 2) = 3");
	c = called(47, 3, ARGS(3, 0x1000, 0));
	COPY(&c, 0, 1, SYSCALLS_COPY_MSG, msg);
	assert_line(&c,
		"recvmsg(3, {msg_name=0x10, msg_namelen=128 => 16, msg_iov=[{iov_base=\"a\\nb\", "
		"iov_len=3}], msg_iovlen=1, msg_control=0x20, msg_controllen=24, "
		"msg_flags=MSG_DONTWAIT}, 0) = 3");
	c.call.copied[0] = 40;
	assert_line(&c, "recvmsg(3, 0x1000, 0) = 3");
}

static void polls(void **state)
{
	struct called c = called(7, 1, ARGS(0x1000, 2, 0xffffffff));
	struct {
		int fd;
		s16 events, revents;
	} fds[2] = {{4, 1, 1 | 16}, {-1, 4, 0}};

	(void)state;
	COPY(&c, 0, 0, SYSCALLS_COPY_POLL, fds);
	assert_line(&c, "poll([{fd=4, events=POLLIN}, {fd=-1}], 2, -1) = 1 ([{fd=4, "
			"revents=POLLIN|POLLHUP}])");
	c.call.ret = 0;
	c.call.flags = SYSCALLS_CUT_0;
	assert_line(&c, "poll([{fd=4, events=POLLIN}, {fd=-1}, ...], 2, -1) = 0 (Timeout)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures),
		cmocka_unit_test(sockets),
		cmocka_unit_test(vectors),
		cmocka_unit_test(polls),
		cmocka_unit_test(files),
		cmocka_unit_test(as_strace),
		cmocka_unit_test(memory),
		cmocka_unit_test(waiting),
		cmocka_unit_test(processes),
		cmocka_unit_test(abis),
		cmocka_unit_test(texts_are_quoted),
		cmocka_unit_test(damaged),
		cmocka_unit_test(described),
		cmocka_unit_test(tables),
		cmocka_unit_test(wishes),
	};

	return cmocka_run_group_tests_name("syscalls_line", tests, NULL, NULL);
}
