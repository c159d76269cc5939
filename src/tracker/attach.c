/* See attach.h. */
#include "tracker/attach.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tracker/forbid.h"

#define ENVIRON "/proc/self/environ"
#define NAME_MAX_ 100
#define WAIT_SECONDS 2 /* for memwhy to answer: it may be stopped */

/* Libc's environ is not there yet when the loader asks for memory: the kernel's copy is. Finds the
 * variable while reading on, since the environment may be large. */
static u32 env_find(char name[NAME_MAX_])
{
	static const char wanted[] = TRACK_ENV "=";
	long fd = call(SYS_openat, AT_FDCWD, ENVIRON, O_RDONLY | O_CLOEXEC), n;
	u32 matched = 0, length = 0;
	int skip = 0, done = 0;
	char part[512];

	while (fd >= 0 && !done && (n = call(SYS_read, fd, part, sizeof(part))) > 0)
		for (long i = 0; i < n && !done; i++) {
			char c = part[i];

			if (matched == sizeof(wanted) - 1) {
				done = !c;
				if (c && length < NAME_MAX_)
					name[length++] = c;
			} else if (!c) {
				matched = 0;
				skip = 0;
			} else if (!skip && c == wanted[matched]) {
				matched++;
			} else {
				skip = 1;
			}
		}
	if (fd >= 0)
		call(SYS_close, fd);
	return length < NAME_MAX_ ? length : 0;
}

static char socket_name[NAME_MAX_];
static u32 socket_length;

/* A filter that memwhy does not have itself was installed on the way to this program, and may not
 * allow what is needed to ask for a file. */
int attach_prepare(void)
{
	u32 length = env_find(socket_name), i = 0;
	int filters = 0;

	while (i < length && socket_name[i] != TRACK_ENV_FILTERS)
		i++;
	socket_length = i;
	for (i++; i < length; i++)
		filters = 10 * filters + socket_name[i] - '0';
	return socket_length && filters_count() == filters;
}

static long socket_open(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct {
		s64 sec, usec;
	} wait = {WAIT_SECONDS, 0};
	long fd = call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	for (u32 i = 0; i < socket_length; i++)
		at.sun_path[1 + i] =
			socket_name[i]; /* a NUL first: it has no place in the file system */
	call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	call(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (call(SYS_connect, fd, &at,
		    offsetof(struct sockaddr_un, sun_path) + 1 + socket_length)) {
		call(SYS_close, fd);
		return -1;
	}
	return fd;
}

static int file_receive(long fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	u64 version = 0;
	struct iovec data = {&version, sizeof(version)};
	struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int file = -1;

	if (call(SYS_recvmsg, fd, &m, MSG_CMSG_CLOEXEC) != sizeof(version))
		return -1;
	if (m.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS)
		memcpy(&file, CMSG_DATA(&control.head), sizeof(file));
	return file;
}

/* With a limit on its address space the program needs what it has for itself. */
static int space_is_short(void)
{
	struct rlimit limit = {};

	return !call(SYS_getrlimit, RLIMIT_AS, &limit) && limit.rlim_cur / 8 < TRACK_FILE_BYTES;
}

static struct track_head *file_map(int file)
{
	struct track_head *head;
	long at = call(SYS_mmap, 0, TRACK_FILE_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, file, 0);

	if (at < 0)
		return NULL;
	call(SYS_madvise, at, TRACK_FILE_BYTES, MADV_DONTDUMP); /* a core file is the program's */
	head = (struct track_head *)at;
	if (head->magic == TRACK_MAGIC && head->version == TRACK_VERSION)
		return head;
	call(SYS_munmap, at, TRACK_FILE_BYTES);
	return NULL;
}

struct track_head *attach_file(void)
{
	struct track_head *head = NULL;
	long fd = socket_open();
	int file;

	if (fd < 0)
		return NULL;
	file = file_receive(fd);
	if (file >= 0) {
		head = space_is_short() ? NULL : file_map(file);
		call(SYS_close, file);
	}
	call(SYS_close, fd);
	return head;
}
