/*
 * Calls of any kind that fail because of a limit while memory may be free: open files, watches,
 * System V identifiers, timers, a full tmpfs. Only looks at exits; a call that succeeds, as nearly
 * all do, costs one comparison. maps_why.bpf.h handles calls that map memory.
 */
#ifndef MEMWHY_PROBES_MAPS_FAILS_BPF_H
#define MEMWHY_PROBES_MAPS_FAILS_BPF_H

#include "probes/maps/maps_what.bpf.h"
#include "probes/maps/maps_why.bpf.h"

/* linux/fs.h */
struct inode___mode {
	u16 i_mode;
} __attribute__((preserve_access_index));

#define S_IFMT 0170000
#define S_IFREG 0100000
#define ENFILE 23
#define EMFILE 24
#define ENOSPC 28
#define FAIL_ERRNO_MAX 28
#define RLIMIT_NOFILE 7
#define RLIMIT_SIGPENDING 11
#define FAIL_USER32_CS 0x23

/* Which argument is the descriptor that was written to, of calls that write; -1: of no other. */
static __always_inline int fail_written(u32 nr)
{
	switch (nr) {
	case 1:   /* write */
	case 18:  /* pwrite64 */
	case 20:  /* writev */
	case 40:  /* sendfile */
	case 77:  /* ftruncate */
	case 285: /* fallocate */
	case 296: /* pwritev */
		return 0;
	case 326: /* copy_file_range */
		return 2;
	}
	return -1;
}

/* Calls that make a name: open, mkdir, link, creat, symlink, mknod, those with a directory,
 * openat2.
 */
static __always_inline bool fail_named(u32 nr)
{
	return nr == 2 || nr == 83 || (nr >= 85 && nr <= 88 && nr != 87) || nr == 133 ||
	       (nr >= 257 && nr <= 259) || nr == 265 || nr == 266 || nr == 437;
}

/* The device of the file's tmpfs, as the kernel has it; 0: another file system. */
static __always_inline u64 fail_tmpfs(u64 fd)
{
	const struct file___maps *file = current_file(fd);
	const struct super_block___maps *sb;
	const struct inode *inode;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	/* A device in a tmpfs, as /dev/full, may refuse what it likes. */
	if (BPF_CORE_READ(inode, i_sb, s_magic) != MAPS_TMPFS_MAGIC ||
		(BPF_CORE_READ((const struct inode___mode *)inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	sb = (void *)BPF_CORE_READ(inode, i_sb);
	return BPF_CORE_READ(sb, s_dev);
}

static __always_inline u8 fail_no_space(u32 nr, const struct pt_regs *regs, u64 *ret_limit)
{
	int at = fail_written(nr);

	if (nr == 254) /* inotify_add_watch */
		return MAPS_WHY_WATCHES;
	if (nr == 233) /* epoll_ctl */
		return MAPS_WHY_EPOLL;
	if (nr == 29 || nr == 64 || nr == 68) /* shmget, semget, msgget */
		return MAPS_WHY_IPC;
	if (fail_named(nr))
		return MAPS_WHY_INODES;
	if (at < 0)
		return MAPS_WHY_UNKNOWN;
	*ret_limit = fail_tmpfs(at ? regs->rdx : regs->rdi);
	return *ret_limit ? MAPS_WHY_FULL : MAPS_WHY_UNKNOWN;
}

static __always_inline u8 fail_why(u32 nr, u32 error, const struct pt_regs *regs, u64 *ret_limit)
{
	if (error == ENOSPC)
		return fail_no_space(nr, regs, ret_limit);
	if (error == ENFILE)
		return MAPS_WHY_ALL_FILES;
	if (error == EMFILE) {
		if (nr == 253 || nr == 294) /* inotify_init */
			return MAPS_WHY_INSTANCES;
		*ret_limit = rlimit_of(RLIMIT_NOFILE);
		return MAPS_WHY_FILES;
	}
	if (error == EAGAIN && nr == 222) { /* timer_create */
		*ret_limit = rlimit_of(RLIMIT_SIGPENDING);
		return MAPS_WHY_SIGNALS;
	}
	/* Buffers that io_uring pins count as locked. */
	if (error == ENOMEM && (nr == 425 || nr == 427) && !current_may_lock()) {
		*ret_limit = rlimit_of(RLIMIT_MEMLOCK);
		return MAPS_WHY_MEMLOCK;
	}
	return MAPS_WHY_UNKNOWN;
}

/* (struct pt_regs *, long ret) */
SEC("raw_tp/sys_exit")
int call_fails(struct bpf_raw_tracepoint_args *ctx)
{
	s64 ret = ctx->args[1];
	struct maps_key key = {.call = MAPS_OTHER};
	struct pt_regs regs;
	struct probe_counts *c;
	struct agg_value *v;
	u64 pid_tgid;

	if (ret >= 0 || ret < -FAIL_ERRNO_MAX)
		return 0;
	key.error = (u16)-ret;
	if (key.error != ENOSPC && key.error != EMFILE && key.error != ENFILE &&
		key.error != EAGAIN && key.error != ENOMEM)
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]) ||
		(u16)regs.cs == FAIL_USER32_CS)
		return 0;
	key.detail = (u32)regs.orig_rax;
	key.why = fail_why(key.detail, key.error, &regs, &key.object);
	pid_tgid = bpf_get_current_pid_tgid();
	if (!key.why || !scope_match(pid_tgid))
		return 0;
	c = counts();
	if (!c)
		return 0;
	c->seen++;
	key.tgid = pid_tgid >> 32;
	key.ustack = stack_take(ctx, BPF_F_USER_STACK);
	v = agg_get(&table, &key, 1);
	if (v)
		v->count++;
	return 0;
}

#endif
