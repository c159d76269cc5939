/*
 * A call in progress: which one, its arguments and result, and what is kept between entry and exit.
 * Knows nothing of its meaning.
 */
#ifndef MEMWHY_PROBES_MAPS_CALL_BPF_H
#define MEMWHY_PROBES_MAPS_CALL_BPF_H

#include "bpf/syscall.bpf.h"
#include "probes/maps/maps.h"

const volatile struct maps_config config = {};

AGG_TABLE(table, struct maps_key);

#define PAGE_SHIFT 12
#define PAGE_MASK (~((1ULL << PAGE_SHIFT) - 1))

/* uapi/asm-generic/mman*.h */
#define PROT_NONE 0
#define MAP_SHARED 0x1 /* and of MAP_SHARED_VALIDATE */
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MAP_GROWSDOWN 0x100
#define MAP_STACK 0x20000
#define MAP_HUGETLB 0x40000
#define MREMAP_DONTUNMAP 4

#define EAGAIN 11
#define ENOMEM 12

/* linux/mm_types.h, linux/sched.h */
struct mm_struct___maps {
	unsigned long total_vm, locked_vm, data_vm;
	unsigned long start_data, end_data, start_brk;
	int map_count;
} __attribute__((preserve_access_index));

struct task_struct___maps {
	struct mm_struct___maps *mm;
	struct signal_struct *signal;
} __attribute__((preserve_access_index));

static __always_inline struct mm_struct___maps *current_mm(void)
{
	struct task_struct___maps *task = (void *)bpf_get_current_task();

	return bpf_core_field_exists(task->mm) ? BPF_CORE_READ(task, mm) : 0;
}

static __always_inline u64 page_align(u64 bytes)
{
	return (bytes + ~PAGE_MASK) & PAGE_MASK;
}

struct what {
	u64 object;
	u64 limit;
	u8 kind;
	u8 why;
	u8 named; /* name was read */
	u8 reserved[5];
	char name[MAPS_NAME_LEN];
};

/* A call under way, and what is put together at its end. */
struct maps_thread {
	struct syscall_thread sys;
	u64 args[6];
	u64 pages;  /* mm->total_vm as it began */
	u64 brk;    /* mm->brk; 0: not known */
	u64 begun;  /* maps_space.begun with this call */
	u8 call;    /* enum maps_call */
	u8 running; /* it is counted in maps_space.running */
	u8 alone;   /* no other call of the process was under way as it began */
	u8 doubt;   /* its path could not be read yet: is it a shared memory object? */
	u8 skip;    /* it is no call of ours */
	u8 flags;   /* enum maps_flags */
	u16 error;
	u32 reserved;
	s64 ret, growth;
	u64 length, ns;
	struct what what;
	struct maps_key key;
};
SYSCALL_THREADS(struct maps_thread);

/* x86-64, arch/x86/entry/syscalls/syscall_64.tbl */
static __always_inline u8 call_of(u32 nr)
{
	switch (nr) {
	case 2: /* open */
	case 257:
		return MAPS_SHM_OPEN;
	case 9:
		return MAPS_MMAP;
	case 10:
		return MAPS_MPROTECT;
	case 11:
		return MAPS_MUNMAP;
	case 12:
		return MAPS_BRK;
	case 25:
		return MAPS_MREMAP;
	case 28:
		return MAPS_MADVISE;
	case 29:
		return MAPS_SHMGET;
	case 30:
		return MAPS_SHMAT;
	case 31:
		return MAPS_SHMCTL;
	case 56:  /* clone */
	case 57:  /* fork */
	case 58:  /* vfork */
	case 435: /* clone3 */
		return MAPS_FORK;
	case 67:
		return MAPS_SHMDT;
	case 87: /* unlink */
	case 263:
		return MAPS_SHM_UNLINK;
	case 149:
		return MAPS_MLOCK;
	case 150:
		return MAPS_MUNLOCK;
	case 151:
		return MAPS_MLOCKALL;
	case 152:
		return MAPS_MUNLOCKALL;
	case 216:
		return MAPS_REMAP_FILE_PAGES;
	case 319:
		return MAPS_MEMFD_CREATE;
	case 325:
		return MAPS_MLOCK2;
	case 329:
		return MAPS_PKEY_MPROTECT;
	case 440:
		return MAPS_PROCESS_MADVISE;
	}
	return MAPS_NONE;
}

/* open and unlink have no directory: their arguments are moved to where openat has them. */
static __always_inline void args_take(const struct syscall_call *call, struct maps_thread *t)
{
	syscall_args(call, t->args);
	t->call = call_of(call->nr);
	if (call->nr != 2 && call->nr != 87)
		return;
	t->args[3] = t->args[2];
	t->args[2] = t->args[1];
	t->args[1] = t->args[0];
	t->args[0] = 0;
}

static __always_inline bool takes_path(u8 call)
{
	return call == MAPS_SHM_OPEN || call == MAPS_SHM_UNLINK;
}

#define SHM_PREFIX 9 /* "/dev/shm/" */

/* 1: the path is below /dev/shm; 0: it is not; -1: its page is not in memory now. */
static __always_inline int path_is_shm(u64 path)
{
	static const char prefix[SHM_PREFIX + 1] = "/dev/shm/";
	char begin[SHM_PREFIX];

	if (bpf_probe_read_user(begin, sizeof(begin), (void *)path))
		return -1;
	for (int i = 0; i < SHM_PREFIX; i++)
		if (begin[i] != prefix[i])
			return 0;
	return 1;
}

/* A break that is refused stays where it was, and is returned without an error. */
static __always_inline void result_take(struct maps_thread *t, s64 ret)
{
	t->ret = ret;
	t->error = ret < 0 && ret >= -4095 ? (u16)-ret : 0;
	if (t->call == MAPS_BRK && t->args[0] && t->args[0] != (u64)ret)
		t->error = ENOMEM;
}

static __always_inline u64 length_of(const struct maps_thread *t)
{
	switch (t->call) {
	case MAPS_MREMAP:
		return page_align(t->args[2]);
	case MAPS_MMAP:
	case MAPS_MUNMAP:
	case MAPS_MPROTECT:
	case MAPS_PKEY_MPROTECT:
	case MAPS_MADVISE:
	case MAPS_REMAP_FILE_PAGES:
	case MAPS_MLOCK:
	case MAPS_MLOCK2:
	case MAPS_MUNLOCK:
	case MAPS_SHMGET:
		return page_align(t->args[1]);
	case MAPS_PROCESS_MADVISE:
		return t->error ? 0 : (u64)t->ret;
	}
	return 0;
}

/* The call names mapped memory by its address, the first argument. */
static __always_inline bool has_address(u8 call)
{
	return call == MAPS_MUNMAP || call == MAPS_MREMAP || call == MAPS_MPROTECT ||
	       call == MAPS_PKEY_MPROTECT || call == MAPS_MADVISE ||
	       call == MAPS_REMAP_FILE_PAGES || call == MAPS_MLOCK || call == MAPS_MLOCK2 ||
	       call == MAPS_MUNLOCK || call == MAPS_SHMDT;
}

#endif
