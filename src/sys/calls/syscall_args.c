/* See syscall_args.h. A row is the call and its arguments, a word each. */
#include "sys/calls/syscall_args.h"

#include <string.h>

#include "sys/calls/syscall_flags.h"

static const struct {
	const char *word;
	u8 arg;
} words[] = {
	{"int", ARG_INT},
	{"uint", ARG_UINT},
	{"long", ARG_LONG},
	{"off", ARG_LONG},
	{"ulong", ARG_ULONG},
	{"size", ARG_ULONG},
	{"hex", ARG_HEX},
	{"oct", ARG_OCT},
	{"mode", ARG_OCT},
	{"ptr", ARG_PTR},
	{"fd", ARG_FD},
	{"at", ARG_AT},
	{"str", ARG_STR},
	{"in", ARG_IN},
	{"out", ARG_OUT},
	{"pair", ARG_PAIR},
	{"tspec", ARG_TIMESPEC},
	{"otspec", ARG_OTIMESPEC},
	{"changed", ARG_CHANGED},
	{"left", ARG_REMAINING},
	{"tval", ARG_TIMEVAL},
	{"otval", ARG_OTIMEVAL},
	{"itimer", ARG_ITIMER},
	{"oitimer", ARG_OITIMER},
	{"ispec", ARG_ITIMERSPEC},
	{"oispec", ARG_OITIMERSPEC},
	{"stamps", ARG_STAMPS},
	{"event", ARG_EVENT},
	{"events", ARG_EVENTS},
	{"poll", ARG_POLL},
	{"nodes", ARG_NODES},
	{"sigset", ARG_SIGSET},
	{"osigset", ARG_OSIGSET},
	{"sigact", ARG_SIGACTION},
	{"osigact", ARG_OSIGACTION},
	{"statbuf", ARG_STAT},
	{"statxbuf", ARG_STATX},
	{"limits", ARG_RLIMIT},
	{"olimits", ARG_ORLIMIT},
	{"lock", ARG_FLOCK},
	{"status", ARG_WSTATUS},
	{"sock", ARG_SOCKADDR},
	{"osock", ARG_OSOCKADDR},
	{"socklen", ARG_SOCKLEN},
	{"optval", ARG_OPTVAL},
	{"ooptval", ARG_OOPTVAL},
	{"level", ARG_LEVEL},
	{"option", ARG_OPTION},
	{"protocol", ARG_PROTOCOL},
	{"iov", ARG_IOV},
	{"oiov", ARG_OIOV},
	{"msghdr", ARG_MSG},
	{"omsghdr", ARG_OMSG},
	{"ioctlarg", ARG_IOCTL_ARG},
	{"clone3", ARG_CLONE3},
	{"argv", ARG_ARGV},
	{"opath", ARG_PATH_OUT},
	{"random", ARG_RANDOM},
	{"ousage", ARG_RUSAGE},
	{"ostatfs", ARG_STATFS},
	{"osysinfo", ARG_SYSINFO},
	{"ouname", ARG_UNAME},
	{"fdsets", ARG_FDSETS},
	{"fdset", ARG_FDSET},
	{"seltval", ARG_SELECT_TIMEVAL},
	{"seltspec", ARG_SELECT_TIMESPEC},
	{"mask6", ARG_SIGMASK},
	{"sig", ARG_SIGNAL},
	{"ioctl", ARG_IOCTL},
	{"clone", ARG_CLONE},
};

