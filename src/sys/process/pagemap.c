/* See pagemap.h. */
#include "sys/process/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sys/root.h"

#define ENTRY_PRESENT (1ULL << 63)
#define ENTRY_SWAPPED (1ULL << 62)
#define ENTRY_FILE (1ULL << 61)      /* of a file, or shared memory */
#define ENTRY_EXCLUSIVE (1ULL << 56) /* mapped once */
#define AT_ONCE 4096                 /* entries */

enum page_state pagemap_state(u64 entry)
{
	if (entry & ENTRY_PRESENT)
		return entry & (ENTRY_FILE | ENTRY_EXCLUSIVE) ? PAGE_PRESENT : PAGE_PERHAPS;
	return entry & ENTRY_SWAPPED ? PAGE_SWAPPED : PAGE_ABSENT;
}

int pagemap_open(int pid)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "/proc/%d/pagemap", pid), fd;

	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pagemap_read(int fd, u64 address, u64 n, u8 *ret_states)
{
	u64 page = address / (u64)sysconf(_SC_PAGESIZE), entries[AT_ONCE];

	while (n) {
		u64 want = MIN(n, (u64)AT_ONCE);
		ssize_t got = pread(
			fd, entries, want * sizeof(*entries), (off_t)(page * sizeof(*entries)));

		if (got < (ssize_t)sizeof(*entries))
			return got < 0 ? -errno : -EIO;
		want = (u64)got / sizeof(*entries);
		for (u64 i = 0; i < want; i++)
			ret_states[i] = (u8)pagemap_state(entries[i]);
		ret_states += want;
		page += want;
		n -= want;
	}
	return 0;
}
