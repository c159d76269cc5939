/*
 * Reads the event log, see log.h: checks the head, takes the schema, hands out records and says
 * at the end what is missing. It knows of records only their head and the size of their kind.
 */
#include "event/log.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "event/log_source.h"

struct log_reader {
	struct log_source src;
	char *name;
	u64 file_bytes; /* 0: not known */
	struct arena arena;
	struct schema schema;
	bool has_schema;
	size_t at;             /* in the present block: the next record */
	size_t end;            /* of the records in the present block */
	u64 records;           /* handed out */
	u64 bad_bytes;         /* in good blocks: records that are none */
	u64 start_ns, last_ns; /* least and greatest time of the blocks read */
	bool closed;           /* the end block was read */
	bool has_total;        /* the last index or the end block was read */
	u64 total;             /* records in the file, as it says itself */
	bool more;             /* there are bytes after the end */
	bool done;
	char *grown; /* REC_MAX_SIZE: a record that was extended */
};

/* What other files look like, to say more than that they are no log. */
static const struct {
	const char *magic;
	const char *what;
} other_files[] = {
	{"PERFILE2", "a perf.data file"},
	{"\x7f"
	 "ELF",
		"a program (ELF)"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"},
	{"\x1f\x8b", "compressed with gzip: unpack it first"},
	{"\xfd"
	 "7zXZ",
		"compressed with xz: unpack it first"},
};

static bool bytes_are_text(const char *p, size_t n)
{
	size_t used = 0, len;

	for (; used < n && (len = utf8_len(p + used, n - used)); used += len) {
		unsigned char c = (unsigned char)p[used];

		if (c == 0x7f || (c < ' ' && !strchr("\t\n\r\f", c)) || !c)
			return false;
	}
	return used + 4 > n; /* the last one may be cut */
}

static const char *bytes_name(const char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(other_files); i++) {
		size_t len = strlen(other_files[i].magic);

		if (n >= len && !memcmp(p, other_files[i].magic, len))
			return other_files[i].what;
	}
	return bytes_are_text(p, n) ? "text" : NULL;
}

static int not_a_log(const struct log_reader *r, size_t n, struct err *err)
{
	const char *what = bytes_name(r->src.buf + r->src.start, n);

	if (!n)
		err_set(err, -EINVAL, "%s is empty: it is not a memwhy recording", r->name);
	else if (what)
		err_set(err, -EINVAL, "%s is not a memwhy recording: it is %s", r->name, what);
	else
		err_set(err, -EINVAL, "%s is not a memwhy recording", r->name);
	if (what && strstr(what, "perf.data"))
		err_hint(err, "memwhy numa --input reads those");
	else
		err_hint(err, "recordings are made with --record FILE");
	return -EINVAL;
}

static int head_check(struct log_reader *r, struct err *err)
{
	const struct log_head want = {.magic = LOG_MAGIC, .version = LOG_VERSION};
	ssize_t n = log_source_fill(&r->src, 64);
	struct log_head head;

	if (n < 0)
		return err_errno(err, (int)n, "cannot read %s", r->name);
	if (n > 0 && n < (ssize_t)sizeof(head) && !memcmp(r->src.buf, &want, (size_t)n))
		return err_set(err, -ENODATA,
			"%s is cut within its first %zu bytes: none of it can be read", r->name,
			sizeof(head));
	if (n < (ssize_t)sizeof(head))
		return not_a_log(r, (size_t)n, err);
	memcpy(&head, r->src.buf, sizeof(head));
	if (memcmp(head.magic, want.magic, sizeof(head.magic)))
		return not_a_log(r, (size_t)n, err);
	if (head.version != LOG_VERSION) {
		err_set(err, -EINVAL, "%s is a recording of format %u, this memwhy reads format %u",
			r->name, head.version, LOG_VERSION);
		err_hint(err, "read it with the memwhy that recorded it, or with a newer one");
		return -EINVAL;
	}
	log_source_use(&r->src, sizeof(head));
	r->src.good_bytes = sizeof(head);
	return 0;
}

/* Only the first schema counts. What is malformed in it is left out. */
static int schema_take(struct log_reader *r)
{
	int rc = 0;

	if (!r->has_schema)
		rc = log_schema_decode(r->src.raw, r->src.block.raw, &r->arena, &r->schema);
	r->has_schema = true;
	return rc == -ENOMEM ? rc : 0;
}

static void records_take(struct log_reader *r)
{
	const struct log_block *b = &r->src.block;

	r->at = 0;
	r->end = b->raw;
	if (b->first_ns && (!r->start_ns || b->first_ns < r->start_ns))
		r->start_ns = b->first_ns;
	r->last_ns = MAX(r->last_ns, b->last_ns);
}

