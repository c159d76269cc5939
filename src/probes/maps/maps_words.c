/* See maps_words.h. */
#include "probes/maps/maps_words.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "sys/calls/flags.h"

const char *maps_call_name(u8 call)
{
	static const char *const names[MAPS_CALL_N] = {
		[MAPS_MMAP] = "mmap",
		[MAPS_MUNMAP] = "munmap",
		[MAPS_MREMAP] = "mremap",
		[MAPS_BRK] = "brk",
		[MAPS_MPROTECT] = "mprotect",
		[MAPS_PKEY_MPROTECT] = "pkey_mprotect",
		[MAPS_MADVISE] = "madvise",
		[MAPS_PROCESS_MADVISE] = "process_madvise",
		[MAPS_REMAP_FILE_PAGES] = "remap_file_pages",
		[MAPS_MEMFD_CREATE] = "memfd_create",
		[MAPS_SHMGET] = "shmget",
		[MAPS_SHMAT] = "shmat",
		[MAPS_SHMDT] = "shmdt",
		[MAPS_SHMCTL] = "shmctl",
		[MAPS_SHM_OPEN] = "shm_open",
		[MAPS_SHM_UNLINK] = "shm_unlink",
		[MAPS_MLOCK] = "mlock",
		[MAPS_MLOCK2] = "mlock2",
		[MAPS_MUNLOCK] = "munlock",
		[MAPS_MLOCKALL] = "mlockall",
		[MAPS_MUNLOCKALL] = "munlockall",
		[MAPS_FORK] = "fork",
		[MAPS_OTHER] = "another call",
	};

	return call < MAPS_CALL_N && names[call] ? names[call] : "unknown";
}

const char *maps_kind_name(u8 kind)
{
	static const char *const names[MAPS_KIND_N] = {
		[MAPS_ANON] = "anonymous",
		[MAPS_HEAP] = "heap",
		[MAPS_RESERVED] = "reserved",
		[MAPS_STACK] = "stack",
		[MAPS_FILE] = "file",
		[MAPS_FILE_SHARED] = "shared file",
		[MAPS_ANON_SHARED] = "shared anonymous",
		[MAPS_POSIX_SHM] = "POSIX shm",
		[MAPS_MEMFD] = "memfd",
		[MAPS_SYSV_SHM] = "SysV shm",
		[MAPS_HUGETLB] = "hugetlb",
		[MAPS_DEVICE] = "device",
		[MAPS_TMPFS] = "tmpfs",
	};

	return kind < MAPS_KIND_N ? names[kind] : NULL;
}

static const struct flag *detail_table(u8 call)
{
	return call == MAPS_MADVISE || call == MAPS_PROCESS_MADVISE ? madvise_advice
	       : call == MAPS_SHMCTL                                ? shmctl_commands
								    : NULL;
}

const char *maps_detail_name(struct report *r, u8 call, u32 detail)
{
	const struct flag *table = detail_table(call);
	const char *name = table ? flag_name(table, detail) : NULL;

	return !table || name ? name : report_text(r, "%d", (int)detail);
}

/* The kernel's own, which no program sees. */
static const char *restart_name(u32 error)
{
	static const char *const names[] = {"ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND",
		"ENOIOCTLCMD", "ERESTART_RESTARTBLOCK"};

	return error >= 512 && error < 512 + ARRAY_SIZE(names) ? names[error - 512] : NULL;
}

static const char *error_name(u32 error)
{
	const char *name = restart_name(error);

	return name ? name : strerrorname_np((int)error);
}

const char *maps_error_name(struct report *r, u32 error)
{
	const char *name = error ? error_name(error) : NULL;

	return !error || name ? name : report_text(r, "%u", error);
}

static const char *limit_text(struct report *r, const char *name, u64 limit)
{
	char size[UNIT_BUF];

	return report_text(r, "%s is reached: %s", name, fmt_bytes(size, limit));
}

