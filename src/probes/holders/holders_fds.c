/*
 * What one process has open: how many of each kind, and how much memory these hold. Pipes and
 * sockets are asked through a duplicate of the descriptor (pidfd_getfd), which changes nothing of
 * the process; of many only some are asked.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/answering.h"
#include "probes/holders/holders_inner.h"
#include "sys/process/fdlink.h"
#include "sys/process/maps.h"
#include "sys/root.h"
#include "sys/scan.h"

#define MEASURED 1024 /* pipes, and sockets, of a process that are asked */
#define TMPFS_BLOCK 512
#define PAGE 4096ULL
#define UP_TO_PAGE(bytes_) (((bytes_) + PAGE - 1) & ~(PAGE - 1))
#define PIPE_SLOT 40
#define RING_HEAD 320 /* struct io_rings, in cache lines */

struct fds {
	struct holders *s;
	struct held_process *r;
	int dir, pidfd;
	u32 pid;
	u64 unix_unread, unix_unsent;
};

/* True for the first one who has it. */
static bool inode_first(struct holders *s, u64 device, u64 inode)
{
	u64 key[2] = {device, inode};
	u8 *seen = groups_get(&s->inodes, key);
	bool first = seen && !*seen;

	if (seen)
		*seen = 1;
	return first;
}

/* A descriptor of the same open file, to be closed; -1: the process or the file is gone. */
static int fd_borrow(const struct fds *l, int number)
{
	return l->pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, l->pidfd, number, 0);
}

/* A pipe has an array with a place for each page that it can hold, which kmalloc() gives: above
 * two pages from no cache, and rounded up (pipe_resize_ring(), fs/pipe.c; struct pipe_buffer). */
static u64 slots_bytes(int fd)
{
	int size = fcntl(fd, F_GETPIPE_SZ);
	u64 bytes = size > 0 ? (u64)size / PAGE * PIPE_SLOT : 0, block = 4 * PAGE;

	if (bytes <= 2 * PAGE)
		return 0;
	while (block < bytes)
		block *= 2;
	return block;
}

static void pipe_look(struct fds *l, int number, u64 inode)
{
	_cleanup_close_ int fd = -1;
	int n;

	if (!inode_first(l->s, 0, inode))
		return;
	l->r->pipes++;
	if (l->r->pipes_measured >= MEASURED)
		return;
	fd = fd_borrow(l, number);
	if (fd < 0 || ioctl(fd, FIONREAD, &n))
		return;
	l->r->pipes_measured++;
	l->r->pipe_bytes += (u64)n;
	l->r->slots_bytes += slots_bytes(fd);
	l->s->totals.pipe_bytes += ((u64)n + PAGE - 1) / PAGE * PAGE;
}

static void peer_process(int fd, struct str *out)
{
	struct ucred cred = {};
	socklen_t n = sizeof(cred);
	_cleanup_str_ struct str label = {};

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) || cred.pid <= 0 ||
		proc_label_read((u32)cred.pid, &label))
		return;
	str_addf(out, "%s (pid %d)", str_get(&label), cred.pid);
}

/* "127.0.0.1:80": of the other side, or of this one. */
static void address_text(int fd, int (*get)(int, struct sockaddr *, socklen_t *), struct str *out)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage room;
	} a = {};
	socklen_t n = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "";

	if (get(fd, &a.any, &n))
		return;
	if (a.any.sa_family == AF_INET && inet_ntop(AF_INET, &a.in.sin_addr, text, sizeof(text)))
		str_addf(out, "%s:%u", text, ntohs(a.in.sin_port));
	if (a.any.sa_family == AF_INET6 &&
		inet_ntop(AF_INET6, &a.in6.sin6_addr, text, sizeof(text)))
		str_addf(out, "[%s]:%u", text, ntohs(a.in6.sin6_port));
}

static int own_name(int fd, struct sockaddr *a, socklen_t *n)
{
	return getsockname(fd, a, n);
}

static int peer_name(int fd, struct sockaddr *a, socklen_t *n)
{
	return getpeername(fd, a, n);
}

