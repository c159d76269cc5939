/* See allocator.h. */
#include "probes/heap/attach/allocator.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/reader/reader.h"
#include "capture/uprobe.h"
#include "probes/heap/attach/attached.h"
#include "probes/heap/attach/libraries.h"
#include "sys/process/maps.h"
#include "sys/process/proc.h"
#include "sys/rights.h"

/* In the order in which probes are put there: what frees first, so that nothing is seen allocated
 * whose free was missed. */
static const struct {
	const char *name;
	u8 calls;
} known[] = {
	{"free", CALLS_FREE},
	{"cfree", CALLS_FREE},
	{"free_sized", CALLS_FREE},
	{"free_aligned_sized", CALLS_FREE},
	{"dallocx", CALLS_FREE},
	{"sdallocx", CALLS_FREE},
	{"mi_free", CALLS_FREE},
	{"_ZdlPv", CALLS_FREE},
	{"_ZdaPv", CALLS_FREE},
	{"_ZdlPvm", CALLS_FREE},
	{"_ZdaPvm", CALLS_FREE},
	{"_ZdlPvRKSt9nothrow_t", CALLS_FREE},
	{"_ZdaPvRKSt9nothrow_t", CALLS_FREE},
	{"_ZdlPvSt11align_val_t", CALLS_FREE},
	{"_ZdaPvSt11align_val_t", CALLS_FREE},
	{"_ZdlPvmSt11align_val_t", CALLS_FREE},
	{"_ZdaPvmSt11align_val_t", CALLS_FREE},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", CALLS_FREE},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", CALLS_FREE},
	{"realloc", CALLS_RESIZE},
	{"rallocx", CALLS_RESIZE},
	{"mi_realloc", CALLS_RESIZE},
	{"reallocarray", CALLS_RESIZE_ARRAY},
	{"calloc", CALLS_ARRAY},
	{"mi_calloc", CALLS_ARRAY},
	{"memalign", CALLS_ALIGNED},
	{"aligned_alloc", CALLS_ALIGNED},
	{"posix_memalign", CALLS_POSIX},
	{"valloc", CALLS_SIZE},
	{"pvalloc", CALLS_SIZE},
	{"malloc", CALLS_SIZE},
	{"mallocx", CALLS_SIZE},
	{"mi_malloc", CALLS_SIZE},
	{"mi_zalloc", CALLS_SIZE},
	{"_Znwm", CALLS_NEW},
	{"_Znam", CALLS_NEW},
	{"_ZnwmRKSt9nothrow_t", CALLS_NEW},
	{"_ZnamRKSt9nothrow_t", CALLS_NEW},
	{"_ZnwmSt11align_val_t", CALLS_NEW},
	{"_ZnamSt11align_val_t", CALLS_NEW},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", CALLS_NEW},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", CALLS_NEW},
};

/* Bit n: the programs read argument n. */
static const u8 arguments[CALLS_N] = {
	[CALLS_SIZE] = 1,
	[CALLS_NEW] = 1,
	[CALLS_ARRAY] = 3,
	[CALLS_RESIZE] = 3,
	[CALLS_RESIZE_ARRAY] = 7,
	[CALLS_ALIGNED] = 2,
	[CALLS_POSIX] = 5,
	[CALLS_FREE] = 1,
};

static const char *const allocators[] = {"jemalloc", "tcmalloc", "mimalloc"};

static int function_add(struct allocator *a, u64 offset, size_t i)
{
	struct allocator_function f = {.name = known[i].name, .calls = known[i].calls};
	struct prologue_wants wants = {
		.arguments = arguments[f.calls],
		.may_move = uprobe_can_sessions(), /* whose cookie says where to */
		.same_stack = f.calls != CALLS_FREE,
	};
	u8 code[PROLOGUE_BYTES];
	ssize_t n = offset <= INT64_MAX ? pread(a->fd, code, sizeof(code), (off_t)offset) : 0;

	if (n <= 0)
		return 0;
	f.at = prologue_place(code, (size_t)n, &wants);
	f.offset = offset + f.at.offset;
	vec_each (other, &a->functions)
		if (other->offset == f.offset)
			return 0; /* another name of it */
	return vec_push(&a->functions, f);
}

/* The functions of a symbol table. -ENOENT: there are not malloc and free in it. */
static int functions_read(struct reader *r, struct allocator *a, u32 type, bool *ret_static)
{
	const char *names[ARRAY_SIZE(known)];
	u64 offsets[ARRAY_SIZE(known)] = {};
	bool gives = false, takes = false;
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		names[i] = known[i].name;
	rc = reader_functions(r, a->fd, type, names, ARRAY_SIZE(known), offsets, ret_static);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		gives |= offsets[i] && !strcmp(known[i].name, "malloc");
		takes |= offsets[i] && !strcmp(known[i].name, "free");
	}
	if (rc || !gives || !takes)
		return rc ? rc : -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(known) && !rc; i++)
		if (offsets[i])
			rc = function_add(a, offsets[i], i);
	return rc;
}

