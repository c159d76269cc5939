/* The event log, not whole: cut, changed, made up, or no log at all. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cmocka.h>

#include "event/log.h"
#include "event/log_format.h"
#include "event/meta.h"

struct sample {
	struct rec h;
	u64 number;
	u64 check;
};

static const struct field sample_fields[] = {
	FIELD(struct sample, number, FIELD_U64, UNIT_COUNT, "number"),
	FIELD(struct sample, check, FIELD_U64, UNIT_HEX, "check"),
};

static const struct kind sample_kind[] = {
	KIND(300, struct sample, "sample", sample_fields, "a record of this test"),
};

#define BLOCKS 5
#define PER_BLOCK 8
#define SAMPLES (BLOCKS * PER_BLOCK)

static struct schema schema;
static char dir[] = "/tmp/memwhy-damage-XXXXXX";
static char path[64];
/* A log of SAMPLES records in BLOCKS blocks, and where each block ends. */
static char image[8192];
static size_t image_n;
static size_t block_end[BLOCKS];

static struct sample sample(u64 number)
{
	return (struct sample){
		.h = {.size = sizeof(struct sample),
			.kind = 300,
			.time_ns = 1000 + number * 1000000},
		.number = number,
		.check = (number + 1) * 0x9e3779b97f4a7c15ULL,
	};
}

static size_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

static void make_image(void)
{
	struct log_writer *w = NULL;
	int fd;

	assert_int_equal(
		log_writer_open((struct target[]){log_target(path)}, &schema, &w, NULL), 0);
	for (u64 i = 0; i < SAMPLES; i++) {
		struct sample s = sample(i);

		assert_int_equal(log_writer_sink(w)->put(log_writer_sink(w), &s.h), 0);
		if ((i + 1) % PER_BLOCK)
			continue;
		assert_int_equal(log_writer_flush(w, NULL), 0);
		block_end[i / PER_BLOCK] = file_size();
	}
	assert_int_equal(log_writer_close(w, NULL), 0);
	image_n = file_size();
	assert_true(image_n < sizeof(image));
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, image, sizeof(image)), image_n);
	close(fd);
}

static int memory_file(const void *p, size_t n)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

struct outcome {
	int code; /* of the open, or of the last next */
	bool opened;
	u64 n;    /* samples */
	u64 seen; /* bit by number */
	struct err err;
};

/* Reads it all. Whatever comes must be one of the samples, each once, in order. */
static struct outcome read_all(const void *p, size_t n)
{
	struct outcome o = {};
	struct log_reader *r = NULL;
	const struct rec *rec;
	u64 next = 0;

	o.code = log_reader_open_fd(memory_file(p, n), "bytes", &r, &o.err);
	if (o.code) {
		assert_null(r);
		assert_int_equal(o.err.code, o.code);
		return o;
	}
	o.opened = true;
	while ((o.code = log_reader_next(r, &schema, &rec, &o.err)) == 1) {
		const struct sample *got = (const struct sample *)rec;
		struct sample want = sample(got->number);

		assert_int_equal(rec->size, sizeof(want));
		assert_memory_equal(got, &want, sizeof(want));
		assert_true(got->number >= next && got->number < SAMPLES);
		next = got->number + 1;
		o.seen |= 1ULL << got->number;
		o.n++;
	}
	if (o.code)
		assert_true(o.err.code == o.code && o.err.msg[0]);
	log_reader_close(r);
	return o;
}

static u64 samples_within(size_t n)
{
	u64 samples = 0;

	for (size_t i = 0; i < BLOCKS; i++)
		samples += block_end[i] <= n ? PER_BLOCK : 0;
	return samples;
}

static void whole(void **state)
{
	struct outcome o = read_all(image, image_n);

	(void)state;
	assert_int_equal(o.code, 0);
	assert_int_equal(o.n, SAMPLES);
}

static void cut_at_every_byte(void **state)
{
	(void)state;
	for (size_t n = 0; n < image_n; n++) {
		struct outcome o = read_all(image, n);

		assert_int_equal(o.code, n ? -ENODATA : -EINVAL);
		assert_int_equal(o.opened, n >= sizeof(struct log_head));
		assert_int_equal(o.n, samples_within(n));
		assert_true(o.seen == (o.n ? ~0ULL >> (64 - o.n) : 0));
	}
}

