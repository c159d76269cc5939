/*
 * The head of a perf.data file: which kind it is, its events, and what it says of the machine
 * (features, which a file has behind its records). See reader.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/units.h"
#include "perfdata/reader.h"

#define ATTR_SIZE_MAX 4096
#define FEATURE_MAX (64U << 20)
#define HEAD_OLD offsetof(struct perfdata_file_head, features) /* without features */

bool perfdata_is(const void *head, size_t n)
{
	return n >= 8 &&
	       (!memcmp(head, PERFDATA_MAGIC, 8) || !memcmp(head, PERFDATA_MAGIC_OLD, 8) ||
		       !memcmp(head, PERFDATA_MAGIC_SWAPPED, 8));
}

/* Reads n bytes, at their place if it is a file: how many there were, or -errno. */
static ssize_t bytes_read(struct perfdata *p, void *to, size_t n, u64 offset)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got =
			p->pipe ? read(p->fd, (char *)to + have, n - have)
				: pread(p->fd, (char *)to + have, n - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static int head_cut(const struct perfdata *p, struct err *err)
{
	return err_set(
		err, -ENODATA, "%s is cut within its header: no record can be read", p->name);
}

static int refused(struct err *err, const char *hint)
{
	err_hint(err, "%s", hint);
	return -EINVAL;
}

/* A section that is wholly in the file, in memory of its own; the caller frees it. */
static int section_read(
	struct perfdata *p, const struct perfdata_section *s, size_t max, char **ret)
{
	char *buf;
	ssize_t n;

	if (s->size > max || s->offset > p->file_bytes || s->size > p->file_bytes - s->offset)
		return -EBADMSG;
	buf = malloc(s->size ? s->size : 1);
	if (!buf)
		return -ENOMEM;
	n = bytes_read(p, buf, s->size, s->offset);
	if (n != (ssize_t)s->size) {
		free(buf);
		return n < 0 ? (int)n : -EBADMSG;
	}
	*ret = buf;
	return 0;
}

static int ids_read(
	struct perfdata *p, const struct perfdata_section *section, struct perfdata_event *event)
{
	struct cursor c = {.left = section->size, .swap = p->swap};
	_cleanup_free_ char *buf = NULL;
	int rc = section_read(p, section, FEATURE_MAX, &buf);

	c.p = buf;
	while (!rc && c.left >= 8)
		rc = perf_events_add_id(&p->events, cursor_u64(&c), event);
	return rc;
}

static int attrs_read(struct perfdata *p, const struct perfdata_file_head *h)
{
	size_t attr = h->attr_size - sizeof(struct perfdata_section);
	struct cursor c = {.left = h->attrs.size, .swap = p->swap};
	_cleanup_free_ char *buf = NULL;
	int rc = section_read(p, &h->attrs, FEATURE_MAX, &buf);

	c.p = buf;
	while (!rc && c.left >= h->attr_size) {
		struct perfdata_section ids;
		struct perfdata_event *event;

		rc = perf_events_add(&p->events, &c, attr, &event);
		ids.offset = cursor_u64(&c);
		ids.size = cursor_u64(&c);
		if (!rc)
			rc = ids_read(p, &ids, event);
	}
	return rc;
}

/* A set of bits of a machine of the other byte order: of 64 bits, or else of 32 bits a word. There
 * is no file without the name of its host. */
static u64 features_word(const struct perfdata *p, u64 raw, u64 first)
{
	u64 v = swap_u64(raw, p->swap);
	bool words32 = p->swap && !(swap_u64(first, true) >> PERFDATA_FEAT_HOSTNAME & 1);

	return words32 ? v >> 32 | v << 32 : v;
}

/* What is damaged is left out; a file that is cut has none. */
static int features_read(struct perfdata *p, const struct perfdata_file_head *h)
{
	u64 at = h->data.offset + h->data.size;
	int rc = 0;

	for (u32 f = 0; !rc && f < PERFDATA_FEAT_MAX; f++) {
		struct perfdata_section raw, s;
		struct cursor c = {.swap = p->swap};
		_cleanup_free_ char *buf = NULL;

		if (!(features_word(p, h->features[f / 64], h->features[0]) >> f % 64 & 1))
			continue;
		if (bytes_read(p, &raw, sizeof(raw), at) != sizeof(raw)) {
			p->features_missing++;
			continue;
		}
		at += sizeof(raw);
		s.offset = swap_u64(raw.offset, p->swap);
		s.size = swap_u64(raw.size, p->swap);
		rc = section_read(p, &s, FEATURE_MAX, &buf);
		c.p = buf;
		c.left = rc ? 0 : s.size;
		if (!rc)
			rc = reader_feature(p, f, &c, s.offset);
		else if (rc == -EBADMSG)
			rc = 0, p->features_missing++;
	}
	return rc;
}

/* Sizes and places are checked here, before anything is read by them. */
static int file_head_read(struct perfdata *p, u64 size, struct perfdata_file_head *h)
{
	struct cursor c = {.swap = p->swap};
	_cleanup_free_ char *buf = NULL;
	int rc = section_read(
		p, &(struct perfdata_section){0, MIN(size, sizeof(*h))}, sizeof(*h), &buf);

	if (rc)
		return rc;
	c.p = buf + 16;
	c.left = MIN(size, sizeof(*h)) - 16;
	*h = (struct perfdata_file_head){.size = size};
	h->attr_size = cursor_u64(&c);
	h->attrs.offset = cursor_u64(&c);
	h->attrs.size = cursor_u64(&c);
	h->data.offset = cursor_u64(&c);
	h->data.size = cursor_u64(&c);
	(void)cursor_take(&c, 16);
	memcpy(h->features, c.p, c.left);
	if (h->attr_size < 64 + sizeof(struct perfdata_section) || h->attr_size > ATTR_SIZE_MAX ||
		h->data.size > ~0ULL - 1 - h->data.offset)
		return -EBADMSG;
	return 0;
}

/* perf writes the size of the records last. Without, it was killed before it could. */
static int records_begin(struct perfdata *p, const struct perfdata_file_head *h)
{
	p->unclosed = !h->data.size;
	p->left = p->unclosed ? ~0ULL : h->data.size;
	p->raw.offset = h->data.offset;
	if (h->data.offset > p->file_bytes)
		return -EBADMSG;
	if (lseek(p->fd, (off_t)h->data.offset, SEEK_SET) < 0)
		return -errno;
	return p->unclosed ? 0 : features_read(p, h);
}

static int file_begin(struct perfdata *p, u64 size, struct err *err)
{
	struct perfdata_file_head h;
	int rc = file_head_read(p, size, &h);

	if (!rc)
		rc = attrs_read(p, &h);
	if (!rc)
		rc = records_begin(p, &h);
	if (rc == -EBADMSG)
		return head_cut(p, err);
	if (rc)
		return perf_events_error(rc, p->name, err);
	if (!p->host.directory)
		return 0;
	err_set(err, -EINVAL, "%s is one file of a recording in a directory", p->name);
	return refused(err, "record without --threads, so that there is one file");
}

static int magic_check(struct perfdata *p, const char *magic, struct err *err)
{
	if (!memcmp(magic, PERFDATA_MAGIC, 8))
		return 0;
	p->swap = !memcmp(magic, PERFDATA_MAGIC_SWAPPED, 8);
	if (p->swap)
		return 0;
	if (memcmp(magic, PERFDATA_MAGIC_OLD, 8))
		return err_set(err, -EINVAL, "%s is not a perf.data file", p->name);
	err_set(err, -EINVAL, "%s is a perf.data file of the first format, which is not read",
		p->name);
	return refused(err, "record with a perf of Linux 3.5 or newer");
}

int reader_begin(struct perfdata *p, struct err *err)
{
	char head[PERFDATA_PIPE_HEAD];
	struct stat st;
	ssize_t n;
	u64 size;
	int rc;

	if (fstat(p->fd, &st))
		return err_errno(err, -errno, "cannot read %s", p->name);
	if (S_ISDIR(st.st_mode)) {
		err_set(err, -EINVAL, "%s is a directory", p->name);
		return refused(err, "record without --threads, so that there is one file");
	}
	p->pipe = true; /* so that it is read from its present position */
	n = bytes_read(p, head, sizeof(head), 0);
	if (n < 0)
		return err_errno(err, (int)n, "cannot read %s", p->name);
	if (!n)
		return err_set(err, -EINVAL, "%s is empty: it is not a perf.data file", p->name);
	if (n < 8)
		return err_set(err, -EINVAL, "%s is not a perf.data file", p->name);
	rc = magic_check(p, head, err);
	if (rc)
		return rc;
	if (n < (ssize_t)sizeof(head))
		return head_cut(p, err);
	memcpy(&size, head + 8, sizeof(size));
	size = swap_u64(size, p->swap);
	p->left = ~0ULL;
	p->raw.offset = sizeof(head);
	p->file_bytes = S_ISREG(st.st_mode) ? (u64)st.st_size : 0;
	p->stats.bytes = sizeof(head);
	if (size == PERFDATA_PIPE_HEAD)
		return 0;
	p->pipe = false;
	if (size < HEAD_OLD)
		return err_set(err, -EINVAL, "%s has a header of %llu bytes, which no perf writes",
			p->name, size);
	if (S_ISREG(st.st_mode))
		return file_begin(p, size, err);
	err_set(err, -EINVAL, "%s is a perf.data file, but cannot be read in pieces", p->name);
	return refused(err, "give the file itself, or record with perf record -o -");
}