/* Of an opened file, whose descriptor is taken. */
static int file_read_functions(struct reader *r, int fd, bool static_too, struct allocator *ret)
{
	struct allocator a = {.fd = fd};
	bool is_static = false;
	int rc = functions_read(r, &a, SHT_DYNSYM, &is_static);

	if (rc == -ENOENT && static_too && is_static)
		rc = functions_read(r, &a, SHT_SYMTAB, &is_static);
	if (rc) {
		allocator_free(&a);
		return rc;
	}
	snprintf(a.path, sizeof(a.path), "/proc/self/fd/%d", fd);
	*ret = a;
	return 0;
}

static int mapping_open(pid_t pid, const struct mapping *m)
{
	char path[PATH_MAX + 32];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, m->start, m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != m->inode)) {
		close(fd);
		return -ESTALE;
	}
	return fd < 0 ? -errno : fd;
}

/* Also by another name: /lib is a link to /usr/lib. */
static bool is_same_file(const char *path, const char *wanted)
{
	_cleanup_free_ char *real = realpath(path, NULL), *of_wanted = realpath(wanted, NULL);

	return !strcmp(path, wanted) || (real && of_wanted && !strcmp(real, of_wanted));
}

/* The higher, the earlier malloc is looked for there; 0: not at all. */
static int rank_of(const char *path, const char *exe, const char *wanted)
{
	const char *base = path_name(path);

	if (wanted && strchr(wanted, '/'))
		return is_same_file(path, wanted);
	if (wanted)
		return strstr(base, wanted) != NULL;
	if (!strcmp(path, exe))
		return 5;
	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++)
		if (strstr(base, allocators[i]))
			return 4;
	/* the loader's own malloc ends before the program begins, but for musl, where it is libc */
	if (!strncmp(base, "ld-", 3))
		return strstr(base, "musl") ? 1 : 0;
	return !strncmp(base, "libc.so", 7) || !strncmp(base, "libc-", 5) ? 2 : 3;
}

static int not_found(pid_t pid, const char *wanted, struct err *err)
{
	if (wanted) {
		err_set(err, -EINVAL, "--allocator: process %d has no '%.80s' with a malloc mapped",
			pid, wanted);
		return err_hint(err, "jemalloc, tcmalloc, mimalloc, or the path of a file that it "
				     "has mapped");
	}
	err_set(err, -EOPNOTSUPP, "process %d: none of the files it has mapped has a malloc", pid);
	return err_hint(err,
		"a static program needs its symbols (not stripped); else name the file with "
		"--allocator; of an allocator of its own, as in Go: memwhy maps --stacks=user -p "
		"%d",
		pid);
}

int allocator_find(
	struct reader *r, pid_t pid, const char *wanted, struct allocator *ret, struct err *err)
{
	_cleanup_maps_ struct maps maps = {};
	char exe[PATH_MAX] = "";
	bool deleted;
	int rc = maps_read(pid, &maps), denied = 0;

	if (rc) {
		err_errno(err, rc, "process %d: its mappings", pid);
		return rights_over_others_hint(err);
	}
	proc_exe_read(pid, exe, &deleted);
	for (int rank = 5; rank > 0; rank--) {
		u64 last = 0;

		vec_each (m, &maps.list) {
			int fd;

			if (m->kind != MAPPING_FILE || !(m->prot & MAPPING_EXEC) ||
				m->inode == last || rank_of(m->path, exe, wanted) != rank)
				continue;
			last = m->inode;
			fd = mapping_open(pid, m);
			denied = fd == -EACCES || fd == -EPERM ? fd : denied;
			if (fd < 0 || file_read_functions(r, fd, rank == 5 || wanted, ret))
				continue;
			snprintf(ret->name, sizeof(ret->name), "%s", path_name(m->path));
			return 0;
		}
	}
	if (denied) {
		err_errno(err, denied, "process %d: the files it has mapped", pid);
		return rights_over_others_hint(err);
	}
	return not_found(pid, wanted, err);
}

/* One of the files that a program is of, if it is of this rank. -ENOENT: go on. */
static int file_try(struct reader *r, const char *path, const char *exe, const char *wanted,
	int rank, struct allocator *ret)
{
	int fd, rc;

	if (rank_of(path, exe, wanted) != rank)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	rc = fd < 0 ? -errno : file_read_functions(r, fd, rank == 5 || wanted, ret);
	if (!rc)
		snprintf(ret->name, sizeof(ret->name), "%s", path_name(path));
	return rc;
}

int allocator_of_program(struct reader *r, const struct preload_program *p, const char *wanted,
	struct allocator *ret)
{
	_cleanup_libraries_ struct libraries all = {};
	int rc = file_try(r, p->path, p->path, wanted, wanted ? 1 : 5, ret);

	if (!rc || !p->loader[0])
		return rc;
	rc = libraries_read(p, &all);
	for (int rank = 4; rank > 0 && !rc; rank--)
		vec_each (path, &all.list)
			if (!file_try(r, *path, p->path, wanted, rank, ret))
				return 0;
	return rc ? rc : -ENOENT;
}

void allocator_free(struct allocator *a)
{
	if (a->fd > 0)
		close(a->fd);
	a->fd = -1;
	vec_free(&a->functions);
}
