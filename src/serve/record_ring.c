/* See ring.h. */
#include "serve/record_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/unlinked.h"
#include "serve/latest.h"
#include "serve/ring_file.h"

#define CHUNK_BYTES RING_CHUNK_BYTES
#define CHUNK_NS (20 * NSEC_PER_SEC)
#define WHY_PROBE "serve" /* of the notes that say what a recording is for */

_Static_assert(CHUNK_BYTES > REC_MAX_SIZE, "any record fits into a chunk");

struct chunk {
	STAILQ_ENTRY(chunk) link;
	u64 first_ns, last_ns;
	u32 raw, packed, records;
	char data[];
};

struct ring {
	u64 keep_ns, max_bytes;
	STAILQ_HEAD(, chunk) chunks; /* oldest first */
	u64 bytes, records, dropped;
	struct latest *before; /* what chunks that are gone have left */
	u64 before_ns;         /* their latest record; 0: none is gone */
	/* The chunk that is being filled. */
	char *raw;
	u32 raw_n, raw_records;
	u64 first_ns, last_ns;
	char *packed; /* room for it when it is packed, or for one that is read */
	size_t packed_cap;
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
};

int ring_new(u64 keep_ns, u64 max_bytes, struct ring **ret)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	STAILQ_INIT(&r->chunks);
	r->keep_ns = keep_ns;
	r->max_bytes = max_bytes;
	r->packed_cap = MAX(ZSTD_compressBound(CHUNK_BYTES), (size_t)CHUNK_BYTES);
	r->raw = malloc(CHUNK_BYTES);
	r->packed = malloc(r->packed_cap);
	r->pack = ZSTD_createCCtx();
	r->unpack = ZSTD_createDCtx();
	if (!r->raw || !r->packed || !r->pack || !r->unpack || latest_new(&r->before)) {
		ring_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	while (!STAILQ_EMPTY(&r->chunks)) {
		struct chunk *c = STAILQ_FIRST(&r->chunks);

		STAILQ_REMOVE_HEAD(&r->chunks, link);
		free(c);
	}
	latest_free(r->before);
	ZSTD_freeCCtx(r->pack);
	ZSTD_freeDCtx(r->unpack);
	free(r->raw);
	free(r->packed);
	free(r);
}

void ring_limit(struct ring *r, u64 keep_ns, u64 max_bytes)
{
	r->keep_ns = keep_ns;
	r->max_bytes = max_bytes;
}

/* Hands out each record of n bytes of them. */
static int records_each(
	const char *data, size_t n, int (*fn)(void *arg, const struct rec *rec), void *arg)
{
	int rc = 0;

	for (size_t at = 0; at + sizeof(struct rec) <= n && !rc;) {
		const struct rec *rec = (const struct rec *)(data + at);

		rc = fn(arg, rec);
		at += rec->size;
	}
	return rc;
}

static int chunk_each(struct ring *r, const struct chunk *c,
	int (*fn)(void *arg, const struct rec *rec), void *arg)
{
	size_t n = ZSTD_decompressDCtx(r->unpack, r->packed, r->packed_cap, c->data, c->packed);

	if (ZSTD_isError(n) || n != c->raw)
		return -EIO;
	return records_each(r->packed, n, fn, arg);
}

static int left_take(void *arg, const struct rec *rec)
{
	struct ring *r = arg;

	latest_put(r->before, rec);
	return 0;
}

static void oldest_drop(struct ring *r)
{
	struct chunk *c = STAILQ_FIRST(&r->chunks);

	(void)chunk_each(r, c, left_take, r); /* it was packed by ourselves */
	STAILQ_REMOVE_HEAD(&r->chunks, link);
	r->before_ns = MAX(r->before_ns, c->last_ns);
	r->bytes -= sizeof(*c) + c->packed;
	r->records -= c->records;
	free(c);
}

/* What the ring takes in all: packed, being filled, and left behind. */
static u64 record_ring_bytes_of(const struct ring *r)
{
	return r->bytes + r->raw_n + latest_bytes(r->before);
}

static void old_drop(struct ring *r, u64 now_ns)
{
	while (!STAILQ_EMPTY(&r->chunks)) {
		const struct chunk *c = STAILQ_FIRST(&r->chunks);

		if (c->last_ns + r->keep_ns >= now_ns && record_ring_bytes_of(r) <= r->max_bytes)
			return;
		oldest_drop(r);
	}
}

