/* See processes_files.h. */
#include "probes/processes/processes_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

#define TEXT 4096 /* neither is as long */

static u32 n_open;

static int kept_read(int fd, struct str *out)
{
	char buf[TEXT];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	str_clear(out);
	if (n <= 0)
		return n ? -errno : -ESRCH;
	str_addn(out, buf, (size_t)n);
	return out->failed ? -ENOMEM : 0;
}

int process_file_read(struct process_files *f, enum process_file which, int proc, u32 pid,
	bool keeps, struct str *out)
{
	static const char *const names[] = {[PROCESS_STATM] = "statm", [PROCESS_STAT] = "stat"};
	char path[32];
	int fd, rc;

	snprintf(path, sizeof(path), "%u/%s", pid, names[which]);
	if (!f->fds[which]) {
		if (!keeps || n_open >= PROCESS_FILES_MOST)
			return file_read_once_at(proc, path, out);
		fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		f->fds[which] = fd + 1;
		n_open++;
	}
	rc = kept_read(f->fds[which] - 1, out);
	if (rc)
		process_files_close(f);
	return rc;
}

void process_files_close(struct process_files *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->fds); i++) {
		if (!f->fds[i])
			continue;
		close(f->fds[i] - 1);
		f->fds[i] = 0;
		n_open--;
	}
}