static void cut_is_told(void **state)
{
	struct outcome o = read_all(image, block_end[2] + 60);

	(void)state;
	assert_non_null(strstr(o.err.msg, "is cut within block 4: "));
	assert_non_null(strstr(o.err.msg, "B can be read, up to 23.0 ms after the start"));
	o = read_all(image, block_end[2] + 20); /* within a head */
	assert_non_null(strstr(o.err.msg, "is cut within block 4: "));
	o = read_all(image, block_end[2]);
	assert_non_null(strstr(o.err.msg, "was not closed in order: "));
	assert_non_null(strstr(o.err.msg, "up to 23.0 ms"));
	o = read_all(image, 20);
	assert_non_null(strstr(o.err.msg, "is cut within block 0: nothing of it can be read"));
	o = read_all(image, image_n - 1);
	assert_non_null(strstr(o.err.msg, "but no record is missing"));
	o = read_all(image, 4);
	assert_non_null(strstr(o.err.msg, "cut within its first 8 bytes"));
	o = read_all(image, 0);
	assert_non_null(strstr(o.err.msg, "is empty"));
}

/* At most the block with the changed bit is left out, and never in silence. */
static void flipped_at_every_bit(void **state)
{
	char copy[sizeof(image)];

	(void)state;
	memcpy(copy, image, image_n);
	for (size_t bit = 0; bit < image_n * 8; bit++) {
		struct outcome o;

		copy[bit / 8] ^= (char)(1 << bit % 8);
		o = read_all(copy, image_n);
		copy[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(o.code, bit / 8 < sizeof(struct log_head) ? -EINVAL : -ENODATA);
		assert_true(!o.opened || o.n >= SAMPLES - PER_BLOCK);
	}
}

static void damage_is_told(void **state)
{
	char copy[sizeof(image)];
	struct outcome o;

	(void)state;
	memcpy(copy, image, image_n);
	copy[block_end[1] - 1] ^= 1;
	o = read_all(copy, image_n);
	assert_int_equal(o.n, SAMPLES - PER_BLOCK);
	assert_non_null(strstr(o.err.msg, "is damaged (1 block, "));
	assert_non_null(strstr(o.err.msg, ": 8 of its 40 records cannot be read"));
	assert_non_null(strstr(o.err.msg, "between 8.00 ms and 15.0 ms after the start"));
	o = read_all(copy, block_end[3] + 10);
	assert_non_null(strstr(o.err.msg, "is cut within block 5"));
	assert_non_null(strstr(o.err.msg, "1 earlier block is damaged"));
	memset(copy + block_end[3], 0, image_n - block_end[3]);
	o = read_all(copy, image_n);
	assert_non_null(strstr(o.err.msg, " that cannot be read"));
	memcpy(copy, image, image_n);
	copy[image_n] = 'x';
	o = read_all(copy, image_n + 1);
	assert_int_equal(o.n, SAMPLES);
	assert_int_equal(o.code, -ENODATA);
	assert_non_null(strstr(o.err.msg, "goes on after its end"));
}

/* Any stretch taken out, or overwritten with another: what is left is right. */
static void pieces_lost_and_swapped(void **state)
{
	char copy[sizeof(image)];

	(void)state;
	for (size_t from = 8; from < image_n; from += 13) {
		for (size_t n = 1; from + n <= image_n; n = n * 2 + 1) {
			struct outcome o;

			memcpy(copy, image, from);
			memcpy(copy + from, image + from + n, image_n - from - n);
			o = read_all(copy, image_n - n);
			assert_int_equal(o.code, -ENODATA);
			memcpy(copy, image, image_n);
			memmove(copy + from, image + (from * 7) % (image_n - n), n);
			o = read_all(copy, image_n);
			assert_true(o.code == -ENODATA || !memcmp(copy, image, image_n));
		}
	}
}

static void block_head(struct log_block *b, u16 type, const void *data, u32 n)
{
	*b = (struct log_block){
		.magic = LOG_BLOCK_MAGIC,
		.type = type,
		.stored = n,
		.raw = n,
		.number = 1,
		.data_hash = XXH64(data, n, 0),
	};
	b->head_hash = XXH64(b, offsetof(struct log_block, head_hash), 0);
}

/* Puts a block after the schema of the image; b may lie about anything. */
static struct outcome read_made_up(const struct log_block *b, const void *data, size_t n)
{
	char copy[sizeof(image)];
	struct log_block first;
	size_t at = sizeof(struct log_head);

	memcpy(&first, image + at, sizeof(first));
	at += sizeof(first) + first.stored;
	memcpy(copy, image, at);
	memcpy(copy + at, b, sizeof(*b));
	memcpy(copy + at + sizeof(*b), data, n);
	return read_all(copy, at + sizeof(*b) + n);
}

/* Good hashes and bad sizes. */
static void made_up_blocks(void **state)
{
	struct sample s[2] = {sample(0), sample(1)};
	u32 sizes[] = {0, 8, 15, 17, 20, 40, 1000, REC_MAX_SIZE + 8, 0xfffffff8, 0xffffffff};
	struct log_block b;

	(void)state;
	block_head(&b, LOG_RECORDS, s, sizeof(s));
	assert_int_equal(read_made_up(&b, s, sizeof(s)).n, 2);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		s[1].h.size = sizes[i];
		block_head(&b, LOG_RECORDS, s, sizeof(s));
		assert_int_equal(read_made_up(&b, s, sizeof(s)).n, 1);
	}
	s[1] = sample(1);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		block_head(&b, LOG_RECORDS, s, sizeof(s));
		b.stored = b.raw = sizes[i];
		b.data_hash = XXH64(s, MIN(sizes[i], sizeof(s)), 0);
		b.head_hash = XXH64(&b, offsetof(struct log_block, head_hash), 0);
		assert_true(read_made_up(&b, s, sizeof(s)).n <= 1);
		b.codec = LOG_ZSTD;
		b.head_hash = XXH64(&b, offsetof(struct log_block, head_hash), 0);
		assert_int_equal(read_made_up(&b, s, sizeof(s)).n, 0);
	}
}