static void chunk_close(struct ring *r)
{
	size_t n =
		ZSTD_compressCCtx(r->pack, r->packed, r->packed_cap, r->raw, r->raw_n, ZSTD_LEVEL);
	struct chunk *c = ZSTD_isError(n) ? NULL : malloc(sizeof(*c) + n);

	if (c) {
		*c = (struct chunk){.first_ns = r->first_ns,
			.last_ns = r->last_ns,
			.raw = r->raw_n,
			.packed = (u32)n,
			.records = r->raw_records};
		memcpy(c->data, r->packed, n);
		STAILQ_INSERT_TAIL(&r->chunks, c, link);
		r->bytes += sizeof(*c) + n;
	} else {
		(void)records_each(r->raw, r->raw_n, left_take, r);
		r->dropped += r->raw_records;
		r->records -= r->raw_records;
	}
	r->raw_n = r->raw_records = 0;
	old_drop(r, r->last_ns);
	r->first_ns = 0;
}

/* Names and what is told of the session as such are kept elsewhere (stream_send_names). */
static bool is_kept(const struct rec *rec)
{
	switch (rec->kind) {
	case REC_TASK:
		return true;
	case REC_HOST:
	case REC_SESSION:
	case REC_METHOD:
	case REC_NOTE:
	case REC_TICK:
	case REC_END:
		return false;
	default:
		return !stream_is_name(rec);
	}
}

void ring_put(struct ring *r, const struct rec *rec)
{
	if (!is_kept(rec) || rec->size < sizeof(*rec) || rec->size > REC_MAX_SIZE || rec->size % 8)
		return;
	if (r->raw_n && (r->raw_n + rec->size > CHUNK_BYTES ||
				(rec->time_ns && rec->time_ns > r->first_ns + CHUNK_NS)))
		chunk_close(r);
	memcpy(r->raw + r->raw_n, rec, rec->size);
	r->raw_n += rec->size;
	r->raw_records++;
	r->records++;
	if (!r->first_ns)
		r->first_ns = rec->time_ns;
	r->last_ns = MAX(r->last_ns, rec->time_ns);
}

struct ring_state ring_state(const struct ring *r)
{
	const struct chunk *c = STAILQ_FIRST(&r->chunks);

	return (struct ring_state){
		.bytes = record_ring_bytes_of(r) + 2 * CHUNK_BYTES,
		.records = r->records,
		.dropped = r->dropped,
		.begin_ns = c ? c->first_ns : r->first_ns,
	};
}

/* The session, as if it had begun with the oldest record, and what the recording is for. */
static int begin_send(
	const struct ring *r, const struct stream *names, const char *const *why, struct sink *to)
{
	struct rec_session session = names->session;
	u64 at = session.h.time_ns;
	int rc;

	if (r->before_ns > at) {
		session.wall_ns += r->before_ns - at;
		session.h.time_ns = r->before_ns;
	}
	session.h.size = sizeof(session);
	rc = to->put(to, &names->host.h);
	rc = rc ? rc : to->put(to, &session.h);
	for (; *why && !rc; why++) {
		struct rec_note note = REC_INIT(struct rec_note, REC_NOTE, 0);

		note.h.flags = NOTE_INFO;
		memcpy(note.probe, WHY_PROBE, sizeof(WHY_PROBE));
		snprintf(note.text, sizeof(note.text), "%s", *why);
		rc = to->put(to, &note.h);
	}
	rc = rc ? rc : stream_send_names(names, to);
	return rc ? rc : latest_send(r->before, session.h.time_ns, to);
}

/* What the ring holds, packed and not yet, after what was left behind. */
static int kept_save(const struct ring *r, struct ring_writer *w)
{
	struct chunk *c;
	int rc = ring_writer_part(w, RING_BEFORE);

	rc = rc ? rc : latest_send_sums(r->before, &w->sink);
	rc = rc ? rc : ring_writer_part(w, RING_LAST);
	STAILQ_FOREACH(c, &r->chunks, link)
	rc = rc ? rc : ring_writer_add(w, RING_PACKED, c->data, c->packed, c->raw);
	return rc ? rc : ring_writer_add(w, RING_RAW, r->raw, r->raw_n, r->raw_n);
}

int ring_save(struct ring *r, const struct stream *names, const char *const *why, int fd)
{
	struct rec_tick end = REC_INIT(struct rec_tick, REC_END, MAX(r->last_ns, 1ULL));
	struct ring_writer w;
	int rc;

	ring_writer_init(&w, fd, r->packed);
	rc = begin_send(r, names, why, &w.sink);
	rc = rc ? rc : kept_save(r, &w);
	rc = rc ? rc : w.sink.put(&w.sink, &end.h);
	return rc ? rc : ring_writer_part(&w, RING_LAST);
}