static void worst_take(struct fds *l, int fd, int family, u64 bytes, bool unsent)
{
	if (bytes <= l->r->worst_bytes)
		return;
	l->r->worst_bytes = bytes;
	l->r->worst_unsent = unsent;
	str_clear(&l->s->peer);
	str_clear(&l->s->local);
	if (family == AF_UNIX) {
		peer_process(fd, &l->s->peer);
		return;
	}
	address_text(fd, peer_name, &l->s->peer);
	address_text(fd, own_name, &l->s->local);
}

/* Descriptors in messages that were not received: what they are open for nobody has open. */
static u64 in_flight(const struct fds *l, int number)
{
	struct keyvals kv = {};
	char path[64];
	u64 n = 0;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", l->pid, number);
	if (!keyvals_read(path, &kv))
		n = keyvals_get_or(&kv, "scm_fds", 0); /* since 5.6 */
	keyvals_free(&kv);
	return n;
}

/* What came and was not read is charged to the receiver, but of UNIX sockets to the sender, where
 * it counts as written and not taken. */
static void socket_look(struct fds *l, int number, u64 inode)
{
	u32 mem[SK_MEMINFO_VARS] = {};
	socklen_t n = sizeof(mem), len = sizeof(int);
	_cleanup_close_ int fd = -1;
	int family = 0, waiting = 0;
	u64 unread, unsent;

	if (!inode_first(l->s, 0, inode))
		return;
	l->r->sockets++;
	if (l->r->sockets_measured >= MEASURED)
		return;
	fd = fd_borrow(l, number);
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &n))
		return;
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len);
	if (family == AF_UNIX && ioctl(fd, FIONREAD, &waiting))
		waiting = 0;
	l->r->sockets_measured++;
	l->r->packets += family == AF_PACKET;
	unread = MAX((u64)mem[SK_MEMINFO_RMEM_ALLOC] + mem[SK_MEMINFO_BACKLOG], (u64)waiting);
	unsent = MAX(mem[SK_MEMINFO_WMEM_ALLOC], mem[SK_MEMINFO_WMEM_QUEUED]);
	if (family == AF_UNIX && waiting)
		l->r->in_flight += in_flight(l, number);
	l->r->unread_bytes += unread;
	l->r->unsent_bytes += unsent;
	if (family == AF_UNIX) {
		l->unix_unread += unread;
		l->unix_unsent += unsent;
	}
	worst_take(l, fd, family, unread, false);
	worst_take(l, fd, family, unsent, true);
}

/* Files without a name: their pages stay as long as the file is open, mapped or not. */
static void memory_file_look(struct fds *l, const char *name, const char *target, bool named_tmpfs)
{
	struct stat st;
	u64 bytes;

	if (stat_known(l->dir, name, 0, &st) || !S_ISREG(st.st_mode))
		return;
	if (named_tmpfs && !holders_mount_of(l->s, st.st_dev))
		return;
	if (!inode_first(l->s, st.st_dev, st.st_ino))
		return;
	bytes = (u64)st.st_blocks * TMPFS_BLOCK;
	l->r->memfd_bytes += bytes;
	if (bytes <= l->r->unnamed_most_bytes)
		return;
	l->r->unnamed_most_bytes = bytes;
	str_clear(&l->s->unnamed);
	str_add(&l->s->unnamed, target);
}

/* Behind "SqMask:" and the like, since 5.13; 0: it is not there. */
static u64 mask_entries(const char *text, const char *name)
{
	struct scan line;
	u64 mask;

	while (scan_line(&text, &line)) {
		if (!scan_lit(&line, name))
			continue;
		return scan_lit(&line, "0x") && scan_hex(&line, &mask) ? mask + 1 : 0;
	}
	return 0;
}

/* The kernel takes pages for the entries and for the rings, which no counter has (linux/io_uring.h:
 * struct io_uring_sqe, io_uring_cqe; io_allocate_scq_urings(), io_uring/io_uring.c). */
static void ring_look(struct fds *l, const char *name)
{
	u64 submitted, completed;

	if (sys_read(&l->s->text, "/proc/%u/fdinfo/%s", l->pid, name))
		return;
	submitted = mask_entries(str_get(&l->s->text), "SqMask:");
	completed = mask_entries(str_get(&l->s->text), "CqMask:");
	if (submitted && completed)
		l->r->ring_bytes += UP_TO_PAGE(64 * submitted) +
				    UP_TO_PAGE(RING_HEAD + 4 * submitted + 16 * completed);
}

/* Rings of packet sockets and perf events are pages without a counter, too: how large they are only
 * their mappings say. */
