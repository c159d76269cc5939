/* See comm.h. */
#include "probes/heap/collect/comm.h"

#include <fcntl.h>
#include <string.h>

#include "base/util.h"

void comm_read(u32 pid, u32 tid, char comm[COMM_LEN])
{
	char path[64], name[COMM_LEN] = "";
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid ? tid : pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
	if (n <= 0)
		return;
	name[n - (name[n - 1] == '\n')] = '\0';
	memcpy(comm, name, sizeof(name));
}