/* The last index tells how many records there are: it is known even if the end is missing. */
static void index_take(struct log_reader *r)
{
	struct log_index index;
	size_t n = r->src.block.raw, at = sizeof(index);
	u64 total = 0;

	if (n < sizeof(index))
		return;
	memcpy(&index, r->src.raw, sizeof(index));
	if (!index.kinds || index.blocks > n / sizeof(struct log_index_block))
		return;
	at += index.blocks * sizeof(struct log_index_block);
	for (u32 i = 0; i < index.kinds; i++) {
		struct log_index_kind k;

		if (at + sizeof(k) > n)
			return;
		memcpy(&k, r->src.raw + at, sizeof(k));
		total += k.records;
		at += sizeof(k);
	}
	r->has_total = true;
	r->total = total;
}

static void end_take(struct log_reader *r)
{
	struct log_end end;

	if (r->src.block.raw < sizeof(end))
		return;
	memcpy(&end, r->src.raw, sizeof(end));
	r->has_total = true;
	r->total = end.records;
	r->closed = true;
}

/* Reads one block. 1: it did; 0: there are no more; -errno. */
static int reader_step(struct log_reader *r)
{
	int rc = r->closed ? 0 : log_source_next(&r->src);

	if (rc <= 0)
		return rc;
	switch (r->src.block.type) {
	case LOG_SCHEMA:
		rc = schema_take(r);
		break;
	case LOG_RECORDS:
		records_take(r);
		break;
	case LOG_INDEX:
		index_take(r);
		break;
	case LOG_END:
		end_take(r);
		break;
	default: /* of a newer writer: nothing here needs it */
		break;
	}
	return rc < 0 ? rc : 1;
}

static struct log_reader *log_reader_new(const char *name, int fd)
{
	struct log_reader *r = calloc(1, sizeof(*r));
	struct stat st;

	if (!r) {
		close(fd);
		return NULL;
	}
	r->name = strdup(name);
	r->grown = malloc(REC_MAX_SIZE);
	if (log_source_init(&r->src, fd) || !r->name || !r->grown) {
		log_reader_close(r);
		return NULL;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		r->file_bytes = (u64)st.st_size;
	return r;
}

static void cleanup_reader(struct log_reader **r)
{
	log_reader_close(*r);
}

static int reader_open(const char *name, int fd, struct log_reader **ret, struct err *err)
{
	_cleanup_(cleanup_reader) struct log_reader *r = log_reader_new(name, fd);
	int rc;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot read %s", name);
	rc = head_check(r, err);
	if (rc)
		return rc;
	rc = reader_step(r); /* the schema; if it is damaged, whatever comes first */
	if (rc < 0)
		return err_errno(err, rc, "cannot read %s", name);
	*ret = take_ptr(r);
	return 0;
}

int log_reader_open(const char *path, struct log_reader **ret, struct err *err)
{
	int fd = source_open(path);

	if (fd < 0)
		return source_failed(path, fd, err);
	return reader_open(path, fd, ret, err);
}

int log_reader_open_fd(int fd, const char *name, struct log_reader **ret, struct err *err)
{
	return reader_open(name, fd, ret, err);
}

const struct schema *log_reader_schema(const struct log_reader *r)
{
	return &r->schema;
}

/* "between 1.20 s and 1.90 s after the start" of what is known to be lost; or nothing. */
static void lost_times_add(const struct log_reader *r, struct str *out)
{
	const struct log_damage *d = &r->src.damage;
	u64 start = d->first_ns && d->first_ns < r->start_ns ? d->first_ns : r->start_ns;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (d->first_ns && d->last_ns >= d->first_ns && start)
		str_addf(out, ", between %s and %s after the start", fmt_ns(a, d->first_ns - start),
			fmt_ns(b, d->last_ns - start));
}

/* What is lost, when the file says itself how much it had. */
static void lost_add(const struct log_reader *r, struct str *out)
{
	char n[UNIT_BUF], total[UNIT_BUF];

	if (r->total > r->records) {
		str_addf(out, ": %s of its %s records cannot be read",
			fmt_count(n, r->total - r->records), fmt_count(total, r->total));
		lost_times_add(r, out);
	} else if (r->total == r->records && !r->bad_bytes) {
		str_addf(out, ", but no record is missing");
	}
}

/* How much could be read, when what is missing cannot be known. */
static void readable_add(const struct log_reader *r, struct str *out)
{
	const struct log_damage *d = &r->src.damage;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!r->src.next) {
		str_addf(out, ": nothing of it can be read");
		return;
	}
	str_addf(out, ": %s ", fmt_bytes(a, r->src.good_bytes));
	if (r->file_bytes > r->src.good_bytes)
		str_addf(out, "of %s ", fmt_bytes(b, r->file_bytes));
	str_addf(out, "can be read");
	if (r->start_ns && r->last_ns >= r->start_ns)
		str_addf(out, ", up to %s after the start", fmt_ns(a, r->last_ns - r->start_ns));
	if (d->blocks)
		str_addf(out, "; %llu earlier %s damaged", d->blocks,
			d->blocks == 1 ? "block is" : "blocks are");
}

