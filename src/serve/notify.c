/* See notify.h. */
#include "serve/notify.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/units.h"

int notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t n = path ? strlen(path) : 0;
	_cleanup_close_ int fd = -1;

	if (n < 2 || n >= sizeof(sun.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(sun.sun_path, path, n);
	if (path[0] == '@')
		sun.sun_path[0] = '\0'; /* an abstract name */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sun,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)))
		return -1;
	return take_fd(fd);
}

void notify_send(int fd, const char *lines)
{
	if (fd >= 0 && send(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return; /* nobody listens any more */
}

u64 notify_watchdog_ns(void)
{
	const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");
	u64 value;

	if (!usec || parse_u64(usec, 1, UINT64_MAX / 1000, &value))
		return 0;
	if (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid())
		return 0;
	return value * NSEC_PER_USEC / 2;
}
