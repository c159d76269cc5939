/* See preload_file.h. */
#include "capture/preload_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "capture/embedded.h"
#include "capture/preload_check.h"
#include "sys/process/proc.h"

#define LIBRARY "libmemwhy-track"
#define DIRECTORY "memwhy"
#define HALF_SECONDS 60 /* no memwhy writes for so long */
#define TRIES 32        /* another memwhy may remove it in between */

/* The library, as it was built: unpacked once, by who first asks for it. */
static struct {
	void *data;
	size_t size;
} library;

/* -ENOMEM, -EBADMSG: memwhy's own file is damaged. */
static int library_unpack(void)
{
	return library.data ? 0
			    : embedded_unpack(embedded_find(EMBEDDED_TRACKER), &library.data,
				      &library.size);
}

/* FNV-1a: for a name, not for trust. */
static u64 library_hash(void)
{
	const u8 *c = library.data;
	u64 hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < library.size; i++)
		hash = (hash ^ c[i]) * 0x100000001b3ULL;
	return hash;
}

static bool content_is_ours(int fd)
{
	struct stat st;
	void *at;
	bool same;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (size_t)st.st_size != library.size)
		return false;
	at = mmap(NULL, library.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	same = !memcmp(at, library.data, library.size);
	munmap(at, library.size);
	return same;
}

static bool part_is_safe(const char *path, uid_t user)
{
	struct stat st;
	mode_t all;

	if (lstat(path, &st) || (st.st_uid && st.st_uid != user) ||
		st.st_mode & (S_IWGRP | S_IWOTH) || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
		return false;
	all = S_ISDIR(st.st_mode) ? S_IXGRP | S_IXOTH : S_IRGRP | S_IROTH;
	return user || (st.st_mode & all) == all; /* a command of root's may become anybody */
}

bool preload_path_is_safe(const char *path, uid_t user)
{
	char part[PATH_MAX];

	if (*path != '/' || strlen(path) >= sizeof(part) || !part_is_safe("/", user))
		return false;
	for (const char *end = path; *end;) {
		end++;
		end += strcspn(end, "/");
		memcpy(part, path, (size_t)(end - path));
		part[end - path] = '\0';
		if (!part_is_safe(part, user))
			return false;
	}
	return true;
}

/* The loader takes spaces and colons for separators, and what begins with $ for a word of its own;
 * it maps nothing as code where the mount forbids it. */
static bool path_is_loadable(const char *path)
{
	struct statvfs fs;

	return !strpbrk(path, " :$") && !statvfs(path, &fs) && !(fs.f_flag & ST_NOEXEC);
}

const char *preload_file_beside(void)
{
	static const char *const places[] = {"", "../lib/memwhy/"};
	static char path[PATH_MAX];
	char exe[PATH_MAX], name[PATH_MAX + sizeof(LIBRARY) + 32];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[MAX(n, 0)] = '\0';
	slash = strrchr(exe, '/');
	if (!slash || library_unpack())
		return NULL;
	slash[1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_close_ int fd = -1;

		snprintf(name, sizeof(name), "%s%s" LIBRARY ".so", exe, places[i]);
		if (!realpath(name, path) || !path_is_loadable(path) ||
			!preload_path_is_safe(path, geteuid()))
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && content_is_ours(fd))
			return path;
	}
	return NULL;
}

/* Under a name of its own at first, so that nobody finds half of it. */
static int preload_file_write(int dir, const char *name)
{
	size_t done = 0;
	char fresh[64];
	int rc = 0;

	snprintf(fresh, sizeof(fresh), LIBRARY ".%d", (int)getpid());
	unlinkat(dir, fresh, 0); /* of one that was killed */
	_cleanup_close_ int fd =
		openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	while (done < library.size && !rc) {
		ssize_t n = write(fd, (const char *)library.data + done, library.size - done);

		if (n < 0)
			rc = -errno;
		else
			done += (size_t)n;
	}
	if (!rc && (fchmod(fd, 0755) || renameat(dir, fresh, dir, name)))
		rc = -errno;
	if (rc)
		unlinkat(dir, fresh, 0);
	return rc;
}

/* Is what we have open still what the name leads to? */
static bool preload_file_is_named(int fd, int dir, const char *name)
{
	struct stat have, named;

	return !fstat(fd, &have) && !fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       have.st_ino == named.st_ino && have.st_dev == named.st_dev;
}

/* -EAGAIN: it is not there, or not as it should be, and not any more after this. */
static int file_try(int dir, const char *name, int *ret_fd)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (flock(fd, LOCK_SH))
		return -errno;
	if (!preload_file_is_named(fd, dir, name))
		return -EAGAIN;
	if (!content_is_ours(fd))
		return unlinkat(dir, name, 0) ? -errno : -EAGAIN;
	*ret_fd = take_fd(fd);
	return 0;
}

/* Does a process have it in its environment? Of other users nobody can, where we may not look. */
static bool is_inherited(const char *path)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	bool found = false;
	int pid;

	if (proc_iter_open(&it))
		return true;
	while (!found && proc_iter_next(&it, &pid))
		found = preload_is_inherited((u32)pid, path);
	return found;
}

/*
 * The kernel gives a lease for writing only while nobody else has the file open or mapped, and
 * holds up who opens it then. A process of another file system's view may have it in its
 * environment only, about to be executed.
 */
static void file_remove(const struct preload_file *f)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", f->path);
	*strrchr(dir, '/') = '\0';
	signal(SIGIO, SIG_IGN); /* somebody waits for the lease */
	if (flock(f->fd, LOCK_EX | LOCK_NB) || fcntl(f->fd, F_SETLEASE, F_WRLCK))
		return;
	if (!is_inherited(f->path) && !unlink(f->path))
		rmdir(dir); /* others may be there */
	fcntl(f->fd, F_SETLEASE, F_UNLCK);
}

