/* See sysctl.h. */
#include "sys/sysctl.h"

#include <errno.h>
#include <string.h>

#include "sys/root.h"

int sysctl_read_u64(const char *name, u64 *ret)
{
	char path[256];
	size_t n = strlen(name);

	if (!n || n >= sizeof(path) || strchr(name, '/') || name[0] == '.' || strstr(name, ".."))
		return -EINVAL;
	for (size_t i = 0; i <= n; i++)
		path[i] = name[i] == '.' ? '/' : name[i];
	return sys_read_u64(ret, "/proc/sys/%s", path);
}