static void unknown_blocks_are_skipped(void **state)
{
	char copy[sizeof(image)];
	struct log_block b, first;
	size_t at = sizeof(struct log_head);
	struct outcome o;

	(void)state;
	/* The schema becomes one of an unknown type: the records are there all the same. */
	memcpy(copy, image, image_n);
	memcpy(&first, image + at, sizeof(first));
	b = first;
	b.type = 77;
	b.head_hash = XXH64(&b, offsetof(struct log_block, head_hash), 0);
	memcpy(copy + at, &b, sizeof(b));
	o = read_all(copy, image_n);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.n, SAMPLES);
}

static void other_files(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *says;
	} files[] = {
		{"PERFILE2\x68\0\0\0\0\0\0\0", 16, "perf.data"},
		{"hello\nworld\n", 12, "text"},
		{"h", 1, "text"},
		{"gr\xc3\xbc\xc3\x9f dich", 11, "text"},
		{"\x7f"
		 "ELF\2\1\1\0\0\0\0\0",
			12, "ELF"},
		{"\x28\xb5\x2f\xfd\1\2\3\4\5", 9, "zstd"},
		{"\x1f\x8b\1\2\3\4\5\6", 8, "gzip"},
		{"\0\0\0\0\0\0\0\0\0", 9, "not a memwhy recording"},
		{"MEMWHO\1\0", 8, "not a memwhy recording"},
		{"MEMWHY\2\0", 8, "format 2"},
		{"MEMWHY\0\0", 8, "format 0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct outcome o = read_all(files[i].bytes, files[i].n);

		assert_int_equal(o.code, -EINVAL);
		assert_non_null(strstr(o.err.msg, files[i].says));
	}
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/log", dir);
	if (schema_add(&schema, sample_kind, 1))
		return -1;
	make_image();
	return 0;
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
		cmocka_unit_test(whole),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(cut_is_told),
		cmocka_unit_test(flipped_at_every_bit),
		cmocka_unit_test(damage_is_told),
		cmocka_unit_test(pieces_lost_and_swapped),
		cmocka_unit_test(made_up_blocks),
		cmocka_unit_test(unknown_blocks_are_skipped),
		cmocka_unit_test(other_files),
	};

	return cmocka_run_group_tests_name("event log damage", tests, setup, teardown);
}