/* What an error means where the kernel's numbers do not tell. */
static const char *error_meaning(u8 call, u32 error)
{
	bool by_address = call == MAPS_MADVISE || call == MAPS_MPROTECT || call == MAPS_MUNMAP ||
			  call == MAPS_PKEY_MPROTECT || call == MAPS_MLOCK || call == MAPS_MLOCK2 ||
			  call == MAPS_MUNLOCK || call == MAPS_MREMAP;

	if (error == ENOMEM && by_address)
		return "a part of the range is not mapped";
	if (error == EINVAL && call == MAPS_MADVISE)
		return "advice that the kernel or the mapping does not take";
	if (error == EINVAL && call == MAPS_SHMDT)
		return "no segment is attached there";
	if (error == EINVAL && call == MAPS_SHMGET)
		return "size below SHMMIN, beyond kernel.shmmax or the segment's";
	if (error == ENOSPC && call == MAPS_SHMGET)
		return "kernel.shmmni segments, or kernel.shmall pages";
	if (error == EFAULT && call == MAPS_MREMAP)
		return "nothing, or more than one mapping, lies there";
	if (error == EEXIST && call == MAPS_MMAP)
		return "MAP_FIXED_NOREPLACE, and something is mapped there";
	if (error == ENODEV && call == MAPS_MMAP)
		return "this file cannot be mapped";
	if (error == EACCES && call == MAPS_MMAP)
		return "the file is not open for this kind of access";
	return NULL;
}

const char *maps_why_text(struct report *r, u8 call, u32 error, u8 why, u64 limit)
{
	switch (why) {
	case MAPS_WHY_MAP_COUNT:
		return report_text(r, "vm.max_map_count is reached: %llu mappings", limit);
	case MAPS_WHY_AS:
		return limit_text(r, "RLIMIT_AS", limit);
	case MAPS_WHY_DATA:
		return limit_text(r, "RLIMIT_DATA", limit);
	case MAPS_WHY_MEMLOCK:
		return limit_text(r, "RLIMIT_MEMLOCK", limit);
	case MAPS_WHY_SIZE:
		return "larger than an address space";
	case MAPS_WHY_STRICT:
		return "strict overcommit (vm.overcommit_memory=2): CommitLimit is reached";
	case MAPS_WHY_OBVIOUS:
		return limit_text(
			r, "overcommit (vm.overcommit_memory=0): memory and swap", limit);
	case MAPS_WHY_HUGETLB:
		return "the pool has not enough free huge pages of this size";
	case MAPS_WHY_BELOW:
		return "below the start of the heap";
	case MAPS_WHY_TASKS:
		return "a limit on tasks is reached";
	case MAPS_WHY_NPROC:
		return report_text(r, "RLIMIT_NPROC is reached: %llu tasks of its user", limit);
	case MAPS_WHY_THREADS:
		return report_text(r, "kernel.threads-max is reached: %llu threads", limit);
	case MAPS_WHY_PIDS:
		return report_text(r, "kernel.pid_max is reached: %llu numbers of tasks", limit);
	}
	return error_meaning(call, error);
}

u32 maps_event_error(const struct maps_event *e)
{
	if (e->call == MAPS_BRK && e->args[0] && (s64)e->args[0] != e->result)
		return ENOMEM;
	return e->result < 0 && e->result >= -4095 ? (u32)-e->result : 0;
}

void maps_event_name(const struct maps_event *e, char ret[MAPS_NAME_LEN])
{
	snprintf(ret, MAPS_NAME_LEN, "%.*s", MAPS_NAME_LEN - 1, e->name);
}

u64 maps_event_address(const struct maps_event *e)
{
	switch (e->call) {
	case MAPS_MMAP:
	case MAPS_SHMAT:
	case MAPS_BRK:
		return maps_event_error(e) ? 0 : (u64)e->result;
	case MAPS_MUNMAP:
	case MAPS_MREMAP:
	case MAPS_MPROTECT:
	case MAPS_PKEY_MPROTECT:
	case MAPS_MADVISE:
	case MAPS_REMAP_FILE_PAGES:
	case MAPS_MLOCK:
	case MAPS_MLOCK2:
	case MAPS_MUNLOCK:
	case MAPS_SHMDT:
		return e->args[0];
	}
	return 0;
}

u64 maps_event_length(const struct maps_event *e)
{
	switch (e->call) {
	case MAPS_MREMAP:
		return e->args[2];
	case MAPS_SHMDT:
	case MAPS_SHMAT:
	case MAPS_BRK:
	case MAPS_SHMCTL:
	case MAPS_MEMFD_CREATE:
	case MAPS_SHM_OPEN:
	case MAPS_SHM_UNLINK:
	case MAPS_MLOCKALL:
	case MAPS_MUNLOCKALL:
	case MAPS_PROCESS_MADVISE:
		return 0;
	}
	return e->args[1];
}
