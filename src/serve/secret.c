/* See secret.h. */
#include "serve/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"

#define SECRET_MAX (1UL << 20) /* bytes */

int secret_read(const char *option, const char *path, struct str *ret, struct err *err)
{
	struct stat st = {};
	_cleanup_close_ int fd = file_open_regular(path, &st);
	char word[HINT_WORD];
	int rc = fd;

	if (fd >= 0 && st.st_mode & 077) {
		err_set(err, -EPERM, "%s: others may read %s", option, path);
		return err_hint(err, "chmod 600 %s", hint_word(word, path, "FILE"));
	}
	if (fd >= 0 && st.st_uid && st.st_uid != geteuid()) {
		err_set(err, -EPERM, "%s: %s belongs to another user", option, path);
		return err_hint(err, "chown %u %s", (u32)geteuid(), hint_word(word, path, "FILE"));
	}
	if (fd >= 0)
		rc = file_read_fd(fd, SECRET_MAX, ret);
	return rc ? err_errno(err, rc, "%s: cannot read %s", option, path) : 0;
}
