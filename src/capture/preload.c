/* See preload.h. */
#include "capture/preload.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sys/process/proc.h"
#include "tracker/ring.h"

static int random_hex(char *to, size_t digits)
{
	static const char hex[] = "0123456789abcdef";
	u8 random[sizeof(struct track_tokens)];

	if (digits > sizeof(random) || getrandom(random, digits, 0) != (ssize_t)digits)
		return -EIO;
	for (size_t i = 0; i < digits; i++)
		to[i] = hex[random[i] & 15];
	return 0;
}

/* A name in no file system; it is no secret. */
static int socket_open(struct preload *p, char name[TRACK_NAME_MAX])
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char random[17] = "";
	socklen_t length;
	int rc = random_hex(random, sizeof(random) - 1);

	rc = rc ? rc : random_hex(p->tokens.ask, sizeof(p->tokens.ask));
	rc = rc ? rc : random_hex(p->tokens.answer, sizeof(p->tokens.answer));
	if (rc)
		return rc;
	snprintf(name, TRACK_NAME_MAX, "memwhy-%d-%s", (int)getpid(), random);
	memcpy(at.sun_path + 1, name, strlen(name));
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	p->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->socket < 0 || bind(p->socket, (struct sockaddr *)&at, length) ||
		listen(p->socket, 1024))
		return -errno;
	return 0;
}

/* library: NULL where none is to be loaded. */
static int environment_set(struct preload *p, const char *library, const char *name)
{
	const char *old = getenv("LD_PRELOAD");
	_cleanup_free_ char *both = NULL;
	struct proc_status status;
	char value[TRACK_ENV_MAX];

	p->old = old ? strdup(old) : NULL;
	if ((old && !p->old) || asprintf(&both, "%s%s%s", library ? library : "",
					library && old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	/* The command has the filters that memwhy has now. */
	if (proc_status_read((int)getpid(), &status))
		return -ENOMEM;
	snprintf(value, sizeof(value), "%s:%.*s%.*s:%u", name, TRACK_TOKEN, p->tokens.ask,
		TRACK_TOKEN, p->tokens.answer, proc_status_filters(&status));
	if ((library && setenv("LD_PRELOAD", both, 1)) || setenv(TRACK_ENV, value, 1))
		return -ENOMEM;
	return 0;
}

int preload_open(struct preload *p, bool loads, struct err *err)
{
	char name[TRACK_NAME_MAX];
	int rc;

	*p = (struct preload){.socket = -1, .open = true};
	rc = preload_file_open(&p->file, err);
	if (!rc) {
		rc = socket_open(p, name);
		rc = rc ? rc : environment_set(p, loads ? p->file.path : NULL, name);
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
