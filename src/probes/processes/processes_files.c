/* See processes_files.h. */
#include "probes/processes/processes_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

#define TEXT 4096 /* neither is as long */

static int processes_files_kept_read(int fd, struct str *out)
{
	char buf[TEXT];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	str_clear(out);
	if (n <= 0)
		return n ? -errno : -ESRCH;
	str_addn(out, buf, (size_t)n);
	return out->failed ? -ENOMEM : 0;
}

int process_file_read(struct process_files *f, enum process_file which,
	struct process_files_room *room, u32 pid, bool keeps, struct str *out)
{
	static const char *const names[] = {[PROCESS_STATM] = "statm", [PROCESS_STAT] = "stat"};
	char path[32];
	int fd, rc;

	snprintf(path, sizeof(path), "%u/%s", pid, names[which]);
	if (!f->fds[which]) {
		if (!keeps || !room->left)
			return file_read_once_at(room->proc, path, out);
		fd = openat(room->proc, path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
			process_files_close(f, room); /* for the one that it takes to read */
			room->left = 0;
			return file_read_once_at(room->proc, path, out);
		}
		if (fd < 0)
			return -errno;
		f->fds[which] = fd + 1;
		room->left--;
	}
	rc = processes_files_kept_read(f->fds[which] - 1, out);
	if (rc)
		process_files_close(f, room);
	return rc;
}

void process_files_close(struct process_files *f, struct process_files_room *room)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->fds); i++) {
		if (!f->fds[i])
			continue;
		close(f->fds[i] - 1);
		f->fds[i] = 0;
		room->left++;
	}
}
