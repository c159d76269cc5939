/*
 * See flags.h. The values are those of the kernel's uapi headers (asm-generic/mman-common.h,
 * mman.h, linux/mman.h, memfd.h, shm.h, ipc.h, as of 6.18), written out: those of the C library
 * that this is built with are older.
 */
#include "sys/calls/flags.h"

#include <stddef.h>

/* clang-format off */
const struct flag prot_flags[] = {
	FLAG_VALUE(PROT_NONE, 0), FLAG_BIT(PROT_READ, 0x1), FLAG_BIT(PROT_WRITE, 0x2),
	FLAG_BIT(PROT_EXEC, 0x4), FLAG_BIT(PROT_SEM, 0x8), FLAG_BIT(PROT_GROWSDOWN, 0x01000000),
	FLAG_BIT(PROT_GROWSUP, 0x02000000), FLAG_END,
};

const struct flag map_flags[] = {
	{0xf, 0x1, "MAP_SHARED"}, {0xf, 0x2, "MAP_PRIVATE"}, {0xf, 0x3, "MAP_SHARED_VALIDATE"},
	{0xf, 0x8, "MAP_DROPPABLE"}, FLAG_BIT(MAP_FIXED, 0x10), FLAG_BIT(MAP_ANONYMOUS, 0x20),
	FLAG_BIT(MAP_32BIT, 0x40), FLAG_BIT(MAP_ABOVE4G, 0x80), FLAG_BIT(MAP_GROWSDOWN, 0x100),
	FLAG_BIT(MAP_DENYWRITE, 0x800), FLAG_BIT(MAP_EXECUTABLE, 0x1000),
	FLAG_BIT(MAP_LOCKED, 0x2000), FLAG_BIT(MAP_NORESERVE, 0x4000),
	FLAG_BIT(MAP_POPULATE, 0x8000), FLAG_BIT(MAP_NONBLOCK, 0x10000),
	FLAG_BIT(MAP_STACK, 0x20000), FLAG_BIT(MAP_HUGETLB, 0x40000), FLAG_BIT(MAP_SYNC, 0x80000),
	FLAG_BIT(MAP_FIXED_NOREPLACE, 0x100000),
	{0xfc000000, 21u << 26, "MAP_HUGE_2MB"}, {0xfc000000, 30u << 26, "MAP_HUGE_1GB"}, FLAG_END,
};

const struct flag mremap_flags[] = {
	FLAG_BIT(MREMAP_MAYMOVE, 1), FLAG_BIT(MREMAP_FIXED, 2), FLAG_BIT(MREMAP_DONTUNMAP, 4),
	FLAG_END,
};

const struct flag madvise_advice[] = {
	FLAG_VALUE(MADV_NORMAL, 0), FLAG_VALUE(MADV_RANDOM, 1), FLAG_VALUE(MADV_SEQUENTIAL, 2),
	FLAG_VALUE(MADV_WILLNEED, 3), FLAG_VALUE(MADV_DONTNEED, 4), FLAG_VALUE(MADV_FREE, 8),
	FLAG_VALUE(MADV_REMOVE, 9), FLAG_VALUE(MADV_DONTFORK, 10), FLAG_VALUE(MADV_DOFORK, 11),
	FLAG_VALUE(MADV_MERGEABLE, 12), FLAG_VALUE(MADV_UNMERGEABLE, 13),
	FLAG_VALUE(MADV_HUGEPAGE, 14), FLAG_VALUE(MADV_NOHUGEPAGE, 15),
	FLAG_VALUE(MADV_DONTDUMP, 16), FLAG_VALUE(MADV_DODUMP, 17),
	FLAG_VALUE(MADV_WIPEONFORK, 18), FLAG_VALUE(MADV_KEEPONFORK, 19),
	FLAG_VALUE(MADV_COLD, 20), FLAG_VALUE(MADV_PAGEOUT, 21),
	FLAG_VALUE(MADV_POPULATE_READ, 22), FLAG_VALUE(MADV_POPULATE_WRITE, 23),
	FLAG_VALUE(MADV_DONTNEED_LOCKED, 24), FLAG_VALUE(MADV_COLLAPSE, 25),
	FLAG_VALUE(MADV_HWPOISON, 100), FLAG_VALUE(MADV_SOFT_OFFLINE, 101),
	FLAG_VALUE(MADV_GUARD_INSTALL, 102), FLAG_VALUE(MADV_GUARD_REMOVE, 103), FLAG_END,
};

