/*
 * See database_file.h. While a recording is read no file may be opened (src/cage), so SQLite gets
 * one that is open, and no journal, temporary file or lock: nobody else knows of the file.
 */
#include "export/database_file.h"

#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/util.h"

struct file {
	sqlite3_file base;
	int fd;
};

static int file_fd = -1;

static int fd_of(sqlite3_file *f)
{
	return ((struct file *)f)->fd;
}

static int file_close(sqlite3_file *f)
{
	(void)f;
	return SQLITE_OK;
}

static int database_file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	ssize_t got = pread(fd_of(f), to, (size_t)n, at);

	if (got < 0)
		return SQLITE_IOERR_READ;
	if (got == n)
		return SQLITE_OK;
	memset((char *)to + got, 0, (size_t)(n - got));
	return SQLITE_IOERR_SHORT_READ;
}

static int database_file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	if (lseek(fd_of(f), at, SEEK_SET) < 0)
		return SQLITE_IOERR_WRITE;
	return write(fd_of(f), from, (size_t)n) == n ? SQLITE_OK : SQLITE_FULL;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return ftruncate(fd_of(f), size) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int file_sync(sqlite3_file *f, int flags)
{
	(void)f;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	struct stat st;

	if (fstat(fd_of(f), &st))
		return SQLITE_IOERR_FSTAT;
	*ret = st.st_size;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *f, int level)
{
	(void)f;
	(void)level;
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *f, int *ret)
{
	(void)f;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	(void)f;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *f)
{
	(void)f;
	return 4096;
}

static int file_characteristics(sqlite3_file *f)
{
	(void)f;
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = database_file_read,
	.xWrite = database_file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_characteristics,
};

static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	(void)v;
	(void)name;
	f->pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	((struct file *)f)->fd = file_fd;
	f->pMethods = &methods;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	(void)name;
	(void)sync;
	return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *ret)
{
	(void)v;
	(void)name;
	(void)flags;
	*ret = 0;
	return SQLITE_OK;
}

static int vfs_path(sqlite3_vfs *v, const char *name, int n, char *ret)
{
	(void)v;
	sqlite3_snprintf(n, ret, "%s", name);
	return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *v, int n, char *ret)
{
	(void)v;
	memset(ret, 0, (size_t)n);
	return getrandom(ret, (size_t)n, 0) < 0 ? 0 : n;
}

static int vfs_sleep(sqlite3_vfs *v, int us)
{
	(void)v;
	return us;
}

/* Days since noon of 24 November 4714 BC. */
static int vfs_time(sqlite3_vfs *v, double *ret)
{
	(void)v;
	*ret = 2440587.5 + (double)time(NULL) / 86400;
	return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *v, int n, char *ret)
{
	(void)v;
	(void)n;
	(void)ret;
	return 0;
}

int database_file_use(int fd)
{
	static sqlite3_vfs vfs = {
		.iVersion = 1,
		.szOsFile = sizeof(struct file),
		.mxPathname = 64,
		.zName = DATABASE_FILE,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_path,
		.xRandomness = vfs_random,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
		.xGetLastError = vfs_error,
	};
	int rc = sqlite3_initialize();

	file_fd = fd;
	return rc ? rc : sqlite3_vfs_register(&vfs, 0);
}
