/* The event log, whole: what is written is read back, by other versions, over pipes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <xxhash.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/str.h"
#include "event/log.h"
#include "event/log_format.h"
#include "event/meta.h"

struct sample {
	struct rec h;
	u64 number;
	u32 a;
	u32 b;
	char text[16];
};

static const struct field sample_fields[] = {
	FIELD(struct sample, number, FIELD_U64, UNIT_COUNT, "number"),
	FIELD(struct sample, a, FIELD_U32, UNIT_ID, "a"),
	FIELD(struct sample, b, FIELD_U32, UNIT_ID, "b"),
	FIELD_ARRAY(struct sample, text, FIELD_CHARS, UNIT_NONE, 16, "text"),
};

static const struct kind sample_kind[] = {
	KIND(300, struct sample, "sample", sample_fields, "a record of this test"),
};

static struct schema schema;
static char dir[] = "/tmp/memwhy-log-XXXXXX";
static char path[64];

static struct log_writer *writer_open(void)
{
	struct log_writer *w = NULL;
	struct err err = {};

	assert_int_equal(
		log_writer_open((struct target[]){log_target(path)}, &schema, &w, &err), 0);
	assert_non_null(w);
	return w;
}

static void writer_close(struct log_writer *w)
{
	struct err err = {};

	assert_int_equal(log_writer_close(w, &err), 0);
}

static void put(struct log_writer *w, const struct rec *r)
{
	struct sink *sink = log_writer_sink(w);

	assert_int_equal(sink->put(sink, r), 0);
}

static struct sample sample(u64 number)
{
	return (struct sample){
		.h = {.size = sizeof(struct sample), .kind = 300, .time_ns = 1000 + number * 10},
		.number = number,
		.a = (u32)number * 7,
		.text = "text",
	};
}

static void put_samples(struct log_writer *w, u64 from, u64 to)
{
	for (u64 i = from; i < to; i++) {
		struct sample s = sample(i);

		put(w, &s.h);
	}
}

static struct log_reader *reader_open(void)
{
	struct log_reader *r = NULL;
	struct err err = {};

	assert_int_equal(log_reader_open(path, &r, &err), 0);
	return r;
}

/* Reads samples number 0 on; returns how many there are before the end, which is in order. */
static u64 read_samples(struct log_reader *r)
{
	const struct rec *rec;
	struct err err = {};
	u64 n = 0;
	int rc;

	while ((rc = log_reader_next(r, &schema, &rec, &err)) == 1) {
		struct sample want = sample(n++);

		assert_int_equal(rec->size, sizeof(want));
		assert_memory_equal(rec, &want, sizeof(want));
	}
	assert_int_equal(rc, 0);
	assert_int_equal(log_reader_next(r, &schema, &rec, &err), 0);
	return n;
}

