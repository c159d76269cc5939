/* See uprobe.h. */
#include "capture/uprobe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/util.h"
#include "sys/process/maps.h"
#include "sys/root.h"

#define STEP_CALLS 64
#define STEP_ROUNDS 4
#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/%s"

/* Of union bpf_attr for BPF_LINK_CREATE, since 6.6. */
struct uprobe_link {
	u32 prog;
	u32 target;
	u32 type;
	u32 flags;
	u64 path;
	u64 offsets;
	u64 ref_ctr_offsets;
	u64 cookies;
	u32 n;
	u32 multi_flags;
	u32 pid;
	u32 reserved;
};

int uprobe_session_open(
	int prog, const char *path, const u64 *offsets, const u64 *cookies, u32 n, pid_t pid)
{
	struct uprobe_link link = {
		.prog = (u32)prog,
		.type = UPROBE_SESSION,
		.path = (u64)(uintptr_t)path,
		.offsets = (u64)(uintptr_t)offsets,
		.cookies = (u64)(uintptr_t)cookies,
		.n = n,
		.pid = (u32)pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));

	return fd < 0 ? -errno : fd;
}

/* Where a function of our own is in our own file. */
static int own_offset(u64 address, u64 *ret)
{
	_cleanup_maps_ struct maps maps = {};
	int rc = maps_read(getpid(), &maps);
	const struct mapping *m = rc ? NULL : maps_find(&maps, address);

	if (!m)
		return rc ? rc : -ENOENT;
	*ret = address - m->start + m->offset;
	return 0;
}

int uprobe_can_sessions(void)
{
	static int can = -1;
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = UPROBE_SESSION);
	u64 offset, cookie = 0;
	int prog, link;

	if (can >= 0)
		return can;
	can = 0;
	prog = bpf_prog_load(
		BPF_PROG_TYPE_KPROBE, "memwhy_session", "GPL", insns, ARRAY_SIZE(insns), &opts);
	if (prog < 0)
		return can;
	link = own_offset((u64)(uintptr_t)uprobe_can_sessions, &offset)
		       ? -1
		       : uprobe_session_open(prog, "/proc/self/exe", &offset, &cookie, 1, getpid());
	can = link >= 0;
	if (link >= 0)
		close(link);
	close(prog);
	return can;
}

/* The number of the kernel's kind of event, and the bit of config that makes it one of returns. */
static int pmu_read(u64 *ret_type, u64 *ret_returns)
{
	_cleanup_str_ struct str bit = {};
	int rc = sys_read_u64(ret_type, UPROBE_PMU, "type");
	const char *colon;

	rc = rc ? rc : sys_read(&bit, UPROBE_PMU, "format/retprobe"); /* "config:0" */
	if (rc)
		return rc;
	colon = strchr(str_get(&bit), ':');
	*ret_returns = 1ULL << (colon ? strtoul(colon + 1, NULL, 10) & 63 : 0);
	return 0;
}

/* Counts, and runs no program. */
static int counter_open(const char *path, u64 offset, int returns, pid_t pid)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	u64 type, bit;
	int rc = pmu_read(&type, &bit), fd;

	if (rc)
		return rc;
	attr.type = (u32)type;
	attr.config = returns ? bit : 0;
	attr.config1 = (u64)(uintptr_t)path;
	attr.config2 = offset;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Its first instruction is one that no kernel emulates. */
__attribute__((naked, noinline)) static void stepped(void)
{
	__asm__ volatile("test %rdi, %rdi\n\tret");
}

static u64 calls_take(void (*volatile function)(void))
{
	u64 begin = clock_mono_ns();

	for (int i = 0; i < STEP_CALLS; i++)
		function();
	return clock_mono_ns() - begin;
}

int uprobe_step_cost(u64 *ret_ns)
{
	u64 bare = calls_take(stepped), offset, best = UINT64_MAX;
	int rc = own_offset((u64)(uintptr_t)stepped, &offset);
	_cleanup_close_ int fd = rc ? rc : counter_open("/proc/self/exe", offset, 0, 0);

	if (fd < 0)
		return fd;
	for (int i = 0; i < STEP_ROUNDS; i++)
		best = MIN(best, calls_take(stepped));
	*ret_ns = (best - MIN(best, bare)) / STEP_CALLS;
	return 0;
}

int uprobe_open(int prog, const char *path, u64 offset, int returns, pid_t pid)
{
	int fd = counter_open(path, offset, returns, pid), rc;

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}
