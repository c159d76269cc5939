/* See attach.h. */
#include "tracker/join.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tracker/forbid.h"

#define ENVIRON "/proc/self/environ"
/* For memwhy to answer: a little, then whether it is stopped is asked, then more. */
#define WAIT_FIRST_US 4000
#define WAIT_US 50000
#define WAIT_TIMES 40

/* Libc's environ is not there yet when the loader asks for memory: the kernel's copy is. Finds the
 * variable while reading on, since the environment may be large. */
static u32 env_find(char value[TRACK_ENV_MAX])
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
				if (c && length < TRACK_ENV_MAX)
					value[length] = c;
				length += !done;
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
	return done && length <= TRACK_ENV_MAX ? length : 0;
}

static char socket_name[TRACK_ENV_MAX];
static u32 socket_length;
static struct track_tokens tokens;

/* A filter that memwhy does not have itself was installed on the way to this program, and may not
 * allow what is needed to ask for a file. */
int attach_prepare(void)
{
	u32 length = env_find(socket_name), i = 0;
	int filters = 0;

	while (i < length && socket_name[i] != ':')
		i++;
	socket_length = i++;
	if (!socket_length || socket_length > TRACK_NAME_MAX || length < i + sizeof(tokens) + 2)
		return 0;
	memcpy(&tokens, socket_name + i, sizeof(tokens));
	for (i += sizeof(tokens) + 1; i < length; i++)
		filters = 10 * filters + socket_name[i] - '0';
	calls_forbidden |= filters_count() != filters;
	return !calls_forbidden;
}

/* Is it stopped, or followed by a debugger? As /proc/PID/stat says behind the name, which is in
 * parentheses. Its number is the second part of the socket's name; in a pid namespace it may be
 * another's or nobody's, then it is waited for. */
static int memwhy_is_stopped(void)
{
	char path[32] = "/proc/", text[512];
	u32 n = 6, i = 0;
	long fd, got;

	while (i < socket_length && socket_name[i] != '-')
		i++;
	for (i++; i < socket_length && n < 20 && socket_name[i] != '-'; i++)
		path[n++] = socket_name[i];
	for (const char *c = "/stat"; *c; c++)
		path[n++] = *c;
	fd = call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : call(SYS_read, fd, text, sizeof(text));
	if (fd >= 0)
		call(SYS_close, fd);
	for (got -= 3; got > 0; got--)
		if (text[got] == ')')
			return text[got + 2] == 'T' || text[got + 2] == 't';
	return 0;
}

static void socket_wait(long fd, s64 us)
{
	struct {
		s64 sec, usec;
	} wait = {0, us};

	call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	call(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

/* Is there a reason to try once more what had no answer in time? */
static int wait_again(long fd, long rc, int *tries)
{
	if ((rc != -EAGAIN && rc != -EINTR) || ++*tries > WAIT_TIMES || memwhy_is_stopped())
		return 0;
	if (*tries == 1)
		socket_wait(fd, WAIT_US);
	return 1;
}

static long socket_open(int *tries)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	long fd = call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return fd;
	for (u32 i = 0; i < socket_length; i++)
		at.sun_path[1 + i] =
			socket_name[i]; /* a NUL first: it has no place in the file system */
	socket_wait(fd, WAIT_FIRST_US);
	do
		rc = call(SYS_connect, fd, &at,
			offsetof(struct sockaddr_un, sun_path) + 1 + socket_length);
	while (wait_again(fd, rc, tries));
	if (!rc)
		return fd;
	call(SYS_close, fd);
	return -1;
}

static int token_equal(const char *a, const char *b)
{
	int other = 0;

	for (u32 i = 0; i < TRACK_TOKEN; i++)
		other |= a[i] ^ b[i];
	return !other;
}

/* -1: there is none, or not from who made the tokens. *ret_marks: as -1 before, or to be closed. */
static int file_receive(long fd, int *tries, int *ret_marks)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int[2]))];
	} control = {};
	struct track_answer answer = {};
	struct iovec data = {&answer, sizeof(answer)};
	struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int files[2] = {-1, -1};
	long n;

	if (call(SYS_sendto, fd, tokens.ask, TRACK_TOKEN, MSG_NOSIGNAL) != TRACK_TOKEN)
		return -1;
	do
		n = call(SYS_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	while (wait_again(fd, n, tries));
	if (n >= 0 && m.msg_controllen >= CMSG_LEN(sizeof(int)) &&
		control.head.cmsg_type == SCM_RIGHTS)
		memcpy(files, CMSG_DATA(&control.head),
			m.msg_controllen >= CMSG_LEN(sizeof(int[2])) ? sizeof(int[2])
								     : sizeof(int));
	if (n == sizeof(answer) && token_equal(answer.token, tokens.answer)) {
		*ret_marks = files[1];
		return files[0];
	}
	for (u32 i = 0; i < 2; i++)
		if (files[i] >= 0)
			call(SYS_close, files[i]);
	return -1;
}

static int space_is_short(void)
{
	struct rlimit limit = {};

	return !call(SYS_getrlimit, RLIMIT_AS, &limit) && limit.rlim_cur < TRACK_SPACE_LEAST;
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

static void marks_map(int marks, struct filter_at where)
{
	long at = call(SYS_mmap, 0, FILTER_BYTES, PROT_READ, MAP_SHARED, marks, 0);

	if (at <= 0 || where.row >= FILTER_ROWS)
		return;
	filter_generation = where.generation;
	filter_row = (const struct filter_row *)at + where.row;
}

struct track_head *attach_file(void)
{
	struct track_head *head = NULL;
	int file, marks = -1, tries = 0;
	long fd = socket_open(&tries);

	if (fd < 0)
		return NULL;
	file = file_receive(fd, &tries, &marks);
	if (file >= 0) {
		head = space_is_short() ? NULL : file_map(file);
		call(SYS_close, file);
	}
	if (head && marks >= 0)
		marks_map(marks, head->filters);
	if (marks >= 0)
		call(SYS_close, marks);
	call(SYS_close, fd);
	return head;
}
