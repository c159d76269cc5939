/* See preload.h. */
#include "capture/preload.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sys/proc.h"
#include "tracker/ring.h"

/* A name in no file system, which nobody can guess. */
static int socket_open(struct preload *p, char name[64])
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	u64 random[2];
	socklen_t length;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(name, 64, "memwhy-%d-%016llx%016llx", (int)getpid(), random[0], random[1]);
	memcpy(at.sun_path + 1, name, strlen(name));
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	p->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->socket < 0 || bind(p->socket, (struct sockaddr *)&at, length) ||
		listen(p->socket, 1024))
		return -errno;
	return 0;
}

static int environment_set(struct preload *p, const char *library, const char *name)
{
	const char *old = getenv("LD_PRELOAD");
	_cleanup_free_ char *both = NULL, *track = NULL;
	struct proc_status status;

	p->old = old ? strdup(old) : NULL;
	if ((old && !p->old) ||
		asprintf(&both, "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	/* The command has the filters that memwhy has now. */
	if (proc_status_read((int)getpid(), &status) ||
		asprintf(&track, "%s%c%u", name, TRACK_ENV_FILTERS, proc_status_filters(&status)) <
			0)
		return -ENOMEM;
	if (setenv("LD_PRELOAD", both, 1) || setenv(TRACK_ENV, track, 1))
		return -ENOMEM;
	return 0;
}

int preload_open(struct preload *p, struct err *err)
{
	char name[64];
	int rc;

	*p = (struct preload){.socket = -1, .open = true};
	rc = preload_file_open(&p->file, err);
	if (!rc) {
		rc = socket_open(p, name);
		rc = rc ? rc : environment_set(p, p->file.path, name);
		if (rc)
			err_errno(err, rc, "preparing the preload library");
	}
	if (rc)
		preload_close(p);
	return rc;
}

void preload_started(struct preload *p)
{
	if (!p->open)
		return;
	if (p->old)
		setenv("LD_PRELOAD", p->old, 1);
	else
		unsetenv("LD_PRELOAD");
	unsetenv(TRACK_ENV);
}

void preload_close(struct preload *p)
{
	if (!p->open)
		return;
	if (p->socket >= 0)
		close(p->socket);
	preload_file_close(&p->file);
	free(p->old);
	*p = (struct preload){.socket = -1, .file.fd = -1};
}
