/* See proc.h. */
#include "sys/process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "sys/root.h"
#include "sys/scan.h"

/* include/linux/sched.h (unchanged from 2.6.27 to 6.18). */
#define PF_KTHREAD 0x00200000

/* Fields of /proc/PID/stat by their number in proc(5). */
enum {
	STAT_PPID = 4,
	STAT_FLAGS = 9,
	STAT_MINFLT = 10,
	STAT_MAJFLT = 12,
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_THREADS = 20,
	STAT_STARTTIME = 22,
	STAT_VSIZE = 23,
	STAT_RSS = 24,
	STAT_END_CODE = 27,
	STAT_START_STACK = 28,
	STAT_PROCESSOR = 39,
	STAT_START_BRK = 47,
	STAT_END,
};

static int iter_open(const char *path, struct proc_iter *ret)
{
	DIR *dir = opendir(path);

	if (!dir)
		return -errno;
	ret->dir = dir;
	return 0;
}

int proc_iter_open(struct proc_iter *ret)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "/proc");

	return rc ? rc : iter_open(path, ret);
}

int proc_iter_open_tasks(int pid, struct proc_iter *ret)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "/proc/%d/task", pid);

	return rc ? rc : iter_open(path, ret);
}

bool proc_iter_next(struct proc_iter *it, int *ret_pid)
{
	struct dirent *entry;

	while ((entry = readdir(it->dir))) {
		struct scan s = scan_text(entry->d_name);
		u32 pid;

		if (!scan_u32(&s, INT_MAX, &pid) || !scan_done(&s))
			continue;
		*ret_pid = (int)pid;
		return true;
	}
	return false;
}

void proc_iter_close(struct proc_iter *it)
{
	if (it->dir)
		closedir(it->dir);
	it->dir = NULL;
}

/* The numbers after the state, by their number; signed ones are all that may be negative. */
static int stat_numbers(struct scan *s, u64 v[STAT_END])
{
	int field = STAT_PPID;

	for (; field < STAT_END; field++) {
		s64 negative;

		if (scan_u64(s, &v[field]))
			continue;
		if (!scan_s64(s, &negative))
			break;
		v[field] = 0;
	}
	return field;
}

int proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');
	struct proc_stat st = {};
	u64 v[STAT_END] = {};
	struct scan comm;
	struct scan s = scan_text(text);
	u32 pid;
	int end;

	if (!open || !close || close < open || !scan_u32(&s, INT_MAX, &pid))
		return -EINVAL;
	comm = (struct scan){open + 1, close};
	scan_copy(&comm, st.comm, sizeof(st.comm));
	s.p = close + 1;
	scan_blanks(&s);
	if (scan_done(&s))
		return -EINVAL;
	st.state = *s.p++;
	end = stat_numbers(&s, v);
	if (end <= STAT_RSS || v[STAT_PPID] > INT_MAX)
		return -EINVAL;
	st.pid = (int)pid;
	st.ppid = (int)v[STAT_PPID];
	st.processor =
		end > STAT_PROCESSOR && v[STAT_PROCESSOR] <= INT_MAX ? (int)v[STAT_PROCESSOR] : -1;
	st.is_kthread = v[STAT_FLAGS] & PF_KTHREAD;
	st.minflt = v[STAT_MINFLT];
	st.majflt = v[STAT_MAJFLT];
	st.utime_ticks = v[STAT_UTIME];
	st.stime_ticks = v[STAT_STIME];
	st.num_threads = v[STAT_THREADS];
	if (end > STAT_START_BRK) {
		st.end_code = v[STAT_END_CODE];
		st.start_stack = v[STAT_START_STACK];
		st.start_brk = v[STAT_START_BRK];
	}
	st.starttime_ticks = v[STAT_STARTTIME];
	st.vsize_bytes = v[STAT_VSIZE];
	st.rss_pages = v[STAT_RSS];
	*ret = st;
	return 0;
}

int proc_stat_read(int pid, struct proc_stat *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/%d/stat", pid);

	return rc ? rc : proc_stat_parse(str_get(&text), ret);
}

u64 proc_start_ns(const struct proc_stat *st)
{
	return clock_mono_of_boot(st->starttime_ticks * (NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK)));
}

bool proc_has_ended(int pid)
{
	struct proc_stat st;
	int rc = proc_stat_read(pid, &st);

	if (rc)
		return rc == -ENOENT || rc == -ESRCH;
	if (proc_is_headless(&st))
		return false;
	/* One that has given its memory back is about to. */
	return st.state == 'Z' || st.state == 'X' || (!st.is_kthread && !st.vsize_bytes);
}

