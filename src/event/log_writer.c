/*
 * Writes the event log, see log.h. It owns the file and one block of records; its memory is set
 * when it is opened. It knows of records only their head.
 *
 * The file always ends with a whole block: what a failed write left of one is cut off again.
 */
#include "event/log.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/units.h"
#include "base/unlinked.h"
#include "event/log_format.h"

struct log_writer {
	struct sink sink;
	int fd;
	char *path;
	int error;  /* of the write that failed: nothing is written any more */
	u64 offset; /* end of the last whole block */
	u32 number; /* of the next block */
	ZSTD_CCtx *zstd;
	char *raw; /* LOG_FLUSH_BYTES: the records of the block to be written */
	size_t raw_n;
	struct log_index_block block; /* what the index will say about it */
	char *out;                    /* head and data as they go to the file */
	size_t out_cap;
	u64 records, dropped;
	struct log_index index;
	struct log_index_block blocks[LOG_INDEX_BLOCKS];
	u64 by_kind[ARRAY_SIZE(((struct schema *)0)->by_number)];
};

static const char *error_hint(int error)
{
	switch (error) {
	case -ENOSPC:
		return "free some space, or record to another file system";
	case -EDQUOT:
		return "the disk quota is used up: free some space, or record elsewhere";
	case -EFBIG:
		return "raise the limit on file sizes (ulimit -f), or record for a shorter time";
	default:
		return "record to another file";
	}
}

bool log_is_recording(int fd)
{
	const struct log_head want = {.magic = LOG_MAGIC};
	struct log_head head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head.magic, want.magic, sizeof(head.magic));
}

/* The file is emptied, unless another memwhy is recording to it. */
static int file_begin(const struct target *to, int *ret, struct err *err)
{
	_cleanup_close_ int fd = -1;
	int rc = target_open(to, &fd, err);

	if (rc)
		return rc;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, -EBUSY, "cannot record to %s: another recording writes to it",
			to->path);
	if (fchmod(fd, 0600) < 0 || ftruncate(fd, 0) < 0)
		return err_errno(err, -errno, "cannot record to %s", to->path);
	*ret = take_fd(fd);
	return 0;
}

static int write_all(int fd, const char *p, size_t n, u64 offset)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		p += done;
		n -= (size_t)done;
		offset += (u64)done;
	}
	return 0;
}

/* Writes what is in w->out, all or nothing. */
static int writer_append(struct log_writer *w, size_t n)
{
	int rc = write_all(w->fd, w->out, n, w->offset);

	if (!rc) {
		w->offset += n;
		return 0;
	}
	w->error = rc;
	/* If even this fails, the reader drops the part by itself. */
	if (ftruncate(w->fd, (off_t)w->offset) < 0)
		return rc;
	return rc;
}

/* Puts the data behind where the head will be; returns how long it is there. */
static size_t block_pack(struct log_writer *w, struct log_block *b, const void *raw, size_t n)
{
	char *data = w->out + sizeof(*b);
	size_t packed;

	if (b->codec == LOG_ZSTD) {
		packed = ZSTD_compressCCtx(
			w->zstd, data, w->out_cap - sizeof(*b), raw, n, ZSTD_LEVEL);
		if (!ZSTD_isError(packed) && packed < n)
			return packed;
		b->codec = LOG_PLAIN;
	}
	memcpy(data, raw, n);
	return n;
}

/* Writes a block; b has its type, codec and what it says about its records. */
static int block_write(struct log_writer *w, struct log_block *b, const void *raw, size_t n)
{
	int rc;

	b->magic = LOG_BLOCK_MAGIC;
	b->stored = (u32)block_pack(w, b, raw, n);
	b->raw = (u32)n;
	b->number = w->number;
	b->data_hash = XXH64(w->out + sizeof(*b), b->stored, 0);
	b->head_hash = XXH64(b, offsetof(struct log_block, head_hash), 0);
	memcpy(w->out, b, sizeof(*b));
	rc = writer_append(w, sizeof(*b) + b->stored);
	if (!rc)
		w->number++;
	return rc;
}

/* What an index can grow to fits where the records were, which are written by then. */
_Static_assert(sizeof(struct log_index) + sizeof(((struct log_writer *)0)->blocks) +
			       ARRAY_SIZE(((struct log_writer *)0)->by_kind) *
				       sizeof(struct log_index_kind) <=
		       LOG_FLUSH_BYTES,
	"an index fits into the buffer of records");

static void raw_add(struct log_writer *w, const void *data, size_t n)
{
	memcpy(w->raw + w->raw_n, data, n);
	w->raw_n += n;
}

/* The last index block also has the totals by kind. */
static int index_write(struct log_writer *w, bool last)
{
	struct log_block b = {.type = LOG_INDEX, .codec = LOG_ZSTD};
	u64 at = w->offset;
	int rc;

	for (size_t i = 0; last && i < ARRAY_SIZE(w->by_kind); i++)
		w->index.kinds += w->by_kind[i] != 0;
	raw_add(w, &w->index, sizeof(w->index));
	raw_add(w, w->blocks, w->index.blocks * sizeof(w->blocks[0]));
	for (size_t i = 0; last && i < ARRAY_SIZE(w->by_kind); i++) {
		struct log_index_kind k = {.kind = (u16)i, .records = w->by_kind[i]};

		if (k.records)
			raw_add(w, &k, sizeof(k));
	}
	rc = block_write(w, &b, w->raw, w->raw_n);
	w->raw_n = 0;
	w->index = (struct log_index){.previous = at};
	return rc;
}