static const struct row {
	const char *name, *args;
} rows[] = {
	/* clang-format off */
	{"_llseek", "fd ulong ulong ptr whence"}, {"_sysctl", "ptr"},
	{"accept", "fd osock socklen"},
	{"accept4", "fd osock socklen socktype"}, {"access", "str access"}, {"acct", "str"},
	{"add_key", "str str ptr size int"}, {"adjtimex", "ptr"}, {"alarm", "uint"},
	{"arch_prctl", "archprctl hex"}, {"bind", "fd sock int"}, {"bpf", "int ptr uint"},
	{"brk", "ptr"}, {"cachestat", "fd ptr ptr hex"}, {"capget", "int int"},
	{"capset", "int int"}, {"chdir", "str"}, {"chmod", "str mode"}, {"chown", "str int int"},
	{"chown32", "str int int"}, {"chroot", "str"}, {"clock_adjtime", "clock ptr"},
	{"clock_getres", "clock otspec"}, {"clock_gettime", "clock otspec"},
	{"clock_gettime64", "clock ptr"}, {"clock_nanosleep", "clock timerflags tspec left"},
	{"clock_nanosleep_time64", "clock hex ptr ptr"}, {"clock_settime", "clock tspec"},
	{"clone", "clone ptr ptr ptr hex"}, {"clone3", "clone3 size"}, {"close", "fd"},
	{"close_range", "uint uint hex"}, {"connect", "fd sock int"},
	{"copy_file_range", "fd ptr fd ptr size hex"}, {"creat", "str mode"},
	{"delete_module", "str hex"}, {"dup", "fd"}, {"dup2", "fd fd"}, {"dup3", "fd fd fdflags"},
	{"epoll_create", "int"}, {"epoll_create1", "fdflags"}, {"epoll_ctl", "fd epoll fd event"},
	{"epoll_ctl_old", "int int int ptr"}, {"epoll_pwait", "fd events int int sigset size"},
	{"epoll_pwait2", "fd events int tspec sigset size"}, {"epoll_wait", "fd events int int"},
	{"epoll_wait_old", "int ptr int"}, {"eventfd", "uint"}, {"eventfd2", "uint efd"},
	{"execve", "str argv ptr"}, {"execveat", "at str argv ptr atflags"}, {"exit", "int"},
	{"exit_group", "int"}, {"faccessat", "at str access"},
	{"faccessat2", "at str access atflags"}, {"fadvise64", "fd off size fadvise"},
	{"fadvise64_64", "fd ulong ulong ulong ulong int"}, {"fallocate", "fd hex off off"},
	{"fanotify_init", "hex hex"}, {"fanotify_mark", "fd hex hex at str"}, {"fchdir", "fd"},
	{"fchmod", "fd mode"}, {"fchmodat", "at str mode"}, {"fchmodat2", "at str mode atflags"},
	{"fchown", "fd int int"}, {"fchown32", "fd int int"},
	{"fchownat", "at str int int atflags"}, {"fcntl", "fd fcntl lock"},
	{"fcntl64", "fd fcntl lock"}, {"fdatasync", "fd"}, {"fgetxattr", "fd str ptr size"},
	{"file_getattr", "at str ptr size hex"}, {"file_setattr", "at str ptr size hex"},
	{"finit_module", "fd str hex"}, {"flistxattr", "fd ptr size"}, {"flock", "fd flock"},
	{"fork", ""}, {"fremovexattr", "fd str"}, {"fsconfig", "fd uint str ptr int"},
	{"fsetxattr", "fd str ptr size hex"}, {"fsmount", "fd hex hex"}, {"fsopen", "str hex"},
	{"fspick", "at str hex"}, {"fstat", "fd statbuf"}, {"fstat64", "fd ptr"},
	{"fstatat64", "at str ptr atflags"}, {"fstatfs", "fd ostatfs"},
	{"fstatfs64", "fd size ptr"},
	{"fsync", "fd"}, {"ftruncate", "fd off"}, {"ftruncate64", "fd ulong ulong"},
	{"futex", "ptr futex uint tspec ptr hex"}, {"futex_requeue", "ptr hex int int"},
	{"futex_time64", "ptr futex uint ptr ptr hex"},
	{"futex_wait", "ptr hex hex hex tspec clock"}, {"futex_waitv", "ptr uint hex tspec clock"},
	{"futex_wake", "ptr hex int hex"}, {"futimesat", "at str ptr"},
	{"get_mempolicy", "ptr ptr ulong ptr getmpol"}, {"get_robust_list", "int ptr ptr"},
	{"get_thread_area", "ptr"}, {"getcpu", "ptr ptr ptr"}, {"getcwd", "opath size"},
	{"getdents", "fd ptr uint"}, {"getdents64", "fd ptr size"}, {"getegid", ""},
	{"getegid32", ""}, {"geteuid", ""}, {"geteuid32", ""}, {"getgid", ""}, {"getgid32", ""},
	{"getgroups", "int ptr"}, {"getitimer", "itimers oitimer"},
	{"getpeername", "fd osock socklen"},
	{"getpgid", "int"}, {"getpgrp", ""}, {"getpid", ""}, {"getppid", ""},
	{"getpriority", "int int"}, {"getrandom", "random size getrandom"},
	{"getresgid", "ptr ptr ptr"},
	{"getresuid", "ptr ptr ptr"}, {"getrlimit", "rlimit olimits"},
	{"getrusage", "rusage ousage"},
	{"getsid", "int"}, {"getsockname", "fd osock socklen"},
	{"getsockopt", "fd level option ooptval socklen"},
	{"gettid", ""}, {"gettimeofday", "otval ptr"}, {"getuid", ""}, {"getuid32", ""},
	{"getxattr", "str str ptr size"}, {"getxattrat", "at str hex str ptr size"},
	{"init_module", "ptr ulong str"}, {"inotify_add_watch", "fd str inotify"},
	{"inotify_init", ""}, {"inotify_init1", "fdflags"}, {"inotify_rm_watch", "fd int"},
	{"io_cancel", "hex ptr ptr"}, {"io_destroy", "hex"},
	{"io_getevents", "hex long long ptr ptr"}, {"io_pgetevents", "hex long long ptr ptr ptr"},
	{"io_setup", "uint ptr"}, {"io_submit", "hex long ptr"},
	{"io_uring_enter", "fd uint uint hex ptr size"}, {"io_uring_register", "fd uint ptr uint"},
	{"io_uring_setup", "uint ptr"}, {"ioctl", "fd ioctl ioctlarg"}, {"ioperm", "hex hex int"},
	{"iopl", "uint"}, {"ioprio_get", "int int"}, {"ioprio_set", "int int int"},
	{"kcmp", "int int int hex hex"}, {"kexec_file_load", "fd fd ulong str hex"},
	{"kexec_load", "ulong ulong ptr hex"}, {"keyctl", "int hex hex hex hex"},
	{"kill", "int sig"}, {"landlock_add_rule", "int int ptr hex"},
	{"landlock_create_ruleset", "ptr int hex"}, {"landlock_restrict_self", "int hex"},
	{"lchown", "str int int"}, {"lchown32", "str int int"}, {"lgetxattr", "str str ptr size"},
	{"link", "str str"}, {"linkat", "at str at str atflags"}, {"listen", "fd int"},
	{"listmount", "ptr ptr size hex"}, {"listns", "ptr ptr size hex"},
	{"listxattr", "str ptr size"}, {"listxattrat", "at str hex ptr size"},
	{"llistxattr", "str ptr size"}, {"lookup_dcookie", "hex ptr size"},
	{"lremovexattr", "str str"}, {"lseek", "fd off whence"},
	{"lsetxattr", "str str ptr size hex"}, {"lsm_get_self_attr", "uint ptr ptr hex"},
	{"lsm_list_modules", "ptr ptr hex"}, {"lsm_set_self_attr", "uint ptr uint hex"},
	{"lstat", "str statbuf"}, {"lstat64", "str ptr"}, {"madvise", "ptr size madvise"},
	{"map_shadow_stack", "ptr size hex"}, {"mbind", "ptr size mpol nodes ulong mbind"},
	{"membarrier", "membarrier hex"}, {"memfd_create", "str memfd"}, {"memfd_secret", "hex"},
	{"migrate_pages", "int ulong nodes ptr"}, {"mincore", "ptr size ptr"},
	{"mkdir", "str mode"}, {"mkdirat", "at str mode"}, {"mknod", "str mode hex"},
	{"mknodat", "at str mode hex"}, {"mlock", "ptr size"}, {"mlock2", "ptr size mlock2"},
	{"mlockall", "mlockall"}, {"mmap", "ptr size prot map fd hex"},
	{"mmap2", "ptr size prot map fd hex"}, {"modify_ldt", "int ptr hex"},
	{"mount", "str str str msflags ptr"}, {"mount_setattr", "at str hex ptr size"},
	{"move_mount", "at str at str hex"}, {"move_pages", "int ulong ptr ptr ptr mbind"},
	{"mprotect", "ptr size prot"}, {"mq_getsetattr", "int ptr ptr"}, {"mq_notify", "int ptr"},
	{"mq_open", "str open mode ptr"}, {"mq_timedreceive", "int ptr size ptr ptr"},
	{"mq_timedsend", "int str size uint ptr"}, {"mq_unlink", "str"},
	{"mremap", "ptr size size mremap ptr"}, {"mseal", "ptr size hex"},
	{"msgctl", "int int ptr"}, {"msgget", "hex oct"}, {"msgrcv", "int ptr size long int"},
	{"msgsnd", "int ptr size int"}, {"msync", "ptr size msync"}, {"munlock", "ptr size"},
	{"munlockall", ""}, {"munmap", "ptr size"},
	{"name_to_handle_at", "at str ptr ptr atflags"}, {"nanosleep", "tspec left"},
	{"newfstatat", "at str statbuf atflags"}, {"nfsservctl", "int ptr ptr"}, {"nice", "int"},
	{"oldfstat", "fd ptr"}, {"oldlstat", "str ptr"}, {"oldstat", "str ptr"},
	{"open", "str open mode"}, {"open_by_handle_at", "fd ptr open"},
	{"open_tree", "at str hex"}, {"open_tree_attr", "at str hex ptr size"},
	{"openat", "at str open mode"}, {"openat2", "at str ptr size"}, {"pause", ""},
	{"perf_event_open", "ptr int int int hex"}, {"personality", "hex"},
	{"pidfd_getfd", "fd int hex"}, {"pidfd_open", "int hex"},
	{"pidfd_send_signal", "fd sig ptr hex"}, {"pipe", "pair"}, {"pipe2", "pair fdflags"},
	{"pivot_root", "str str"}, {"pkey_alloc", "hex hex"}, {"pkey_free", "int"},
	{"pkey_mprotect", "ptr size prot int"}, {"poll", "poll uint int"},
	{"ppoll", "poll uint changed sigset size"}, {"ppoll_time64", "ptr uint ptr ptr size"},
	{"prctl", "prctl hex hex hex hex"}, {"pread64", "fd out size off"},
	{"preadv", "fd oiov ulong long hex"}, {"preadv2", "fd oiov ulong long hex hex"},
	{"prlimit64", "int rlimit limits olimits"}, {"process_madvise", "fd ptr size madvise hex"},
	{"process_mrelease", "fd hex"}, {"process_vm_readv", "int ptr ulong ptr ulong hex"},
	{"process_vm_writev", "int ptr hex ptr hex hex"},
	{"pselect6", "int fdsets fdset fdset seltspec mask6"},
	{"ptrace", "long long ptr hex"}, {"pwrite64", "fd in size off"},
	{"pwritev", "fd iov ulong long hex"}, {"pwritev2", "fd iov ulong long hex hex"},
	{"quotactl", "hex str int ptr"}, {"quotactl_fd", "fd uint int ptr"},
	{"read", "fd out size"}, {"readahead", "fd off size"}, {"readlink", "str out size"},
	{"readlinkat", "at str out size"}, {"readv", "fd oiov ulong"},
	{"reboot", "int int uint ptr"},
	{"recvfrom", "fd out size msg osock socklen"}, {"recvmmsg", "fd ptr uint msg tspec"},
	{"recvmmsg_time64", "fd ptr uint msg ptr"}, {"recvmsg", "fd omsghdr msg"},
	{"remap_file_pages", "ptr size prot size map"}, {"removexattr", "str str"},
	{"removexattrat", "at str hex str"}, {"rename", "str str"}, {"renameat", "at str at str"},
	{"renameat2", "at str at str rename"}, {"request_key", "str str ptr int"},
	{"restart_syscall", ""}, {"rmdir", "str"}, {"rseq", "ptr hex hex hex"},
	{"rseq_slice_yield", ""}, {"rt_sigaction", "sig sigact osigact size"},
	{"rt_sigpending", "osigset size"}, {"rt_sigprocmask", "sigmask sigset osigset size"},
	{"rt_sigqueueinfo", "int sig ptr"}, {"rt_sigreturn", ""}, {"rt_sigsuspend", "sigset size"},
	{"rt_sigtimedwait", "sigset ptr tspec size"}, {"rt_tgsigqueueinfo", "int int sig ptr"},
	{"sched_get_priority_max", "int"}, {"sched_get_priority_min", "int"},
	{"sched_getaffinity", "int uint ptr"}, {"sched_getattr", "int ptr uint hex"},
	{"sched_getparam", "int ptr"}, {"sched_getscheduler", "int"},
	{"sched_rr_get_interval", "int ptr"}, {"sched_setaffinity", "int uint ptr"},
	{"sched_setattr", "int ptr hex"}, {"sched_setparam", "int ptr"},
	{"sched_setscheduler", "int int ptr"}, {"sched_yield", ""}, {"seccomp", "uint hex ptr"},
	{"select", "int fdsets fdset fdset seltval"}, {"semctl", "int int int hex"},
	{"semget", "hex int oct"}, {"semop", "int ptr uint"}, {"semtimedop", "int ptr uint ptr"},
	{"sendfile", "fd fd ptr size"}, {"sendfile64", "fd fd ptr size"},
	{"sendmmsg", "fd ptr uint msg"}, {"sendmsg", "fd msghdr msg"},
	{"sendto", "fd in size msg sock int"}, {"set_mempolicy", "mpol nodes ulong"},
	{"set_mempolicy_home_node", "ptr size ulong hex"}, {"set_robust_list", "ptr size"},
	{"set_thread_area", "ptr"}, {"set_tid_address", "ptr"}, {"setdomainname", "str int"},
	{"setfsgid", "int"}, {"setfsuid", "int"}, {"setgid", "int"}, {"setgroups", "int ptr"},
	{"sethostname", "str int"}, {"setitimer", "itimers itimer oitimer"}, {"setns", "fd clone"},
	{"setpgid", "int int"}, {"setpriority", "int int int"}, {"setregid", "int int"},
	{"setresgid", "int int int"}, {"setresuid", "int int int"}, {"setreuid", "int int"},
	{"setrlimit", "rlimit limits"}, {"setsid", ""},
	{"setsockopt", "fd level option optval int"},
	{"settimeofday", "ptr ptr"}, {"setuid", "int"}, {"setxattr", "str str ptr size hex"},
	{"setxattrat", "at str hex str ptr size"}, {"shmat", "int ptr shmat"},
	{"shmctl", "int shmctl ptr"}, {"shmdt", "ptr"}, {"shmget", "hex size shmget"},
	{"shutdown", "fd shut"}, {"sigaltstack", "ptr ptr"}, {"signalfd", "fd sigset size"},
	{"signalfd4", "fd sigset size fdflags"}, {"sigreturn", ""},
	{"socket", "af socktype protocol"},
	{"socketpair", "af socktype protocol pair"}, {"splice", "fd ptr fd ptr size hex"},
	{"stat", "str statbuf"}, {"stat64", "str ptr"}, {"statfs", "str ostatfs"},
	{"statfs64", "str size ptr"}, {"statmount", "ptr ptr size hex"},
	{"statx", "at str statx statxmask statxbuf"}, {"swapoff", "str"}, {"swapon", "str hex"},
	{"symlink", "str str"}, {"symlinkat", "str at str"}, {"sync", ""},
	{"sync_file_range", "fd off off hex"}, {"syncfs", "fd"}, {"sysfs", "int hex hex"},
	{"sysinfo", "osysinfo"}, {"syslog", "int ptr int"}, {"tee", "fd fd size hex"},
	{"tgkill", "int int sig"}, {"time", "ptr"}, {"timer_create", "clock ptr ptr"},
	{"timer_delete", "int"}, {"timer_getoverrun", "int"}, {"timer_gettime", "int oispec"},
	{"timer_settime", "int timerflags ispec oispec"}, {"timerfd_create", "clock fdflags"},
	{"timerfd_gettime", "fd oispec"}, {"timerfd_settime", "fd tfdtimer ispec oispec"},
	{"times", "ptr"},
	{"tkill", "int sig"}, {"truncate", "str off"}, {"truncate64", "str ulong ulong"},
	{"ugetrlimit", "rlimit ptr"}, {"umask", "mode"}, {"umount2", "str umount"},
	{"uname", "ouname"},
	{"unlink", "str"}, {"unlinkat", "at str atflags"}, {"unshare", "clone"}, {"uprobe", ""},
	{"uretprobe", ""}, {"uselib", "str"}, {"userfaultfd", "fdflags"}, {"ustat", "uint ptr"},
	{"utime", "str ptr"}, {"utimensat", "at str stamps atflags"}, {"utimes", "str ptr"},
	{"vfork", ""}, {"vhangup", ""}, {"vmsplice", "fd iov ulong hex"},
	{"wait4", "int status wait ousage"}, {"waitid", "int int ptr wait ptr"},
	{"waitpid", "int status wait"}, {"write", "fd in size"}, {"writev", "fd iov ulong"},
	/* clang-format on */
};