/* PROC_PID_INIT_INO, linux/proc_ns.h */
bool proc_namespace_is_first(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == 0xEFFFFFFCU;
}

int proc_task_stat_read(int pid, int tid, struct proc_stat *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/%d/task/%d/stat", pid, tid);

	return rc ? rc : proc_stat_parse(str_get(&text), ret);
}

int proc_memory_task(int pid)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	struct proc_stat st;
	int tid;

	if (proc_stat_read(pid, &st) || st.state != 'Z' || st.num_threads < 2 ||
		proc_iter_open_tasks(pid, &it))
		return pid;
	while (proc_iter_next(&it, &tid))
		if (tid != pid && !proc_task_stat_read(pid, tid, &st) && st.vsize_bytes)
			return tid;
	return pid;
}

int proc_memory_read(int pid, const char *file, struct str *ret_text)
{
	int rc = sys_read(ret_text, "/proc/%d/%s", pid, file), task;

	if (rc ? rc != -ESRCH : ret_text->len > 0)
		return rc;
	task = proc_memory_task(pid);
	return task == pid ? rc : sys_read(ret_text, "/proc/%d/%s", task, file);
}

int proc_statm_parse(const char *text, struct proc_statm *ret)
{
	struct scan s = scan_text(text);
	struct proc_statm m;

	if (!scan_u64(&s, &m.size_pages) || !scan_u64(&s, &m.resident_pages) ||
		!scan_u64(&s, &m.shared_pages))
		return -EINVAL;
	*ret = m;
	return 0;
}

/* fs/proc/base.c, proc_pid_limits(): a name of 25 columns, then the soft limit. */
static bool limit_take(struct scan *s, u64 *ret)
{
	*ret = UINT64_MAX;
	scan_blanks(s);
	return scan_lit(s, "unlimited") || scan_u64(s, ret);
}

int proc_limit_parse(const char *text, const char *name, u64 *ret_soft, u64 *ret_hard)
{
	struct scan line;
	u64 soft, hard;

	while (scan_line(&text, &line)) {
		if (!scan_lit(&line, name))
			continue;
		if (!limit_take(&line, &soft) || !limit_take(&line, &hard))
			return -EINVAL;
		*ret_soft = soft;
		*ret_hard = hard;
		return 0;
	}
	return -EINVAL;
}

int proc_limit_read(int pid, const char *name, u64 *ret_soft, u64 *ret_hard)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/%d/limits", pid);

	return rc ? rc : proc_limit_parse(str_get(&text), name, ret_soft, ret_hard);
}

void proc_statm_read_other(int pid, struct proc_statm *ret)
{
	_cleanup_str_ struct str text = {};
	int task = proc_memory_task(pid);

	if (task != pid && !sys_read(&text, "/proc/%d/task/%d/statm", pid, task))
		proc_statm_parse(str_get(&text), ret);
}

int proc_statm_read(int pid, struct proc_statm *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/%d/statm", pid);

	if (!rc)
		rc = proc_statm_parse(str_get(&text), ret);
	if (!rc && !ret->size_pages)
		proc_statm_read_other(pid, ret);
	return rc;
}

#define STATUS_FIELD(name, member) SCAN_FIELD(name, struct proc_status, member)

static const struct scan_field status_fields[] = {
	STATUS_FIELD("Tgid", tgid),
	STATUS_FIELD("Pid", pid),
	STATUS_FIELD("PPid", ppid),
	STATUS_FIELD("Uid", uid),
	STATUS_FIELD("Threads", threads),
	STATUS_FIELD("VmSize", vm_size_bytes),
	STATUS_FIELD("VmHWM", vm_hwm_bytes),
	STATUS_FIELD("VmRSS", vm_rss_bytes),
	STATUS_FIELD("RssAnon", rss_anon_bytes),
	STATUS_FIELD("RssFile", rss_file_bytes),
	STATUS_FIELD("RssShmem", rss_shmem_bytes),
	STATUS_FIELD("VmSwap", vm_swap_bytes),
	STATUS_FIELD("VmLck", vm_lck_bytes),
	STATUS_FIELD("VmPin", vm_pin_bytes),
	STATUS_FIELD("VmPTE", vm_pte_bytes),
	STATUS_FIELD("VmData", vm_data_bytes),
	STATUS_FIELD("VmStk", vm_stk_bytes),
	STATUS_FIELD("HugetlbPages", hugetlb_bytes),
	STATUS_FIELD("CapEff", cap_eff),
	STATUS_FIELD("Seccomp", seccomp),
	STATUS_FIELD("Seccomp_filters", seccomp_filters),
};

