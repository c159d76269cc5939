/* See ring_file.h. */
#include "serve/ring_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "event/meta.h"
#include "event/stream.h"
#include "serve/latest.h"

struct part_head {
	u32 part, stored, raw, reserved;
};

/* Into memory: whole or not at all. */
static int bytes_write(int fd, const void *data, size_t n)
{
	ssize_t k = write(fd, data, n);

	return k < 0 ? -errno : (size_t)k == n ? 0 : -ENOSPC;
}

int ring_writer_add(struct ring_writer *w, enum ring_part part, const void *data, u32 n, u32 raw)
{
	const struct part_head head = {.part = part, .stored = n, .raw = raw};
	int rc = n ? bytes_write(w->fd, &head, sizeof(head)) : 0;

	return rc || !n ? rc : bytes_write(w->fd, data, n);
}

int ring_writer_part(struct ring_writer *w, enum ring_part part)
{
	int rc = ring_writer_add(w, w->part, w->buf, w->n, w->n);

	w->n = 0;
	w->part = part;
	return rc;
}

static int writer_put(struct sink *sink, const struct rec *r)
{
	struct ring_writer *w = (struct ring_writer *)sink; /* its first member */
	int rc = w->n + r->size > RING_CHUNK_BYTES ? ring_writer_part(w, w->part) : 0;

	if (rc)
		return rc;
	memcpy(w->buf + w->n, r, r->size);
	w->n += r->size;
	return 0;
}

void ring_writer_init(struct ring_writer *w, int fd, char *buf)
{
	*w = (struct ring_writer){.sink = {writer_put}, .fd = fd, .buf = buf};
}

/* One recording as it is sent. */
struct sending {
	struct sink *to;
	struct latest *before;
	struct rec_cost cost; /* the last, since the recording's begin; h.size 0: none */
	char *raw;            /* room for a part */
	ZSTD_DCtx *unpack;
};

/* Losses are told as sums since the service began: here since the recording begins. */
static int loss_send(struct sending *s, const struct rec *rec)
{
	struct rec_loss l = *(const struct rec_loss *)rec;
	const struct rec_loss *before = latest_loss(s->before, l.probe);

	l.h.size = sizeof(l);
	if (before) {
		l.seen -= MIN(before->seen, l.seen);
		l.delivered -= MIN(before->delivered, l.delivered);
		l.lost -= MIN(before->lost, l.lost);
	}
	return s->to->put(s->to, &l.h);
}

static void ring_file_cost_take(struct sending *s, const struct rec *rec)
{
	const struct rec_cost *before = latest_cost(s->before);
	struct rec_cost c = *(const struct rec_cost *)rec;

	c.h.size = sizeof(c);
	if (before) {
		c.cpu_ns -= MIN(before->cpu_ns, c.cpu_ns);
		c.bpf_ns -= MIN(before->bpf_ns, c.bpf_ns);
		c.bpf_runs -= MIN(before->bpf_runs, c.bpf_runs);
	}
	s->cost = c;
}

static int kept_send(struct sending *s, const struct rec *rec)
{
	if (task_is_over(rec)) /* a file has names for all of it */
		return 0;
	if (rec->kind == REC_LOSS && rec->size >= sizeof(struct rec_loss))
		return loss_send(s, rec);
	if (rec->kind == REC_COST && rec->size >= sizeof(struct rec_cost)) {
		ring_file_cost_take(s, rec);
		return 0;
	}
	return s->to->put(s->to, rec);
}

static int record_send(struct sending *s, enum ring_part part, const struct rec *rec)
{
	if (part == RING_BEFORE) {
		latest_put(s->before, rec);
		return 0;
	}
	return part == RING_FIRST || part == RING_LAST ? s->to->put(s->to, rec) : kept_send(s, rec);
}

static int records_send(struct sending *s, enum ring_part part, const char *data, size_t n)
{
	int rc = 0;

	if (part == RING_LAST && s->cost.h.size)
		rc = s->to->put(s->to, &s->cost.h);
	for (size_t at = 0; at < n && !rc;) {
		const struct rec *rec = (const struct rec *)(data + at);

		if (n - at < sizeof(*rec) || rec->size < sizeof(*rec) || rec->size > n - at)
			return -EBADMSG;
		rc = record_send(s, part, rec);
		at += rec->size;
	}
	return rc;
}

static int part_send(struct sending *s, const struct part_head *head, const char *data)
{
	size_t n = head->raw;

	if (head->part == RING_PACKED) {
		n = ZSTD_decompressDCtx(s->unpack, s->raw, RING_CHUNK_BYTES, data, head->stored);
		data = s->raw;
	}
	if (ZSTD_isError(n) || n != head->raw)
		return -EBADMSG;
	return records_send(s, head->part, data, n);
}

static int parts_send(struct sending *s, const char *bytes, size_t n)
{
	struct part_head head;
	int rc = 0;

	for (size_t at = 0; at < n && !rc; at += sizeof(head) + head.stored) {
		if (n - at < sizeof(head))
			return -EBADMSG;
		memcpy(&head, bytes + at, sizeof(head));
		if (head.stored > n - at - sizeof(head) ||
			(head.part != RING_PACKED && head.stored != head.raw))
			return -EBADMSG;
		rc = part_send(s, &head, bytes + at + sizeof(head));
	}
	return rc;
}

int ring_file_send(int fd, struct sink *to)
{
	struct sending s = {
		.to = to,
		.raw = malloc(RING_CHUNK_BYTES),
		.unpack = ZSTD_createDCtx(),
	};
	int rc = s.raw && s.unpack ? latest_new(&s.before) : -ENOMEM;
	off_t n = lseek(fd, 0, SEEK_END);
	void *bytes = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

	if (!rc)
		rc = bytes == MAP_FAILED ? -EBADMSG : parts_send(&s, bytes, (size_t)n);
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)n);
	latest_free(s.before);
	ZSTD_freeDCtx(s.unpack);
	free(s.raw);
	return rc;
}
