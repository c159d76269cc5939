/*
 * From the bytes of a file to records that wait to be handed out: unpacks what is compressed,
 * takes what perf adds for its own purposes, and steps over the rest. See reader.h.
 */
#include <errno.h>
#include <zstd.h>

#include "perfdata/reader.h"
#include "perfdata/record.h"

#define RECORD_MAX 65536

void reader_malformed(struct perfdata *p, u64 offset, const char *reason)
{
	if (!p->stats.malformed++) {
		p->reason = reason;
		p->reason_at = offset;
	}
}

ssize_t raw_fill(struct perfdata *p, size_t n)
{
	while (tape_has(&p->raw) < n && p->left) {
		char *to;
		size_t room;
		ssize_t got;
		int rc = tape_room(&p->raw, n, &to, &room);

		if (rc)
			return rc;
		do
			got = read(p->fd, to, MIN((u64)room, p->left));
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		tape_wrote(&p->raw, (size_t)got);
		p->stats.bytes += (u64)got;
		if (p->left != ~0ULL)
			p->left -= (u64)got;
	}
	return (ssize_t)MIN(tape_has(&p->raw), n);
}

static struct perfdata_head head_read(const char *at, bool swap)
{
	struct perfdata_head h;

	memcpy(&h, at, sizeof(h));
	h.type = swap_u32(h.type, swap);
	h.misc = swap_u16(h.misc, swap);
	h.size = swap_u16(h.size, swap);
	return h;
}

/* Records behind one whose size is no multiple of 8 are moved to where their numbers are aligned:
 * perf wrote such compressed ones up to Linux 6.15. */
static int record_align(struct perfdata *p, const struct tape *from, size_t size, struct entry *e)
{
	char *to;
	size_t room;
	int rc;

	e->chunk = from->chunk;
	e->at = (u32)from->at;
	if (from->at % 8 == 0)
		return 0;
	rc = tape_room(&p->moved, RECORD_MAX, &to, &room);
	if (rc)
		return rc;
	memcpy(to, tape_head(from), size);
	e->chunk = p->moved.chunk;
	e->at = (u32)p->moved.at;
	tape_wrote(&p->moved, (size + 7) & ~7UL);
	tape_used(&p->moved, (size + 7) & ~7UL);
	return 0;
}

/* One of the kernel's, whole at the head of the tape. */
static int record_queue(struct perfdata *p, const struct tape *from,
	const struct perfdata_head *head, struct entry *e)
{
	struct cursor c = {.left = head->size - sizeof(*head), .swap = p->swap};
	int rc = record_align(p, from, head->size, e);

	if (rc)
		return rc;
	c.p = e->chunk->data + e->at + sizeof(*head);
	e->time = record_time(&p->events, head, c);
	chunk_hold(e->chunk);
	if (p->unordered || !e->time)
		return 1;
	rc = order_put(&p->order, e);
	if (rc)
		chunk_drop(&p->chunks, e->chunk);
	else if (p->chunks.n * sizeof(struct chunk) + order_bytes(&p->order) > p->max_queued)
		rc = order_half(&p->order);
	return rc;
}

int reader_feature(struct perfdata *p, u32 feature, struct cursor *c, u64 offset)
{
	int rc = feature == PERFDATA_FEAT_EVENT_DESC ? perf_events_describe(&p->events, c)
						     : host_take(&p->host, feature, c);

	if (rc == -EBADMSG)
		reader_malformed(p, offset, "a feature of the recording");
	return rc == -EBADMSG ? 0 : rc;
}

/* An event of a pipe: as many bytes as its attributes say they have, then ids. */
static int attr_take(struct perfdata *p, struct cursor *c)
{
	struct perfdata_event *event;
	u32 size = 0;
	int rc;

	if (c->left >= 8)
		memcpy(&size, c->p + 4, sizeof(size));
	size = swap_u32(size, c->swap);
	rc = perf_events_add(&p->events, c, size ? size : 64, &event);
	while (!rc && c->left >= 8)
		rc = perf_events_add_id(&p->events, cursor_u64(c), event);
	return rc == -E2BIG ? -EBADMSG : rc;
}

static int packed_take(struct perfdata *p, const struct perfdata_head *head, struct cursor *c)
{
	if (head->type == PERFDATA_COMPRESSED2) {
		u64 size = cursor_u64(c);

		if (c->bad || size > c->left)
			return -EBADMSG;
		c->left = size;
	}
	if (p->packed.broken)
		return -EBADMSG;
	if (!p->zstd) {
		p->zstd = ZSTD_createDStream();
		if (!p->zstd || ZSTD_isError(ZSTD_initDStream(p->zstd)))
			return -ENOMEM;
	}
	chunk_hold(p->raw.chunk);
	p->packed.chunk = p->raw.chunk;
	p->packed.p = c->p;
	p->packed.n = c->left;
	p->packed.offset = p->raw.offset;
	return 0;
}

/* Bytes that follow a record without being in its size. */
static int trailing_take(
	struct perfdata *p, const struct perfdata_head *head, struct cursor *c, bool inner)
{
	u64 n = head->type == PERFDATA_AUXTRACE ? cursor_u64(c) : cursor_u32(c);

	if (c->bad || inner)
		return -EBADMSG;
	if (head->type == PERFDATA_TRACING_DATA)
		n = (n + 7) & ~7ULL;
	p->skip = n;
	return 0;
}

static int own_parse(
	struct perfdata *p, const struct perfdata_head *head, struct cursor *c, bool inner)
{
	u64 feature;