/* Half a library, of a memwhy that was killed as it wrote: its name ends with that one's pid, which
 * may be of another namespace. */
static void half_remove(int dir, const char *name)
{
	int pid = atoi(name + strlen(LIBRARY "."));
	struct stat st;

	if (pid > 0 && kill(pid, 0) && errno == ESRCH &&
		!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
		st.st_mtime + HALF_SECONDS < time(NULL))
		unlinkat(dir, name, 0);
}

/* A library of another build of memwhy, which was killed before it could remove it. */
static void old_remove(int dir, const char *at, const char *name)
{
	struct preload_file old = {.fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};

	if (old.fd < 0)
		return;
	if ((size_t)snprintf(old.path, sizeof(old.path), "%s/%s", at, name) < sizeof(old.path))
		file_remove(&old);
	close(old.fd);
}

/* What is not `ours` and nobody uses any more. */
static void leftovers_remove(int dir, const char *at, const char *ours)
{
	DIR *list = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *e;

	while (list && (e = readdir(list)))
		if (!strncmp(e->d_name, LIBRARY ".", strlen(LIBRARY ".")))
			half_remove(dir, e->d_name);
		else if (!strncmp(e->d_name, LIBRARY "-", strlen(LIBRARY "-")) &&
			 strcmp(e->d_name, ours) != 0)
			old_remove(dir, at, e->d_name);
	if (list)
		closedir(list);
}

/* In a directory below this one, which is there. */
static int file_make(struct preload_file *f, const char *base)
{
	uid_t user = geteuid();
	char name[64], at[PATH_MAX - sizeof(name)];
	int rc = -EAGAIN;

	snprintf(name, sizeof(name), LIBRARY "-%016llx.so", library_hash());
	if (snprintf(at, sizeof(at), "%s/" DIRECTORY, base) >= (int)sizeof(at))
		return -ENAMETOOLONG;
	if (!preload_path_is_safe(base, user))
		return -EACCES;
	for (int i = 0; i < TRIES && rc == -EAGAIN; i++) {
		_cleanup_close_ int dir = -1;

		if (mkdir(at, 0700) && errno != EEXIST)
			return -errno;
		dir = open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0 && errno == ENOENT)
			continue;
		if (dir < 0)
			return -errno;
		if (!user && fchmod(dir, 0755))
			return -errno;
		if (!preload_path_is_safe(at, user) || !path_is_loadable(at)) {
			if (access(at, F_OK) && errno == ENOENT)
				continue;
			return -EACCES;
		}
		leftovers_remove(dir, at, name);
		rc = file_try(dir, name, &f->fd);
		if (rc == -EAGAIN) {
			int written = preload_file_write(dir, name);

			rc = written ? written : file_try(dir, name, &f->fd);
		}
		if (rc == -ENOENT) /* of a directory that was removed */
			rc = -EAGAIN;
	}
	if (!rc)
		snprintf(f->path, sizeof(f->path), "%s/%s", at, name);
	return rc;
}

/* Where a user has files of the user's own, best first; "" where there is none. */
static void bases_of_user(char ret[3][PATH_MAX])
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");

	ret[0][0] = ret[2][0] = '\0';
	if (run && *run == '/' && strlen(run) < PATH_MAX)
		strcpy(ret[0], run);
	snprintf(ret[1], PATH_MAX, "/run/user/%u", geteuid());
	if (home && *home == '/' && snprintf(ret[2], PATH_MAX, "%s/.cache", home) < PATH_MAX)
		mkdir(ret[2], 0700);
	else
		ret[2][0] = '\0';
}

static int place_tell(int rc, bool root, struct err *err)
{
	if (rc == -EFBIG) {
		err_set(err, -EOPNOTSUPP, "the preload library cannot be written: %s",
			strerror(-rc));
		return err_hint(err, "raise the limit on file sizes: ulimit -f unlimited");
	}
	if (rc == -ENOSPC || rc == -EDQUOT)
		return err_set(err, -EOPNOTSUPP, "the preload library cannot be written: %s",
			strerror(-rc));
	err_set(err, -EACCES,
		"no directory for the preload library that only you can write to: tried %s",
		root ? "/run and /var/cache" : "XDG_RUNTIME_DIR, /run/user and HOME/.cache");
	return root ? err_hint(err, "install libmemwhy-track.so beside memwhy, or mount /run "
				    "without noexec")
		    : err_hint(err, "set XDG_RUNTIME_DIR or HOME to your own directory, on a mount "
				    "without noexec");
}

int preload_file_open(struct preload_file *f, struct err *err)
{
	char bases[3][PATH_MAX] = {"/run", "/var/cache", ""};
	int unpacked = library_unpack(), rc = -EACCES;
	const char *beside = preload_file_beside();
	bool root = !geteuid();

	*f = (struct preload_file){.fd = -1};
	if (unpacked)
		return err_set(err, unpacked, "the preload library cannot be unpacked: %s",
			strerror(-unpacked));
	if (beside) {
		snprintf(f->path, sizeof(f->path), "%s", beside);
		return 0;
	}
	if (!root)
		bases_of_user(bases);
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		int made = bases[i][0] ? file_make(f, bases[i]) : -ENOENT;

		if (!made)
			return 0;
		if (made == -EFBIG || made == -ENOSPC || made == -EDQUOT)
			rc = made;
	}
	return place_tell(rc, root, err);
}

void preload_file_close(struct preload_file *f)
{
	if (f->fd < 0)
		return;
	file_remove(f);
	close(take_fd(f->fd));
}