const struct flag memfd_flags[] = {
	FLAG_BIT(MFD_CLOEXEC, 0x1), FLAG_BIT(MFD_ALLOW_SEALING, 0x2), FLAG_BIT(MFD_HUGETLB, 0x4),
	FLAG_BIT(MFD_NOEXEC_SEAL, 0x8), FLAG_BIT(MFD_EXEC, 0x10),
	{0xfc000000, 21u << 26, "MFD_HUGE_2MB"}, {0xfc000000, 30u << 26, "MFD_HUGE_1GB"}, FLAG_END,
};

const struct flag mlock2_flags[] = {
	FLAG_BIT(MLOCK_ONFAULT, 1), FLAG_END,
};

const struct flag mlockall_flags[] = {
	FLAG_BIT(MCL_CURRENT, 1), FLAG_BIT(MCL_FUTURE, 2), FLAG_BIT(MCL_ONFAULT, 4), FLAG_END,
};

const struct flag msync_flags[] = {
	FLAG_BIT(MS_ASYNC, 1), FLAG_BIT(MS_INVALIDATE, 2), FLAG_BIT(MS_SYNC, 4), FLAG_END,
};

const struct flag shmget_flags[] = {
	FLAG_BIT(IPC_CREAT, 01000), FLAG_BIT(IPC_EXCL, 02000), FLAG_BIT(SHM_HUGETLB, 04000),
	FLAG_BIT(SHM_NORESERVE, 010000), {0xfc000000, 21u << 26, "SHM_HUGE_2MB"},
	{0xfc000000, 30u << 26, "SHM_HUGE_1GB"}, FLAG_END,
};

const struct flag shmat_flags[] = {
	FLAG_BIT(SHM_RDONLY, 010000), FLAG_BIT(SHM_RND, 020000), FLAG_BIT(SHM_REMAP, 040000),
	FLAG_BIT(SHM_EXEC, 0100000), FLAG_END,
};

const struct flag shmctl_commands[] = {
	FLAG_VALUE(IPC_RMID, 0), FLAG_VALUE(IPC_SET, 1), FLAG_VALUE(IPC_STAT, 2),
	FLAG_VALUE(IPC_INFO, 3), FLAG_VALUE(SHM_LOCK, 11), FLAG_VALUE(SHM_UNLOCK, 12),
	FLAG_VALUE(SHM_STAT, 13), FLAG_VALUE(SHM_INFO, 14), FLAG_VALUE(SHM_STAT_ANY, 15), FLAG_END,
};
/* clang-format on */

/* Not of a bit alone: beside it a field of several values may have a name for zero (O_RDONLY). */
static const char *whole_name(const struct flag *table, u64 value)
{
	for (const struct flag *f = table; f->name; f++)
		if (f->mask == FLAG_WHOLE && f->value == value)
			return f->name;
	return NULL;
}

void flags_add(struct str *s, const struct flag *table, u64 value)
{
	const char *name = whole_name(table, value);
	const char *between = "";

	if (name) {
		str_add(s, name);
		return;
	}
	for (const struct flag *f = table; f->name; f++) {
		if (f->mask == FLAG_WHOLE || (value & f->mask) != f->value)
			continue;
		str_addf(s, "%s%s", between, f->name);
		between = "|";
		value &= ~f->mask;
	}
	if (value)
		str_addf(s, "%s0x%llx", between, (unsigned long long)value);
	else if (!between[0])
		str_add(s, "0");
}

const char *flag_name(const struct flag *table, u64 value)
{
	for (const struct flag *f = table; f->name; f++)
		if ((value & f->mask) == f->value && (value & ~f->mask) == 0)
			return f->name;
	return NULL;
}