static int records_write(struct log_writer *w)
{
	struct log_block b = {
		.type = LOG_RECORDS,
		.codec = LOG_ZSTD,
		.records = w->block.records,
		.first_ns = w->block.first_ns,
		.last_ns = w->block.last_ns,
	};
	int rc;

	if (w->error || !w->raw_n)
		return w->error;
	w->block.offset = w->offset;
	w->block.number = w->number;
	rc = block_write(w, &b, w->raw, w->raw_n);
	if (rc) {
		w->dropped += w->block.records;
		w->records -= w->block.records;
	} else {
		w->blocks[w->index.blocks++] = w->block;
	}
	w->block = (struct log_index_block){};
	w->raw_n = 0;
	if (!rc && w->index.blocks == LOG_INDEX_BLOCKS)
		rc = index_write(w, false);
	return rc;
}

static void record_add(struct log_writer *w, const struct rec *r)
{
	struct log_index_block *b = &w->block;

	raw_add(w, r, r->size);
	w->by_kind[r->kind]++;
	w->records++;
	b->records++;
	if (!r->time_ns)
		return;
	if (!b->first_ns || r->time_ns < b->first_ns)
		b->first_ns = r->time_ns;
	if (r->time_ns > b->last_ns)
		b->last_ns = r->time_ns;
}

static int writer_put(struct sink *sink, const struct rec *r)
{
	struct log_writer *w = (struct log_writer *)sink; /* its first member */
	int rc;

	if (r->size < sizeof(*r) || r->size > REC_MAX_SIZE || r->size % 8 ||
		r->kind >= ARRAY_SIZE(w->by_kind))
		return -EINVAL;
	if (!w->error && w->raw_n + r->size > LOG_FLUSH_BYTES) {
		rc = records_write(w);
		if (rc) {
			w->dropped++;
			return rc;
		}
	}
	if (w->error)
		w->dropped++; /* the failure was told before */
	else
		record_add(w, r);
	return 0;
}

static void writer_free(struct log_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	ZSTD_freeCCtx(w->zstd);
	free(w->raw);
	free(w->out);
	free(w->path);
	free(w);
}

static void cleanup_writer(struct log_writer **w)
{
	if (*w)
		writer_free(*w);
}

static struct log_writer *writer_new(const char *path)
{
	_cleanup_(cleanup_writer) struct log_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = -1;
	w->sink.put = writer_put;
	w->out_cap = sizeof(struct log_block) + ZSTD_compressBound(LOG_BLOCK_MAX);
	w->path = strdup(path);
	w->raw = malloc(LOG_FLUSH_BYTES);
	w->out = malloc(w->out_cap);
	w->zstd = ZSTD_createCCtx();
	if (!w->path || !w->raw || !w->out || !w->zstd)
		return NULL;
	return take_ptr(w);
}

static int writer_error(const struct log_writer *w, struct err *err)
{
	char bytes[UNIT_BUF], n[UNIT_BUF];

	if (w->dropped)
		err_errno(err, w->error, "writing %s failed after %s, %s records are not in it",
			w->path, fmt_bytes(bytes, w->offset), fmt_count(n, w->dropped));
	else
		err_errno(err, w->error,
			"writing %s failed after %s, it has all records but no index", w->path,
			fmt_bytes(bytes, w->offset));
	err_hint(err, "what was written can be read; %s", error_hint(w->error));
	return w->error;
}

static int head_write(struct log_writer *w, const struct schema *schema, struct err *err)
{
	struct log_block b = {.type = LOG_SCHEMA, .codec = LOG_ZSTD};
	struct log_head head = {.magic = LOG_MAGIC, .version = LOG_VERSION};
	_cleanup_str_ struct str raw = {};
	int rc = log_schema_encode(schema, &raw);

	if (rc)
		return err_errno(err, rc, "cannot describe the records for %s", w->path);
	memcpy(w->out, &head, sizeof(head));
	rc = writer_append(w, sizeof(head));
	if (!rc)
		rc = block_write(w, &b, raw.buf, raw.len);
	if (rc) {
		err_errno(err, rc, "cannot record to %s", w->path);
		err_hint(err, "%s", error_hint(rc));
	}
	return rc;
}

int log_writer_open(const struct target *to, const struct schema *schema, struct log_writer **ret,
	struct err *err)
{
	int fd = -1, rc = file_begin(to, &fd, err);

	return rc ? rc : log_writer_open_fd(fd, to->path, schema, ret, err);
}

int log_writer_open_fd(int fd, const char *name, const struct schema *schema,
	struct log_writer **ret, struct err *err)
{
	_cleanup_(cleanup_writer) struct log_writer *w = writer_new(name);
	int rc;

	if (!w) {
		close(fd);
		return err_errno(err, -ENOMEM, "cannot record to %s", name);
	}
	w->fd = fd;
	rc = head_write(w, schema, err);
	if (!rc)
		*ret = take_ptr(w);
	return rc;
}

struct sink *log_writer_sink(struct log_writer *w)
{
	return &w->sink;
}

int log_writer_flush(struct log_writer *w, struct err *err)
{
	return records_write(w) ? writer_error(w, err) : 0;
}

static int end_write(struct log_writer *w)
{
	struct log_block b = {.type = LOG_END, .codec = LOG_PLAIN};
	struct log_end end;
	int rc = records_write(w);

	if (rc)
		return rc;
	end = (struct log_end){.index = w->offset, .records = w->records};
	rc = index_write(w, true);
	return rc ? rc : block_write(w, &b, &end, sizeof(end));
}

int log_writer_close(struct log_writer *w, struct err *err)
{
	int rc = end_write(w) ? writer_error(w, err) : 0;

	/* Some file systems find out only now that there is no room. */
	if (close(take_fd(w->fd)) < 0 && !rc && errno != EINTR)
		rc = err_errno(err, -errno, "closing %s failed, records may be missing", w->path);
	writer_free(w);
	return rc;
}
