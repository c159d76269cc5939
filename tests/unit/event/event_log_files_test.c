/* The event log's files: such as cannot be written or read, a full disk, a hole in a long file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "event/log.h"

static const struct kind noise_kind[] = {
	{.kind = 300, .size = sizeof(struct rec), .name = "noise", .help = "of this test"},
};

static struct schema schema;
static char dir[] = "/tmp/memwhy-files-XXXXXX";
static char path[64];

static void files_that_cannot_be_read(void **state)
{
	struct log_reader *r = NULL;
	struct err err = {};

	(void)state;
	assert_int_equal(log_reader_open("/nonexistent/log", &r, &err), -ENOENT);
	assert_int_equal(log_reader_open(dir, &r, &err), -EISDIR);
	assert_non_null(strstr(err.msg, dir));
	assert_int_equal(log_reader_open("/dev/null", &r, &err), -EINVAL);
	assert_int_equal(log_reader_open("/dev/zero", &r, &err), -EINVAL);
	assert_null(r);
}

static void assert_unwritable(const char *name, int code, const char *says)
{
	struct log_writer *w = NULL;
	struct err err = {};

	assert_int_equal(
		log_writer_open((struct target[]){log_target(name)}, &schema, &w, &err), code);
	assert_null(w);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.msg, name));
	assert_non_null(strstr(err.msg, says));
}

static void files_that_cannot_be_written(void **state)
{
	char other[96];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_unwritable("/nonexistent/log", -ENOENT, "No such file");
	assert_unwritable("/dev/null/log", -ENOTDIR, "Not a directory");
	assert_unwritable(dir, -EISDIR, "a directory");
	assert_unwritable("/dev/null", -EINVAL, "a device");
	assert_int_equal(symlink("/dev/full", other), 0);
	assert_unwritable(other, -ELOOP, "a symbolic link");
	unlink(other);
	assert_int_equal(symlink("/nonexistent", other), 0);
	assert_unwritable(other, -ELOOP, "a symbolic link");
	unlink(other);
	assert_int_equal(mkfifo(other, 0600), 0);
	assert_unwritable(other, -EINVAL, "a pipe");
	unlink(other);
	close(open(other, O_CREAT | O_WRONLY, 0666));
	if (chown(other, 12345, 12345) == 0)
		assert_unwritable(other, -EPERM, "belongs to user 12345");
	unlink(other);
}

/* Random text does not shrink much, so that the limit is reached soon. */
static void noise(u64 *state, struct rec *r, u32 size)
{
	*r = (struct rec){.size = size, .kind = 300, .time_ns = 1};
	for (u32 i = sizeof(*r); i < size; i += 8) {
		*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
		memcpy((char *)r + i, state, 8);
	}
}

/* Puts records until well after the first failure; returns how many went in before it. */
static u64 fill(struct log_writer *w, u64 *failures)
{
	static u64 buf[512];
	u64 before = 0, seed = 1;

	for (int i = 0; i < 1000; i++) {
		int rc;

		noise(&seed, (struct rec *)buf, sizeof(buf));
		rc = log_writer_sink(w)->put(log_writer_sink(w), (struct rec *)buf);
		before += !rc && !*failures;
		*failures += rc != 0;
		if (rc)
			assert_int_equal(rc, -EFBIG);
	}
	return before;
}

/* The limit on file sizes stands in for a full disk: a part of a block is written, then none. */
static void full_disk(void **state)
{
	struct rlimit old, limit;
	struct log_writer *w = NULL;
	struct log_reader *r = NULL;
	struct err flush = {}, end = {};
	u64 before, failures = 0, seed = 1, n = 0;
	static u64 buf[512];
	const struct rec *rec;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 1000000;
	assert_int_equal(
		log_writer_open((struct target[]){log_target(path)}, &schema, &w, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	before = fill(w, &failures);
	assert_int_equal(log_writer_flush(w, &flush), -EFBIG);
	assert_int_equal(log_writer_close(w, &end), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(failures, 1);
	assert_true(before > 100 && before < 1000);
	assert_non_null(strstr(end.msg, "records are not in it: File too large"));
	assert_non_null(strstr(end.hint, "what was written can be read"));
	assert_string_equal(flush.msg, end.msg);
	assert_int_equal(log_reader_open(path, &r, NULL), 0);
	while (log_reader_next(r, &schema, &rec, &end) == 1) {
		noise(&seed, (struct rec *)buf, sizeof(buf));
		assert_memory_equal(rec, buf, sizeof(buf));
		n++;
	}
	assert_int_equal(end.code, -ENODATA);
	/* Nothing of the block that failed is left in the file. */
	assert_non_null(strstr(end.msg, "was not closed in order"));
	assert_true(n > 100 && n <= before);
	log_reader_close(r);
}

static int memory_file(const void *p, size_t n)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Reads noise records; each must be one of those written, in order. Returns how many there are. */
static u64 read_noise(int fd, struct err *err)
{
	u64 seed = 1, n = 0;
	static u64 buf[512];
	struct log_reader *r = NULL;
	const struct rec *rec;

	assert_int_equal(log_reader_open_fd(fd, "pipe", &r, NULL), 0);
	while (log_reader_next(r, &schema, &rec, err) == 1) {
		int tries = 0;

		do
			noise(&seed, (struct rec *)buf, sizeof(buf));
		while (memcmp(rec, buf, sizeof(buf)) && ++tries < 1000);
		assert_true(tries < 1000);
		n++;
	}
	log_reader_close(r);
	return n;
}

static size_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

/* A hole that is longer than what the reader holds, full of what looks like heads. */
static void large_hole(void **state)
{
	struct log_writer *w = NULL;
	struct err err = {};
	u64 failures = 0;
	size_t n;
	char *p;
	int fd;

	(void)state;
	assert_int_equal(
		log_writer_open((struct target[]){log_target(path)}, &schema, &w, NULL), 0);
	assert_int_equal(fill(w, &failures), 1000);
	assert_int_equal(log_writer_close(w, NULL), 0);
	n = file_size();
	fd = open(path, O_RDWR);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(read_noise(fd, &err), 1000);
	for (size_t i = 500000; i < 2500000; i += 7)
		memcpy(p + i, "MWBKMWB", 7);
	assert_in_range(read_noise(memory_file(p, n), &err), 1000 - 2 * 63 - 2000000 / 4096, 999);
	assert_int_equal(err.code, -ENODATA);
	assert_non_null(strstr(err.msg, "of its 1000 records cannot be read"));
	munmap(p, n);
}

/* What is too small even for the schema fails at once. */
static void full_disk_from_the_start(void **state)
{
	struct rlimit old, limit;
	struct log_writer *w = NULL;
	struct err err = {};
	int rc;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	rc = log_writer_open((struct target[]){log_target(path)}, &schema, &w, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(rc, -EFBIG);
	assert_null(w);
	assert_non_null(strstr(err.hint, "ulimit"));
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/log", dir);
	return schema_add(&schema, noise_kind, 1);
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_cannot_be_read),
		cmocka_unit_test(files_that_cannot_be_written),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(full_disk_from_the_start),
		cmocka_unit_test(large_hole),
	};

	return cmocka_run_group_tests_name("event log files", tests, setup, teardown);
}
