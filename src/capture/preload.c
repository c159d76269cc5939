/* See preload.h. */
#include "capture/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tracker/ring.h"

#define LIBRARY "libmemwhy-track.so"

/* The library, as it was built. */
__asm__(".section .rodata\n"
	".balign 16\n"
	"track_library:\n"
	".incbin \"" TRACK_LIBRARY "\"\n"
	"track_library_end:\n"
	".byte 0\n"
	".previous\n");
extern const char track_library[], track_library_end[];

static bool file_is_ours(const char *path)
{
	size_t size = (size_t)(track_library_end - track_library);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;
	bool same;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || (size_t)st.st_size != size)
		return false;
	at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	same = !memcmp(at, track_library, size);
	munmap(at, size);
	/* The loader takes spaces and colons for separators. */
	return same && !strpbrk(path, " :");
}

const char *preload_path(void)
{
	static const char *const places[] = {"", "../lib/memwhy/"};
	static char path[PATH_MAX + sizeof(LIBRARY) + 16];
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s%s" LIBRARY, exe, places[i]);
		if (file_is_ours(path))
			return path;
	}
	return NULL;
}

static int library_open(struct preload *p, char path[PATH_MAX])
{
	size_t size = (size_t)(track_library_end - track_library), done = 0;
	const char *beside = preload_path();

	if (beside) {
		snprintf(path, PATH_MAX, "%s", beside);
		return 0;
	}
	p->library = memfd_create("memwhy-track", MFD_CLOEXEC);
	if (p->library < 0)
		return -errno;
	while (done < size) {
		ssize_t n = write(p->library, track_library + done, size - done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	snprintf(path, PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), p->library);
	return 0;
}

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
	_cleanup_free_ char *both = NULL;

	p->old = old ? strdup(old) : NULL;
	if ((old && !p->old) ||
		asprintf(&both, "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	if (setenv("LD_PRELOAD", both, 1) || setenv(TRACK_ENV, name, 1))
		return -ENOMEM;
	return 0;
}

int preload_open(struct preload *p, struct err *err)
{
	char library[PATH_MAX], name[64];
	int rc;

	*p = (struct preload){.socket = -1, .library = -1, .open = true};
	rc = library_open(p, library);
	rc = rc ? rc : socket_open(p, name);
	rc = rc ? rc : environment_set(p, library, name);
	if (!rc)
		return 0;
	preload_close(p);
	return err_errno(err, rc, "preparing the preload library");
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
	if (p->library >= 0)
		close(p->library);
	free(p->old);
	*p = (struct preload){.socket = -1, .library = -1};
}
