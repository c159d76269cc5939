/*
 * A server answers from an index file that fits its group, until a batch job of the same group
 * reads a large file once and pushes the index out again and again.
 * @state sick
 * @group 6
 * @who batch-scan.*evicted-index|evicted-index.*batch-scan
 * @cause page cache.*(refault|read back)
 * @limit 160M
 * @needs v1
 */
#include <sys/prctl.h>

#include "zoo.h"

#define INDEX (96 * MIB)
#define ARCHIVE (700 * MIB)

static int make(const char *name, size_t size)
{
	static char block[1 << 20];
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", getenv("ZOO_WORK"), name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(block, 1, sizeof(block));
	for (size_t at = 0; at < size; at += sizeof(block))
		if (fd < 0 || write(fd, block, sizeof(block)) != sizeof(block))
			err(1, "%s", path);
	fsync(fd);
	return fd;
}

int main(void)
{
	int index = make("index", INDEX), archive = make("archive", ARCHIVE);
	static char buf[1 << 20];
	unsigned seed = 1;

	if (!fork()) {
		prctl(PR_SET_NAME, "batch-scan");
		for (off_t at = 0;; at = (at + (off_t)sizeof(buf)) % (off_t)ARCHIVE) {
			if (pread(archive, buf, sizeof(buf), at) < 0)
				err(1, "archive");
			usleep(2000);
		}
	}
	posix_fadvise(index, 0, 0, POSIX_FADV_RANDOM);
	zoo_ready();
	while (!zoo_over) {
		for (int i = 0; i < 64; i++)
			if (pread(index, buf, 4096,
				    (off_t)(rand_r(&seed) % (INDEX / 4096)) * 4096) < 0)
				err(1, "index");
		usleep(1000);
	}
	kill(0, SIGKILL);
}