static void mapped_look(const struct fds *l)
{
	_cleanup_maps_ struct maps maps = {};

	if ((!l->r->packets && !l->r->kinds[FD_PERF]) || maps_read((int)l->pid, &maps))
		return;
	vec_each (m, &maps.list)
		if (begins_with(m->path, "socket:[") || !strcmp(m->path, "anon_inode:[perf_event]"))
			l->r->mapped_bytes += m->end - m->start;
}

static void bpf_map_look(struct fds *l, const char *name)
{
	char process[16];

	snprintf(process, sizeof(process), "%u", l->pid);
	l->r->bpf_bytes += holders_map_look(l->s, process, name);
}

/* Each open file of it is a pseudo-terminal, wherever the devpts is mounted. */
static bool is_terminal_master(const char *target)
{
	const char *name = strrchr(target, '/');

	return name && !strcmp(name, "/ptmx");
}

/* Who has files of a tmpfs open: the one with most of them is told. */
static void named_file_look(struct fds *l, const char *target, u64 *opened)
{
	for (size_t i = 0; i < l->s->tmpfs.n; i++) {
		const struct tmpfs_mount *m = &l->s->tmpfs.v[i];
		size_t n = strlen(m->point);

		if (!strncmp(target, m->point, n) && target[n] == '/')
			opened[i]++;
	}
}

static void fd_look(struct fds *l, const char *name, u64 *opened)
{
	char target[256];
	ssize_t n = readlinkat(l->dir, name, target, sizeof(target) - 1);
	enum fd_kind kind;
	u64 inode;

	if (n <= 0)
		return;
	target[n] = '\0';
	kind = fdlink_parse(target, &inode);
	l->r->files++;
	l->r->kinds[kind]++;
	l->r->terminals += kind == FD_FILE && is_terminal_master(target);
	if (kind == FD_PIPE)
		pipe_look(l, atoi(name), inode);
	else if (kind == FD_SOCKET)
		socket_look(l, atoi(name), inode);
	else if (kind == FD_MEMFD || kind == FD_SHARED || kind == FD_DELETED)
		memory_file_look(l, name, target, kind == FD_DELETED);
	else if (kind == FD_BPF_MAP)
		bpf_map_look(l, name);
	else if (kind == FD_RING)
		ring_look(l, name);
	else if (kind == FD_FILE)
		named_file_look(l, target, opened);
}

static void opener_take(struct fds *l, const u64 *opened)
{
	for (size_t i = 0; i < l->s->tmpfs.n; i++) {
		struct tmpfs_mount *m = &l->s->tmpfs.v[i];

		if (opened[i] > m->opener_files) {
			m->opener = l->pid;
			m->opener_files = opened[i];
		}
	}
}

/* What was measured of some stands for all. */
static void scale(u64 *bytes, u64 measured, u64 all)
{
	if (measured && all > measured)
		*bytes = (u64)((double)*bytes * (double)all / (double)measured);
}

int holders_fds_look(struct holders *s, u32 pid, u64 until_ns, struct held_process *r)
{
	struct fds l = {.s = s, .r = r, .pid = pid};
	_cleanup_free_ u64 *opened = calloc(s->tmpfs.n + 1, sizeof(*opened));
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *dir;

	if (!opened)
		return -ENOMEM;
	if (sys_path(path, "/proc/%u/fd", pid))
		return 0;
	dir = opendir(path);
	if (!dir)
		return -errno;
	l.dir = dirfd(dir);
	l.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	while ((e = readdir(dir))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		if (holders_cpu() > until_ns) {
			holders_cut(s);
			break;
		}
		fd_look(&l, e->d_name, opened);
	}
	mapped_look(&l);
	opener_take(&l, opened);
	closedir(dir);
	if (l.pidfd >= 0)
		close(l.pidfd);
	scale(&r->pipe_bytes, r->pipes_measured, r->pipes);
	scale(&r->slots_bytes, r->pipes_measured, r->pipes);
	scale(&r->unread_bytes, r->sockets_measured, r->sockets);
	scale(&r->unsent_bytes, r->sockets_measured, r->sockets);
	r->twice_bytes = MIN(l.unix_unread, l.unix_unsent);
	scale(&r->twice_bytes, r->sockets_measured, r->sockets);
	return 0;
}