/* Those that 32-bit programs call with other arguments than the rest. */
static const struct row compat_rows[] = {
	{"mmap", "ptr"},
	{"select", "ptr"},
	{"pread64", "fd ptr size ulong ulong"},
	{"pwrite64", "fd ptr size ulong ulong"},
	{"readahead", "fd ulong ulong size"},
	{"clone", "clone ptr ptr hex ptr"},
	{"sync_file_range", "fd ulong ulong ulong ulong hex"},
	{"fallocate", "fd hex ulong ulong ulong ulong"},
	{"preadv", "fd ptr ulong hex hex"},
	{"pwritev", "fd ptr ulong hex hex"},
};

struct parsed {
	u8 args[SYSCALL_ARGS];
};

static u8 word_arg(const char *word, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == n && !strncmp(words[i].word, word, n))
			return words[i].arg;
	return (u8)MAX(0, syscall_flags_find(word, n));
}

static struct parsed row_parse(const struct row *r)
{
	struct parsed p = {};
	u32 i = 0;

	for (const char *w = r->args; *w && i < SYSCALL_ARGS;) {
		size_t n = strcspn(w, " ");

		p.args[i++] = word_arg(w, n);
		w += n + (w[n] == ' ');
	}
	return p;
}

/* The rows are parsed once. */
static const u8 *rows_find(
	const struct row *r, size_t n, struct parsed *parsed, bool *is_parsed, const char *name)
{
	for (size_t i = 0; !*is_parsed && i < n; i++)
		parsed[i] = row_parse(&r[i]);
	*is_parsed = true;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(r[i].name, name))
			return parsed[i].args;
	return NULL;
}

static struct parsed all[ARRAY_SIZE(rows)], all_compat[ARRAY_SIZE(compat_rows)];
static bool is_parsed, is_compat_parsed;

const u8 *syscall_args_of(const char *name, bool compat)
{
	const u8 *args = compat ? rows_find(compat_rows, ARRAY_SIZE(compat_rows), all_compat,
					  &is_compat_parsed, name)
				: NULL;

	return args ? args : rows_find(rows, ARRAY_SIZE(rows), all, &is_parsed, name);
}

void syscall_args_each(void (*fn)(void *arg, const char *name, const u8 *args), void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		fn(arg, rows[i].name, syscall_args_of(rows[i].name, false));
}
