/* The reader of perf.data files, see perfdata.h: hands out records in their order. */
#include "perfdata/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <zstd.h>

#include "base/target.h"
#include "base/units.h"
#include "perfdata/record.h"

#define QUEUED_DEFAULT (256UL << 20)

static struct perfdata *perf_reader_new(
	const char *name, int fd, const struct perfdata_options *opts)
{
	struct perfdata *p = calloc(1, sizeof(*p));

	if (!p) {
		close(fd);
		return NULL;
	}
	p->fd = fd;
	p->unordered = opts && opts->unordered;
	p->max_queued = opts && opts->max_queued ? opts->max_queued : QUEUED_DEFAULT;
	p->raw.chunks = p->unpacked.chunks = p->moved.chunks = &p->chunks;
	perf_events_init(&p->events);
	p->name = strdup(name);
	if (!p->name) {
		perfdata_close(p);
		return NULL;
	}
	return p;
}

int perfdata_open_fd(const char *name, int fd, const struct perfdata_options *opts,
	struct perfdata **ret, struct err *err)
{
	_cleanup_perfdata_ struct perfdata *p = perf_reader_new(name, fd, opts);
	int rc;

	if (!p)
		return err_errno(err, -ENOMEM, "cannot read %s", name);
	rc = reader_begin(p, err);
	if (rc)
		return rc;
	*ret = take_ptr(p);
	return 0;
}

int perfdata_open(const char *path, const struct perfdata_options *opts, struct perfdata **ret,
	struct err *err)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : source_open(path);

	if (standard)
		path = "standard input";
	if (fd < 0)
		return source_failed(path, standard ? -errno : fd, err);
	return perfdata_open_fd(path, fd, opts, ret, err);
}

void perfdata_close(struct perfdata *p)
{
	if (!p)
		return;
	if (p->now.chunk)
		chunk_drop(&p->chunks, p->now.chunk);
	if (p->packed.chunk)
		chunk_drop(&p->chunks, p->packed.chunk);
	order_free(&p->order, &p->chunks);
	tape_free(&p->raw);
	tape_free(&p->unpacked);
	tape_free(&p->moved);
	chunks_free(&p->chunks);
	ZSTD_freeDStream(p->zstd);
	perf_events_free(&p->events);
	host_free(&p->host);
	close(p->fd);
	free(p->name);
	free(p);
}

/* p->now becomes a record to hand out. False: it is malformed. */
static bool entry_parse(struct perfdata *p)
{
	char *at = p->now.chunk->data + p->now.at;
	struct perfdata_head head;
	struct cursor c = {.swap = p->swap};
	const char *reason;

	memcpy(&head, at, sizeof(head));
	head.type = swap_u32(head.type, p->swap);
	head.misc = swap_u16(head.misc, p->swap);
	head.size = swap_u16(head.size, p->swap);
	c.p = at + sizeof(head);
	c.left = head.size - sizeof(head);
	p->record.offset = p->now.offset;
	reason = record_parse(&p->events, &head, c, &p->record);
	if (reason) {
		reader_malformed(p, p->now.offset, reason);
		return false;
	}
	p->stats.records++;
	p->stats.samples += head.type == PERFDATA_SAMPLE;
	if (p->now.time && !p->unordered) {
		p->stats.late += p->now.time < p->last_time;
		p->last_time = MAX(p->last_time, p->now.time);
	}
	return true;
}

static void cut_add(const struct perfdata *p, struct str *s)
{
	char n[UNIT_BUF];

	str_add(s, p->unclosed ? " was not closed in order" : " is cut");
	if (p->cut)
		str_addf(s, " at byte %llu", p->cut_at);
	if (!p->unclosed && p->left && p->left != ~0ULL)
		str_addf(s, ": %s of its records are missing", fmt_bytes(n, p->left));
	else if (p->features_missing && !p->cut)
		str_addf(s, ": %u of %s missing", p->features_missing,
			"the notes on its machine and session are");
}

static void malformed_add(const struct perfdata *p, struct str *s)
{
	char n[UNIT_BUF];

	str_addf(s, " has %s malformed record%s, the first at byte %llu (%s)",
		fmt_count(n, p->stats.malformed), plural(p->stats.malformed), p->reason_at,
		p->reason);
}

/* There are no more records. */
static int reader_finish(const struct perfdata *p, struct err *err)
{
	bool cut = p->cut || p->unclosed || p->features_missing;
	_cleanup_str_ struct str s = {};

	if (!cut && !p->stats.malformed)
		return 0;
	str_add(&s, p->name);
	if (cut)
		cut_add(p, &s);
	if (cut && p->stats.malformed)
		str_add(&s, ", and");
	if (p->stats.malformed)
		malformed_add(p, &s);
	err_set(err, -ENODATA, "%s", str_get(&s));
	if (p->unclosed)
		err_hint(err, "perf record was killed, or is still running");
	else if (cut)
		err_hint(err, "a copy was cut short, or the disk was full");
	return -ENODATA;
}

int perfdata_next(struct perfdata *p, const struct perfdata_record **ret, struct err *err)
{
	int rc = 0;

	for (;;) {
		if (p->now.chunk)
			chunk_drop(&p->chunks, p->now.chunk);
		p->now.chunk = NULL;
		if (order_take(&p->order, &p->now))
			rc = 1;
		else if (p->ended)
			return reader_finish(p, err);
		else
			rc = reader_step(p, &p->now);
		if (rc <= 0)
			p->now.chunk = NULL; /* queued, if anything */
		if (rc < 0)
			return perf_events_error(rc, p->name, err);
		if (!rc)
			continue;
		if (entry_parse(p)) {
			*ret = &p->record;
			return 1;
		}
	}
}

size_t perfdata_events(const struct perfdata *p)
{
	return p->events.list.n;
}

const struct perfdata_event *perfdata_event(const struct perfdata *p, size_t i)
{
	return p->events.list.v[i];
}

u64 perfdata_fields_any(const struct perfdata *p)
{
	return p->events.any;
}

const struct perfdata_host *perfdata_host(const struct perfdata *p)
{
	return &p->host;
}

const struct perfdata_stats *perfdata_stats(const struct perfdata *p)
{
	return &p->stats;
}