/* Random records are made again from the same seed to be compared. */
static u32 random_next(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void random_record(u32 *state, struct rec *r)
{
	u32 size = random_next(state) % 50 ? random_next(state) % 256 : random_next(state) % 65536;

	r->size = MIN(sizeof(*r) + ((size + 7) & ~7U), REC_MAX_SIZE);
	r->kind = (u16)(301 + random_next(state) % 200);
	r->flags = (u16)random_next(state);
	r->time_ns = random_next(state) % 3 ? random_next(state) : 0;
	for (u32 i = sizeof(*r); i < r->size; i++)
		((u8 *)r)[i] = (u8)(random_next(state) >> (i & 7));
}

static void round_trip_random(void **state)
{
	static u64 buf[REC_MAX_SIZE / 8];
	struct rec *want = (struct rec *)buf;
	struct log_writer *w = writer_open();
	u32 written = 1, read = 1;
	struct log_reader *r;
	const struct rec *rec;
	struct err err = {};

	(void)state;
	for (int i = 0; i < 5000; i++) {
		random_record(&written, want);
		put(w, want);
	}
	writer_close(w);
	r = reader_open();
	for (int i = 0; i < 5000; i++) {
		random_record(&read, want);
		assert_int_equal(log_reader_next(r, &schema, &rec, &err), 1);
		assert_int_equal(rec->size, want->size);
		assert_int_equal((uintptr_t)rec % 8, 0);
		assert_memory_equal(rec, want, want->size);
	}
	assert_int_equal(log_reader_next(r, &schema, &rec, &err), 0);
	log_reader_close(r);
}

static void empty_log_is_whole(void **state)
{
	struct log_reader *r;
	struct stat st;

	(void)state;
	writer_close(writer_open());
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	r = reader_open();
	assert_int_equal(read_samples(r), 0);
	log_reader_close(r);
}

/* What was flushed is there while the writer goes on, and when it never closes. */
static void flush_makes_readable(void **state)
{
	struct log_writer *w = writer_open();
	struct log_reader *r;
	const struct rec *rec;
	struct err err = {};

	(void)state;
	put_samples(w, 0, 10);
	assert_int_equal(log_writer_flush(w, &err), 0);
	assert_int_equal(log_writer_flush(w, &err), 0); /* nothing to do */
	put_samples(w, 10, 20);
	r = reader_open();
	for (u64 i = 0; i < 10; i++)
		assert_int_equal(log_reader_next(r, &schema, &rec, &err), 1);
	assert_int_equal(log_reader_next(r, &schema, &rec, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "was not closed in order"));
	assert_non_null(strstr(err.msg, "up to 90 ns after the start"));
	assert_true(err.hint[0]);
	assert_int_equal(log_reader_next(r, &schema, &rec, &err), -ENODATA);
	log_reader_close(r);
	writer_close(w);
	r = reader_open();
	assert_int_equal(read_samples(r), 20);
	log_reader_close(r);
}

static void malformed_records_are_refused(void **state)
{
	struct log_writer *w = writer_open();
	struct sink *sink = log_writer_sink(w);
	struct sample s = sample(0);
	struct log_reader *r;

	(void)state;
	s.h.size = 8;
	assert_int_equal(sink->put(sink, &s.h), -EINVAL);
	s.h.size = 17;
	assert_int_equal(sink->put(sink, &s.h), -EINVAL);
	s.h.size = REC_MAX_SIZE + 8;
	assert_int_equal(sink->put(sink, &s.h), -EINVAL);
	s.h.size = sizeof(s);
	s.h.kind = REC_KINDS;
	assert_int_equal(sink->put(sink, &s.h), -EINVAL);
	put_samples(w, 0, 3);
	writer_close(w);
	r = reader_open();
	assert_int_equal(read_samples(r), 3);
	log_reader_close(r);
}

static void schema_is_in_the_file(void **state)
{
	struct log_reader *r;
	const struct kind *k;

	(void)state;
	writer_close(writer_open());
	r = reader_open();
	k = schema_find(log_reader_schema(r), 300);
	assert_non_null(k);
	assert_string_equal(k->name, "sample");
	assert_int_equal(k->size, sizeof(struct sample));
	assert_int_equal(k->n_fields, 4);
	assert_string_equal(k->fields[3].name, "text");
	assert_int_equal(k->fields[3].count, 16);
	for (size_t i = 0; i < meta_kinds_n; i++)
		assert_non_null(schema_find(log_reader_schema(r), meta_kinds[i].kind));
	log_reader_close(r);
}

/* A record of an older writer grows to what the reader knows; a newer one's stays longer. */
static void records_grow(void **state)
{
	struct old {
		struct rec h;
		u64 number;
	} old = {.h = {.size = sizeof(old), .kind = 300}, .number = 5};
	static const struct field fields[] = {
		FIELD(struct old, number, FIELD_U64, UNIT_COUNT, "number"),
	};
	static const struct kind kind[] = {KIND(300, struct old, "sample", fields, "as it was")};
	struct schema known = {};
	struct sample new = sample(6);
	struct log_writer *w = writer_open();
	struct log_reader *r;
	const struct rec *rec;
	struct err err = {};

	(void)state;
	assert_int_equal(schema_add(&known, kind, 1), 0);
	put(w, &old.h);
	put(w, &new.h);
	writer_close(w);
	r = reader_open(); /* newer reader */
	assert_int_equal(log_reader_next(r, &schema, &rec, &err), 1);
	assert_int_equal(rec->size, sizeof(struct sample));
	assert_int_equal(((const struct sample *)rec)->number, 5);
	assert_int_equal(((const struct sample *)rec)->a, 0);
	assert_int_equal(((const struct sample *)rec)->text[15], 0);
	log_reader_close(r);
	r = reader_open(); /* older reader */
	assert_int_equal(log_reader_next(r, &known, &rec, &err), 1);
	assert_int_equal(rec->size, sizeof(old));
	assert_int_equal(log_reader_next(r, &known, &rec, &err), 1);
	assert_int_equal(rec->size, sizeof(new));
	assert_memory_equal(rec, &new, sizeof(new));
	assert_int_equal(log_reader_next(r, &known, &rec, &err), 0);
	log_reader_close(r);
	r = reader_open(); /* knows nothing: the file's own schema says how long they are */
	assert_int_equal(log_reader_next(r, NULL, &rec, &err), 1);
	assert_int_equal(rec->size, sizeof(struct sample));
	log_reader_close(r);
}

static void unknown_kinds_come_as_they_are(void **state)
{
	struct rec strange = {.size = sizeof(strange), .kind = 499, .flags = 3, .time_ns = 1};
	struct log_writer *w = writer_open();
	struct log_reader *r;
	const struct rec *rec;
	struct err err = {};

	(void)state;
	put(w, &strange);
	writer_close(w);
	r = reader_open();
	assert_int_equal(log_reader_next(r, &schema, &rec, &err), 1);
	assert_memory_equal(rec, &strange, sizeof(strange));
	assert_int_equal(log_reader_next(r, &schema, &rec, &err), 0);
	log_reader_close(r);
}

/* The child copies the file into the pipe in pieces that fit nothing. */
static void reads_from_a_pipe(void **state)
{
	struct log_writer *w = writer_open();
	struct log_reader *r;
	struct err err = {};
	int fds[2], status;
	pid_t pid;

	(void)state;
	put_samples(w, 0, 50000);
	writer_close(w);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		char buf[777];
		int fd = open(path, O_RDONLY);
		ssize_t n;

		while ((n = read(fd, buf, sizeof(buf))) > 0) {
			if (write(fds[1], buf, (size_t)n) != n)
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(log_reader_open_fd(fds[0], "pipe", &r, &err), 0);
	assert_int_equal(read_samples(r), 50000);
	log_reader_close(r);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The file as another program would see it. */
struct view {
	char *p;
	size_t n;
};

static struct view view_open(void)
{
	int fd = open(path, O_RDONLY);
	struct view v;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	v.n = (size_t)st.st_size;
	v.p = mmap(NULL, v.n, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(v.p != MAP_FAILED);
	close(fd);
	return v;
}

static struct log_block view_block(struct view v, u64 offset)
{
	struct log_block b;

	assert_true(offset + sizeof(b) <= v.n);
	memcpy(&b, v.p + offset, sizeof(b));
	assert_int_equal(b.magic, LOG_BLOCK_MAGIC);
	assert_true(offset + sizeof(b) + b.stored <= v.n);
	assert_true(b.head_hash == XXH64(&b, offsetof(struct log_block, head_hash), 0));
	assert_true(b.data_hash == XXH64(v.p + offset + sizeof(b), b.stored, 0));
	return b;
}

/* Walks one index block. Adds up its records, checks each entry, returns the one before. */
static u64 view_index(struct view v, u64 offset, u64 *blocks, u64 *records, u64 *total)
{
	static char raw[LOG_BLOCK_MAX] __attribute__((aligned(8)));
	struct log_block b = view_block(v, offset);
	const struct log_index *index = (const struct log_index *)raw;
	const struct log_index_block *e = (const struct log_index_block *)(index + 1);
	const struct log_index_kind *k;

	assert_int_equal(b.type, LOG_INDEX);
	assert_int_equal(b.codec, LOG_ZSTD);
	assert_int_equal(
		ZSTD_decompress(raw, sizeof(raw), v.p + offset + sizeof(b), b.stored), b.raw);
	for (u32 i = 0; i < index->blocks; i++, e++) {
		struct log_block of = view_block(v, e->offset);

		assert_int_equal(of.type, LOG_RECORDS);
		assert_int_equal(of.number, e->number);
		assert_int_equal(of.records, e->records);
		assert_true(of.first_ns == e->first_ns && of.last_ns == e->last_ns);
		*records += e->records;
	}
	*blocks += index->blocks;
	k = (const struct log_index_kind *)e;
	for (u32 i = 0; i < index->kinds; i++)
		*total += k[i].records;
	return index->previous;
}

static void index_finds_all_blocks(void **state)
{
	const u64 n = LOG_INDEX_BLOCKS * 2 + 7;
	struct log_writer *w = writer_open();
	u64 blocks = 0, records = 0, total = 0;
	struct log_reader *r;
	struct log_end end;
	struct view v;

	(void)state;
	for (u64 i = 0; i < n; i++) {
		put_samples(w, i, i + 1);
		assert_int_equal(log_writer_flush(w, NULL), 0);
	}
	writer_close(w);
	v = view_open();
	assert_int_equal(view_block(v, v.n - LOG_END_BYTES).type, LOG_END);
	memcpy(&end, v.p + v.n - sizeof(end), sizeof(end));
	assert_int_equal(end.records, n);
	for (u64 at = end.index; at;)
		at = view_index(v, at, &blocks, &records, &total);
	assert_int_equal(blocks, n);
	assert_int_equal(records, n);
	assert_int_equal(total, n);
	munmap(v.p, v.n);
	r = reader_open();
	assert_int_equal(read_samples(r), n);
	log_reader_close(r);
}

static void file_is_replaced(void **state)
{
	struct log_writer *w = writer_open(), *other = NULL;
	struct log_reader *r;
	struct err err = {};

	(void)state;
	put_samples(w, 0, 1000);
	writer_close(w);
	assert_int_equal(chmod(path, 0644), 0);
	empty_log_is_whole(NULL); /* and private */
	w = writer_open();
	put_samples(w, 0, 10);
	assert_int_equal(
		log_writer_open((struct target[]){log_target(path)}, &schema, &other, &err),
		-EBUSY);
	assert_null(other);
	writer_close(w);
	r = reader_open();
	assert_int_equal(read_samples(r), 10);
	log_reader_close(r);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/log", dir);
	if (schema_add(&schema, meta_kinds, meta_kinds_n))
		return -1;
	return schema_add(&schema, sample_kind, 1);
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
		cmocka_unit_test(round_trip_random),
		cmocka_unit_test(empty_log_is_whole),
		cmocka_unit_test(flush_makes_readable),
		cmocka_unit_test(malformed_records_are_refused),
		cmocka_unit_test(schema_is_in_the_file),
		cmocka_unit_test(records_grow),
		cmocka_unit_test(unknown_kinds_come_as_they_are),
		cmocka_unit_test(reads_from_a_pipe),
		cmocka_unit_test(index_finds_all_blocks),
		cmocka_unit_test(file_is_replaced),
	};

	return cmocka_run_group_tests_name("event log", tests, setup, teardown);
}