	switch (head->type) {
	case PERFDATA_FINISHED_ROUND:
		return order_round(&p->order);
	case PERFDATA_ATTR:
		return attr_take(p, c);
	case PERFDATA_EVENT_UPDATE:
		return perf_events_update(&p->events, c);
	case PERFDATA_FEATURE:
		feature = cursor_u64(c);
		if (c->bad || feature >= PERFDATA_FEAT_MAX)
			return -EBADMSG;
		return reader_feature(p, (u32)feature, c, p->raw.offset);
	case PERFDATA_BUILD_ID:
		return host_build_id(&p->host, head, c);
	case PERFDATA_COMPRESSED:
	case PERFDATA_COMPRESSED2:
		return inner ? -EBADMSG : packed_take(p, head, c);
	case PERFDATA_AUXTRACE:
	case PERFDATA_TRACING_DATA:
		return trailing_take(p, head, c, inner);
	default:
		p->stats.skipped++;
		return 0;
	}
}

/* One of perf's own. */
static int own_take(
	struct perfdata *p, const struct tape *from, const struct perfdata_head *head, u64 offset)
{
	struct cursor c = {.p = tape_head(from) + sizeof(*head),
		.left = head->size - sizeof(*head),
		.swap = p->swap};
	int rc = own_parse(p, head, &c, from == &p->unpacked);

	if (rc != -EBADMSG)
		return rc;
	reader_malformed(p, offset, "a record of perf's own");
	return 0;
}

/* The record at the head of a tape. 1, 0, -errno as reader_step(). */
static int perf_source_record_take(struct perfdata *p, struct tape *from,
	const struct perfdata_head *head, u64 offset, struct entry *e)
{
	int rc;

	e->offset = offset;
	if (head->type >= PERFDATA_KERNEL_TYPES)
		rc = own_take(p, from, head, offset);
	else
		rc = record_queue(p, from, head, e);
	if (rc >= 0)
		tape_used(from, head->size);
	return rc;
}

/* Nothing that follows can be made out. */
static int reader_stop(struct perfdata *p, u64 offset, const char *reason)
{
	if (reason)
		reader_malformed(p, offset, reason);
	p->cut = !reason;
	p->cut_at = offset;
	p->ended = true;
	return order_all(&p->order);
}

static int packed_broken(struct perfdata *p, const char *reason)
{
	p->packed.broken = true;
	tape_used(&p->unpacked, tape_has(&p->unpacked));
	reader_malformed(p, p->packed.offset, reason);
	p->packed.n = 0;
	p->packed.more = false;
	return 0;
}

/* Unpacks up to a chunk more. */
static int packed_step(struct perfdata *p)
{
	ZSTD_inBuffer in = {.src = p->packed.p, .size = p->packed.n};
	ZSTD_outBuffer out = {};
	char *to;
	int rc = tape_room(&p->unpacked, RECORD_MAX, &to, &out.size);

	if (rc)
		return rc;
	out.dst = to;
	if (ZSTD_isError(ZSTD_decompressStream(p->zstd, &out, &in)))
		return packed_broken(p, "compressed records that cannot be unpacked");
	tape_wrote(&p->unpacked, out.pos);
	p->stats.unpacked += out.pos;
	p->packed.p += in.pos;
	p->packed.n -= in.pos;
	p->packed.more = out.pos == out.size;
	if (p->packed.n && !in.pos && !out.pos) /* neither takes nor gives: it never will */
		return packed_broken(p, "compressed records that cannot be unpacked");
	return 0;
}

/* A whole record out of compressed ones. 2: there is none. */
static int unpacked_step(struct perfdata *p, struct entry *e)
{
	size_t has = tape_has(&p->unpacked);
	struct perfdata_head head;

	if (has < sizeof(head))
		return 2;
	head = head_read(tape_head(&p->unpacked), p->swap);
	if (head.size < sizeof(head))
		return packed_broken(p, "a compressed record without a size");
	if (has < head.size)
		return 2;
	return perf_source_record_take(p, &p->unpacked, &head, p->packed.offset, e);
}

/* What follows a record and is not wanted. */
static int skip_step(struct perfdata *p)
{
	ssize_t have = raw_fill(p, 1);
	u64 n;

	if (have < 0)
		return (int)have;
	if (!have)
		return reader_stop(p, p->raw.offset, NULL);
	n = MIN(p->skip, (u64)tape_has(&p->raw));
	tape_used(&p->raw, (size_t)n);
	p->skip -= n;
	return 0;
}

static int raw_step(struct perfdata *p, struct entry *e)
{
	u64 offset = p->raw.offset;
	struct perfdata_head head;
	ssize_t have = raw_fill(p, sizeof(head));

	if (have < 0)
		return (int)have;
	if (!have) {
		p->ended = true;
		p->cut = p->left && p->left != ~0ULL;
		p->cut_at = offset;
		return order_all(&p->order);
	}
	if (have < (ssize_t)sizeof(head))
		return reader_stop(p, offset, NULL);
	head = head_read(tape_head(&p->raw), p->swap);
	if (head.size < sizeof(head))
		return reader_stop(p, offset, "a record without a size: what follows is lost");
	have = raw_fill(p, head.size);
	if (have < 0)
		return (int)have;
	if (have < head.size)
		return reader_stop(p, offset, NULL);
	return perf_source_record_take(p, &p->raw, &head, offset, e);
}

int reader_step(struct perfdata *p, struct entry *e)
{
	int rc = unpacked_step(p, e);

	if (rc != 2)
		return rc;
	if (p->packed.n || p->packed.more)
		return packed_step(p);
	if (p->packed.chunk) {
		chunk_drop(&p->chunks, p->packed.chunk);
		p->packed.chunk = NULL;
	}
	return p->skip ? skip_step(p) : raw_step(p, e);
}
