/* See preload_check.h. */
#include "capture/preload_check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "base/util.h"
#include "sym/program_kind.h"

#define SEGMENTS 256           /* more are not looked at */
#define INTERPRETERS 5         /* so many scripts that run scripts does the kernel follow */
#define LIBRARY "memwhy-track" /* what both names of the library's file have, see preload.c */

const char *preload_why_text(enum preload_why why)
{
	static const char *const texts[] = {
		[PRELOAD_WORKS] = "tracked",
		[PRELOAD_UNKNOWN] = "it cannot be read",
		[PRELOAD_STATIC] = "statically linked",
		[PRELOAD_CLASS] = "not a 64-bit program of this machine",
		[PRELOAD_PRIVILEGED] =
			"it has more privileges than the user who runs it (setuid, setgid or "
			"capabilities)",
		[PRELOAD_CLEARED] = "it was started without LD_PRELOAD in its environment",
		[PRELOAD_MISSED] = "it cannot see memwhy's library, or was started without "
				   "LD_PRELOAD (chroot, another mount namespace)",
		[PRELOAD_APART] = "it is in another network namespace than memwhy's socket",
		[PRELOAD_SHORT] = "it has more privileges than the user who runs it, or ended at "
				  "once",
	};

	return texts[why];
}

/* ret_loader: the interpreter that its header names; "" if there is none. */
static enum preload_why elf_check(int fd, char ret_loader[PATH_MAX])
{
	Elf64_Ehdr e;

	ret_loader[0] = '\0';
	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
		return PRELOAD_UNKNOWN;
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_X86_64)
		return PRELOAD_CLASS;
	for (u32 i = 0; i < e.e_phnum && i < SEGMENTS && e.e_phentsize == sizeof(Elf64_Phdr); i++) {
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), (off_t)(e.e_phoff + i * sizeof(p))) != sizeof(p))
			return PRELOAD_UNKNOWN;
		if (p.p_type != PT_INTERP)
			continue;
		if (p.p_filesz >= PATH_MAX ||
			pread(fd, ret_loader, p.p_filesz, (off_t)p.p_offset) != (ssize_t)p.p_filesz)
			return PRELOAD_UNKNOWN;
		ret_loader[p.p_filesz] = '\0';
		return PRELOAD_WORKS;
	}
	return PRELOAD_STATIC;
}

/* As the kernel decides on AT_SECURE at exec: by what changes, and nothing does with nosuid. */
static bool is_privileged(int fd, uid_t uid, gid_t gid)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) || (!fstatvfs(fd, &fs) && fs.f_flag & ST_NOSUID))
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != uid)
		return true;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != gid)
		return true;
	return uid && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* Else the kernel does not run it, and execvp() gives it to a shell: its file's mode is nothing. */
static bool is_program(enum preload_why why)
{
	return why == PRELOAD_WORKS || why == PRELOAD_STATIC;
}

static enum preload_why file_check(struct preload_program *p, uid_t uid, gid_t gid)
{
	enum preload_why why;

	p->loader[0] = '\0';
	for (u32 i = 0; i <= INTERPRETERS; i++) {
		_cleanup_close_ int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0)
			return PRELOAD_UNKNOWN;
		if (program_script(fd, p->path, NULL))
			continue;
		why = elf_check(fd, p->loader);
		return is_program(why) && !prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) &&
				       is_privileged(fd, uid, gid)
			       ? PRELOAD_PRIVILEGED
			       : why;
	}
	return PRELOAD_UNKNOWN;
}

enum preload_why preload_check_command(
	const char *name, const struct sys_user *as, struct preload_program *ret)
{
	if (!program_find(name, ret->path))
		return PRELOAD_UNKNOWN;
	return file_check(ret, as ? as->uid : getuid(), as ? as->gid : getgid());
}

/* Does a file of /proc hold the word? -1: it cannot be read. Words may lie across two reads. */
static int proc_has(u32 pid, const char *file, const char *word)
{
	size_t keep = strlen(word) - 1, had = 0;
	char path[64], text[16384];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((n = read(fd, text + had, sizeof(text) - had)) > 0) {
		had += (size_t)n;
		if (memmem(text, had, word, strlen(word)))
			return 1;
		if (had > keep) {
			memmove(text, text + had - keep, keep);
			had = keep;
		}
	}
	return n < 0 ? -1 : 0;
}

enum preload_why preload_check_process(u32 pid)
{
	int loaded = proc_has(pid, "maps", LIBRARY), named;
	_cleanup_close_ int fd = -1;
	enum preload_why why;
	char path[64], loader[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (loaded > 0)
		return PRELOAD_WORKS;
	if (fd < 0) /* what we may not look at has privileges that we have not */
		return errno == EACCES || errno == EPERM ? PRELOAD_PRIVILEGED : PRELOAD_UNKNOWN;
	why = elf_check(fd, loader);
	if (why != PRELOAD_WORKS)
		return why;
	named = proc_has(pid, "environ", "LD_PRELOAD=");
	return loaded < 0 || named < 0 || is_privileged(fd, getuid(), getgid()) ? PRELOAD_PRIVILEGED
	       : !named                                                         ? PRELOAD_CLEARED
										: PRELOAD_MISSED;
}

/* Is it this file, here too? Then it is opened. */
static int preload_check_file_open(const char *path, u64 inode)
{
	_cleanup_close_ int at = open(path, O_PATH | O_CLOEXEC);
	char again[32];
	struct stat st;

	if (at < 0 || fstat(at, &st) || !S_ISREG(st.st_mode) || st.st_ino != inode)
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
	return open(again, O_RDONLY | O_CLOEXEC);
}

enum preload_why preload_check_file(const char *path, u64 inode, bool dynamic)
{
	_cleanup_close_ int fd = -1;
	char loader[PATH_MAX];
	enum preload_why why;

	if (!path[0])
		return PRELOAD_SHORT;
	fd = preload_check_file_open(path, inode);
	if (fd < 0)
		return dynamic ? PRELOAD_MISSED : PRELOAD_STATIC;
	why = elf_check(fd, loader);
	if (why == PRELOAD_WORKS)
		return is_privileged(fd, getuid(), getgid()) ? PRELOAD_PRIVILEGED : PRELOAD_CLEARED;
	return why == PRELOAD_UNKNOWN ? PRELOAD_MISSED : why;
}

bool preload_is_inherited(u32 pid, const char *path)
{
	return proc_has(pid, "environ", path) > 0;
}

bool preload_is_in_vain(enum preload_why why)
{
	return why == PRELOAD_STATIC || why == PRELOAD_PRIVILEGED;
}