int proc_status_parse(const char *text, struct proc_status *ret)
{
	struct proc_status st = {};
	bool has_tgid = false;
	struct scan s;

	while (scan_line(&text, &s)) {
		struct scan name;
		u64 v;

		if (!scan_until(&s, ':', &name))
			continue;
		if (scan_is(&name, "CapEff") ? !scan_hex(&s, &v) : !scan_u64(&s, &v))
			continue;
		if (scan_lit(&s, "kB") && __builtin_mul_overflow(v, 1024ULL, &v))
			continue;
		if (!scan_store(status_fields, ARRAY_SIZE(status_fields), &name, v, &st))
			continue;
		has_tgid |= scan_is(&name, "Tgid");
		st.has_mm |= scan_is(&name, "VmRSS");
	}
	if (!has_tgid)
		return -EINVAL;
	*ret = st;
	return 0;
}

int proc_status_read(int pid, struct proc_status *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/%d/status", pid), task;

	if (!rc)
		rc = proc_status_parse(str_get(&text), ret);
	if (rc || ret->has_mm || ret->threads < 2)
		return rc;
	task = proc_memory_task(pid);
	if (task == pid || sys_read(&text, "/proc/%d/task/%d/status", pid, task) ||
		proc_status_parse(str_get(&text), ret))
		return 0;
	ret->pid = ret->tgid;
	return 0;
}

static bool has_controller(struct scan list, const char *name)
{
	struct scan word;

	while (scan_until(&list, ',', &word)) {
		if (scan_is(&word, name))
			return true;
	}
	return scan_is(&list, name);
}

static bool cgroup_line(struct scan *s, struct proc_cgroup *cg)
{
	struct scan controllers;
	struct scan id;
	bool deleted;

	if (!scan_until(s, ':', &id) || !scan_until(s, ':', &controllers) || scan_done(s))
		return false;
	if (scan_is(&id, "0") && scan_done(&controllers)) {
		deleted = scan_cut_deleted(s);
		if (scan_len(s) >= sizeof(cg->v2))
			return false;
		cg->v2_deleted = deleted;
		return scan_copy(s, cg->v2, sizeof(cg->v2));
	}
	if (!has_controller(controllers, "memory") || scan_len(s) >= sizeof(cg->v1_memory))
		return false;
	return scan_copy(s, cg->v1_memory, sizeof(cg->v1_memory));
}

int proc_cgroup_parse(const char *text, struct proc_cgroup *ret)
{
	struct proc_cgroup cg = {};
	bool found = false;
	struct scan s;

	while (scan_line(&text, &s))
		found |= cgroup_line(&s, &cg);
	if (!found)
		return -EINVAL;
	*ret = cg;
	return 0;
}

int proc_cgroup_read(int pid, struct proc_cgroup *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/%d/cgroup", pid);

	return rc ? rc : proc_cgroup_parse(str_get(&text), ret);
}

int proc_comm_read(int pid, char ret[PROC_COMM_MAX])
{
	_cleanup_str_ struct str text = {};
	struct scan s;
	int rc = sys_read(&text, "/proc/%d/comm", pid);

	if (rc)
		return rc;
	s = scan_text(str_get(&text));
	if (!scan_done(&s) && s.end[-1] == '\n')
		s.end--;
	scan_copy(&s, ret, PROC_COMM_MAX);
	return 0;
}

int proc_exe_read(int pid, char ret[PATH_MAX], bool *ret_deleted)
{
	char path[PATH_MAX];
	char target[PATH_MAX];
	struct scan s;
	ssize_t n;
	int rc = sys_path(path, "/proc/%d/exe", pid), task;

	if (rc)
		return rc;
	n = readlink(path, target, sizeof(target));
	if (n < 0 && errno == ENOENT) {
		task = proc_memory_task(pid);
		if (task == pid || sys_path(path, "/proc/%d/exe", task))
			return -ENOENT;
		n = readlink(path, target, sizeof(target));
	}
	if (n < 0)
		return -errno;
	if ((size_t)n >= sizeof(target))
		return -ENAMETOOLONG;
	s = (struct scan){target, target + n};
	*ret_deleted = scan_cut_deleted(&s);
	scan_copy(&s, ret, PATH_MAX);
	return 0;
}
