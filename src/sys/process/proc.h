/*
 * One process as /proc shows it: who it is, its memory totals, its cgroups. Owns the formats of
 * /proc/PID/{stat,statm,status,cgroup,cmdline}; mappings are in maps.h and numa_maps.h.
 *
 * The parsers take the text of the file. The readers return -ENOENT or -ESRCH when the process
 * is gone, -EACCES or -EPERM when it is not ours to see. Sizes in pages are pages of
 * sysconf(_SC_PAGESIZE); times in ticks are 1/sysconf(_SC_CLK_TCK) s.
 */
#ifndef MEMWHY_SYS_PROC_H
#define MEMWHY_SYS_PROC_H

#include <dirent.h>
#include <limits.h>

#include "base/str.h"

/* A task's comm has 16 bytes; /proc appends a kworker's work to it, up to 64. */
#define PROC_COMM_MAX 64

/* Walks the process ids in /proc, or the thread ids of a process. No allocation per entry. */
struct proc_iter {
	DIR *dir;
};

#define _cleanup_proc_iter_ _cleanup_(proc_iter_close)

int proc_iter_open(struct proc_iter *ret);
int proc_iter_open_tasks(int pid, struct proc_iter *ret);
/* False at the end. */
bool proc_iter_next(struct proc_iter *it, int *ret_pid);
void proc_iter_close(struct proc_iter *it);

struct proc_stat {
	int pid;
	int ppid;
	int processor; /* the one it last ran on; -1 where the line ends before it */
	char state;    /* R S D T t Z X I P */
	bool is_kthread;
	char comm[PROC_COMM_MAX]; /* raw: may hold parentheses, newlines, escape characters */
	u64 minflt;               /* minor faults, without those of waited-for children */
	u64 majflt;
	u64 utime_ticks;
	u64 stime_ticks;
	u64 starttime_ticks; /* of CLOCK_BOOTTIME: with the pid, the identity of a process */
	u64 num_threads;
	u64 vsize_bytes;
	u64 rss_pages;
	/* Where its address space has these: 0 or 1 where they are not ours to see. */
	u64 end_code, start_stack, start_brk;
};

/* -EINVAL when the line does not reach rss. Any comm is understood: it ends at the line's last
 * closing parenthesis. */
int proc_stat_parse(const char *text, struct proc_stat *ret);
int proc_stat_read(int pid, struct proc_stat *ret);
/* When it began, on CLOCK_MONOTONIC as the times of records are; never 0. */
u64 proc_start_ns(const struct proc_stat *st);
/* Has its first thread ended, and do others run on? It looks like a zombie. */
static inline bool proc_is_headless(const struct proc_stat *st)
{
	return st->state == 'Z' && st->num_threads > 1;
}
/* Has it ended, even if its parent has not yet asked for its status? */
bool proc_has_ended(int pid);
/* Are we in the first pid namespace, whose ids BPF programs see? There all processes are seen. */
bool proc_namespace_is_first(void);
/* One thread: its own faults and times, the process's sizes. */
int proc_task_stat_read(int pid, int tid, struct proc_stat *ret);
/*
 * A thread through which the memory of a process can be read: the process itself, but where its
 * first thread has ended and others run on. What /proc/PID says of memory is then nothing, as of a
 * zombie. proc_statm_read(), proc_status_read(), proc_exe_read(), maps_read(), numa_maps_read() and
 * those of smaps.h ask for it themselves, and only where /proc/PID said nothing; for pagemap.h,
 * outside.h and huge_waste.h the caller does.
 */
int proc_memory_task(int pid);
/* A file of /proc/PID that such a thread has too, and which is empty where there is no memory:
 * maps, smaps. -ESRCH, or 0 and nothing: a process of the kernel, or a zombie. */
int proc_memory_read(int pid, const char *file, struct str *ret_text);

struct proc_statm {
	u64 size_pages;
	u64 resident_pages;
	u64 shared_pages; /* resident file and shmem pages */
};

/* The soft and the hard limit of one line of /proc/PID/limits ("Max open files"); UINT64_MAX: there
 * is none. */
int proc_limit_parse(const char *text, const char *name, u64 *ret_soft, u64 *ret_hard);
int proc_limit_read(int pid, const char *name, u64 *ret_soft, u64 *ret_hard);
#define PROC_LIMIT_SPACE "Max address space"

int proc_statm_parse(const char *text, struct proc_statm *ret);
int proc_statm_read(int pid, struct proc_statm *ret);
/* Where /proc/PID/statm had no pages: what another thread's says, if its first one has ended. */
void proc_statm_read_other(int pid, struct proc_statm *ret);