static void end_add(const struct log_reader *r, struct str *out)
{
	const struct log_source *s = &r->src;
	char n[UNIT_BUF];

	if (!r->closed && s->damage.cut)
		str_addf(out, " is cut within block %llu", s->next);
	else if (!r->closed && s->damage.tail_bytes)
		str_addf(
			out, " ends in %s that cannot be read", fmt_bytes(n, s->damage.tail_bytes));
	else if (!r->closed)
		str_addf(out, " was not closed in order");
	else if (s->damage.bytes || s->damage.blocks)
		str_addf(out, " is damaged (%llu block%s, %s)", s->damage.blocks,
			plural(s->damage.blocks), fmt_bytes(n, s->damage.bytes));
	else if (r->bad_bytes)
		str_addf(out, " has records that are malformed");
	else if (r->more)
		str_addf(out, " goes on after its end");
	else
		str_addf(out, " has not as many records as it should");
}

static int reader_damaged(const struct log_reader *r, struct err *err)
{
	_cleanup_str_ struct str text = {};

	str_addf(&text, "%s", r->name);
	end_add(r, &text);
	if (r->has_total)
		lost_add(r, &text);
	else
		readable_add(r, &text);
	err_set(err, -ENODATA, "%s", str_get(&text));
	if (r->closed)
		err_hint(err, "the file was changed after it was recorded: use another copy");
	else if (r->src.damage.cut)
		err_hint(err,
			"a copy was cut short, or memwhy or the machine stopped while recording");
	else if (r->src.damage.tail_bytes)
		err_hint(err, "the machine stopped while recording, or the file was changed since");
	else
		err_hint(
			err, "it is still being recorded, memwhy was killed, or its disk was full");
	return -ENODATA;
}

/* There are no more blocks. */
static int reader_finish(struct log_reader *r, struct err *err)
{
	const struct log_damage *d = &r->src.damage;

	if (r->closed && !r->done)
		r->more = log_source_fill(&r->src, 1) != 0;
	r->done = true;
	if (r->closed && !r->more && !d->blocks && !d->bytes && !r->bad_bytes &&
		r->total == r->records)
		return 0;
	return reader_damaged(r, err);
}

/* A view of the present block at r->at. What cannot be a record spoils the rest of the block. */
static const struct rec *log_reader_record_take(struct log_reader *r)
{
	const struct rec *rec = (const struct rec *)(r->src.raw + r->at);
	size_t left = r->end - r->at;

	if (!left)
		return NULL;
	if (left < sizeof(*rec) || rec->size < sizeof(*rec) || rec->size > left ||
		rec->size > REC_MAX_SIZE || rec->size % 8) {
		r->bad_bytes += left;
		r->at = r->end;
		return NULL;
	}
	r->at += rec->size;
	return rec;
}

static const struct rec *record_extend(
	struct log_reader *r, const struct rec *rec, const struct schema *known)
{
	const struct kind *k = known ? schema_find(known, rec->kind) : NULL;
	struct rec *grown = (struct rec *)r->grown;
	u32 size;

	if (!k)
		k = schema_find(&r->schema, rec->kind);
	size = k ? (k->size + 7U) & ~7U : 0;
	if (rec->size >= size)
		return rec;
	memset(r->grown, 0, size);
	memcpy(r->grown, rec, rec->size);
	grown->size = size;
	return grown;
}

int log_reader_next(
	struct log_reader *r, const struct schema *known, const struct rec **ret, struct err *err)
{
	const struct rec *rec;

	while (!(rec = log_reader_record_take(r))) {
		int rc = r->done ? 0 : reader_step(r);

		if (rc < 0)
			return err_errno(err, rc, "cannot read %s", r->name);
		if (!rc)
			return reader_finish(r, err);
	}
	r->records++;
	*ret = record_extend(r, rec, known);
	return 1;
}

void log_reader_close(struct log_reader *r)
{
	if (!r)
		return;
	log_source_destroy(&r->src);
	arena_free(&r->arena);
	free(r->name);
	free(r->grown);
	free(r);
}
