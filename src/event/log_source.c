/* See log_source.h. */
#include "event/log_source.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* Room for the longest block, and for a good part of the next so that reads stay large. */
#define SOURCE_CAP (sizeof(struct log_block) + LOG_BLOCK_MAX + (128U << 10))

int log_source_init(struct log_source *s, int fd)
{
	*s = (struct log_source){.fd = fd};
	s->buf = malloc(SOURCE_CAP);
	s->raw = malloc(LOG_BLOCK_MAX);
	s->zstd = ZSTD_createDCtx();
	return s->buf && s->raw && s->zstd ? 0 : -ENOMEM;
}

void log_source_destroy(struct log_source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	ZSTD_freeDCtx(s->zstd);
	free(s->buf);
	free(s->raw);
}

static int source_read(struct log_source *s)
{
	ssize_t n;

	do
		n = read(s->fd, s->buf + s->start + s->len, SOURCE_CAP - s->start - s->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	s->eof = !n;
	s->len += (size_t)n;
	return 0;
}

ssize_t log_source_fill(struct log_source *s, size_t n)
{
	if (s->len < n && s->start + n > SOURCE_CAP) {
		memmove(s->buf, s->buf + s->start, s->len);
		s->start = 0;
	}
	while (s->len < n && !s->eof) {
		int rc = source_read(s);

		if (rc)
			return rc;
	}
	return (ssize_t)MIN(s->len, n);
}

void log_source_use(struct log_source *s, size_t n)
{
	s->start += n;
	s->len -= n;
	s->offset += n;
	if (!s->len)
		s->start = 0;
}

/* Fuzzing would not get past the hashes: it is built without. */
static bool hash_good(const void *data, size_t n, u64 hash)
{
#ifdef FUZZING
	(void)data, (void)n, (void)hash;
	return true;
#else
	return XXH64(data, n, 0) == hash;
#endif
}

/* Sizes are checked here, before anything is read or unpacked by them. */
static bool head_good(const struct log_source *s, const struct log_block *b)
{
	return b->magic == LOG_BLOCK_MAGIC && b->stored <= LOG_BLOCK_MAX &&
	       b->raw <= LOG_BLOCK_MAX && b->number >= s->next &&
	       hash_good(b, offsetof(struct log_block, head_hash), b->head_hash);
}

static bool data_unpack(struct log_source *s, const struct log_block *b, const char *data)
{
	if (!hash_good(data, b->stored, b->data_hash))
		return false;
	if (b->codec == LOG_ZSTD)
		return ZSTD_decompressDCtx(s->zstd, s->raw, b->raw, data, b->stored) == b->raw;
	if (b->codec != LOG_PLAIN || b->stored != b->raw)
		return false;
	memcpy(s->raw, data, b->stored);
	return true;
}

static void source_skip(struct log_source *s, size_t n)
{
	s->skipped += n;
	log_source_use(s, n);
}

static const u32 block_magic = LOG_BLOCK_MAGIC;

/* Steps over at least one byte, up to what may be the head of a block. */
static void source_scan(struct log_source *s)
{
	const char *from = s->buf + s->start;
	const char *found = memmem(from + 1, s->len - 1, &block_magic, sizeof(block_magic));
	size_t keep = MIN(s->len - 1, sizeof(block_magic) - 1);

	if (found)
		source_skip(s, (size_t)(found - from));
	else /* its first bytes may be the last ones here */
		source_skip(s, s->eof ? s->len : s->len - keep);
}

/* The head was good, the data was not; b->number >= s->next. */
static void damage_add(struct log_source *s, const struct log_block *b)
{
	struct log_damage *d = &s->damage;

	d->blocks += b->number - s->next + 1;
	s->next = b->number + 1ULL;
	if (b->type != LOG_RECORDS)
		return;
	d->records += b->records;
	if (b->first_ns && (!d->first_ns || b->first_ns < d->first_ns))
		d->first_ns = b->first_ns;
	d->last_ns = MAX(d->last_ns, b->last_ns);
}

static void block_accept(struct log_source *s, const struct log_block *b)
{
	size_t bytes = sizeof(*b) + b->stored;

	s->damage.bytes += s->skipped;
	s->damage.blocks += b->number - s->next;
	s->damage.cut = false;
	s->skipped = 0;
	s->next = b->number + 1ULL;
	s->block = *b;
	s->good_bytes += bytes;
	log_source_use(s, bytes);
}

/* The bytes at hand begin with a good head. 1: the block is good; 0: stepped over it; -errno. */
static int block_take(struct log_source *s, const struct log_block *b)
{
	size_t bytes = sizeof(*b) + b->stored;
	ssize_t have = log_source_fill(s, bytes);

	if (have < 0)
		return (int)have;
	if ((size_t)have == bytes && data_unpack(s, b, s->buf + s->start + sizeof(*b))) {
		block_accept(s, b);
		return 1;
	}
	s->damage.cut = (size_t)have < bytes;
	if (!s->damage.cut)
		damage_add(s, b);
	/* The head can be trusted in this: looking inside the block for another could take
	 * forever in a file made for it. */
	source_skip(s, (size_t)have);
	return 0;
}

int log_source_next(struct log_source *s)
{
	for (;;) {
		struct log_block b;
		ssize_t have = log_source_fill(s, sizeof(b));
		int rc;

		if (have < 0)
			return (int)have;
		if (!have)
			break;
		if ((size_t)have < sizeof(b)) {
			s->damage.cut = !memcmp(s->buf + s->start, &block_magic,
				MIN((size_t)have, sizeof(block_magic)));
			source_skip(s, (size_t)have);
			continue;
		}
		memcpy(&b, s->buf + s->start, sizeof(b));
		if (!head_good(s, &b)) {
			source_scan(s);
			continue;
		}
		rc = block_take(s, &b);
		if (rc)
			return rc;
	}
	s->damage.tail_bytes = s->skipped;
	return 0;
}