/* Resident anonymous pages: task_statm() (fs/proc/task_mmu.c, 6.18) adds them to the shared
 * ones to make resident. The two are summed per cpu without a lock, hence the guard. */
static inline u64 proc_statm_anon_pages(const struct proc_statm *m)
{
	return m->resident_pages > m->shared_pages ? m->resident_pages - m->shared_pages : 0;
}

struct proc_status {
	u32 tgid;
	u32 pid;
	u32 ppid;
	u32 uid;     /* the real one */
	bool has_mm; /* false for kernel threads and zombies: all sizes are 0 then */
	u64 threads;
	u64 vm_size_bytes;
	u64 vm_hwm_bytes;
	u64 vm_rss_bytes;
	u64 rss_anon_bytes;
	u64 rss_file_bytes;
	u64 rss_shmem_bytes;
	u64 vm_swap_bytes; /* anonymous only, not shmem in swap */
	u64 vm_lck_bytes;
	u64 vm_pin_bytes; /* kept in place for devices and io_uring */
	u64 vm_pte_bytes;
	u64 vm_data_bytes; /* private and writable, touched or not; the stack is not in it */
	u64 vm_stk_bytes;  /* the stack of the first thread */
	u64 hugetlb_bytes;
	u64 cap_eff;         /* bits as in linux/capability.h */
	u32 seccomp;         /* mode of the main thread: 0 none, 1 strict, 2 with filters */
	u32 seccomp_filters; /* since 5.9 */
};

/* Lines that are missing leave 0. -EINVAL without a Tgid line. */
int proc_status_parse(const char *text, struct proc_status *ret);
int proc_status_read(int pid, struct proc_status *ret);
/* How many seccomp filters a process has; at least, where the kernel does not count them. */
static inline u32 proc_status_filters(const struct proc_status *s)
{
	return s->seccomp_filters ? s->seccomp_filters : s->seccomp > 0;
}

/* Which cgroups a process is in; "" where it has no such line. As in the file: relative to the
 * root of the reader's cgroup namespace, and so possibly starting with "/..". */
struct proc_cgroup {
	char v2[PATH_MAX];        /* the line 0:: */
	char v1_memory[PATH_MAX]; /* the line of the memory controller */
	bool v2_deleted;          /* the cgroup was removed: the kernel's " (deleted)" is cut off */
};

/* -EINVAL when there is neither line. Paths of PATH_MAX or more are skipped. */
int proc_cgroup_parse(const char *text, struct proc_cgroup *ret);
int proc_cgroup_read(int pid, struct proc_cgroup *ret);

/* The name of a process or thread, without the newline that the file adds. Raw, as in stat. */
int proc_comm_read(int pid, char ret[PROC_COMM_MAX]);
/* Where its program is; *ret_deleted when it was replaced or removed since. -ENOENT also for
 * kernel threads. */
int proc_exe_read(int pid, char ret[PATH_MAX], bool *ret_deleted);
/* Is it the name of an interpreter? */
bool proc_runs_program(const char *comm);
/* May proc_program_name() have something to say of a process of this name? */
bool proc_may_have_program(const char *comm);
/*
 * What people know a process by, where its name is that of an interpreter: the name, and the
 * script, class or module it runs, without directories ("python3 worker.py", "java -jar
 * server.jar"); or the whole of a name that the kernel has cut. buf: the n bytes of cmdline. False:
 * it is neither, or runs nothing that has a name.
 */
bool proc_program_name(const char *comm, const char *buf, size_t n, struct str *out);
/* That, else its name. out is cleared first, and stays empty where the process is gone (-errno). */
int proc_label_read(u32 pid, struct str *out);
/* What the command line of Java or V8 allows its heap: its own options, not the program's.
 * Arguments as in proc_program_name(). 0: it does not say. */
u64 proc_heap_limit(const char *comm, const char *buf, size_t n);
/* The same of its environment (JAVA_TOOL_OPTIONS and the like), which a command line overrides. */
u64 proc_heap_limit_environ(const char *comm, const char *buf, size_t n);
/* GOMEMLIMIT of an environment: a Go program collects more often from there on. */
u64 proc_heap_limit_go(const char *buf, size_t n);
/* CPU time of its threads that do nothing but collect garbage. 0: it has none that are known, or
 * they did not run. */
u64 proc_collector_ticks(const char *comm, int pid);

#endif
