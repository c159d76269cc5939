/*
 * Any bytes as an event log, and what it would give fed to a stream. Built with -DFUZZING the
 * reader does not look at hashes, which a fuzzer would not guess. Bytes without the log's magic
 * are taken for bare records, to reach the stream at once.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "event/log.h"
#include "event/log_format.h"
#include "event/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static u32 sum; /* of what is looked at, so that it is */

static void look_at_text(const char *text)
{
	sum += text ? (u32)strlen(text) : 0;
}

static void look_at_name(void *arg, u64 value, const char *name)
{
	(void)arg;
	sum += (u32)value;
	look_at_text(name);
}

static void look_at_stack(const struct stream *s, u32 id)
{
	const struct rec_stack *stack = stream_stack(s, id);
	const struct rec_symbol *symbol = stream_symbol(s, id);
	const struct rec_frame *frame = stream_frame(s, id);

	for (u32 i = 0; stack && i < stack->n; i++)
		sum += stack->frames[i];
	for (u32 i = 0; symbol && i < symbol->n; i++)
		look_at_text(stream_string(s, symbol->lines[i].function));
	sum += symbol ? symbol->lines[symbol->n - 1].offset : 0;
	look_at_text(frame ? stream_string(s, frame->module) : NULL);
}

/* The record itself tells which names may be there. */
static void look_at_names(const struct stream *s, const struct rec *r)
{
	const u32 *words = (const u32 *)(r + 1);
	size_t n = MIN((r->size - sizeof(*r)) / sizeof(*words), 16UL);
	char set[24] = "";

	for (size_t i = 0; i < n; i++) {
		look_at_text(stream_string(s, words[i]));
		look_at_text(stream_comm(s, words[i], words[n - 1]));
		look_at_text(stream_cgroup(s, words[i]));
		look_at_stack(s, words[i]);
	}
	memcpy(set, words, MIN(n * sizeof(*words), sizeof(set) - 1));
	look_at_text(stream_enum(s, set, n ? words[n - 1] : 0));
	stream_enum_each(s, set, look_at_name, NULL);
}

static void look_at_stream(const struct stream *s)
{
	for (size_t i = 0; i < s->methods.n; i++)
		sum += stream_probe_active(s, s->methods.v[i].probe);
	for (size_t i = 0; i < s->losses.n; i++)
		look_at_text(s->losses.v[i].reason);
	for (size_t i = 0; i < s->notes.n; i++)
		look_at_text(s->notes.v[i].text);
	look_at_text(s->host.kernel);
	look_at_text(s->session.scope);
	sum += (u32)(stream_interval_ns(s) + stream_lost(s));
}

/* By the description in the file, as a program would that knows nothing else. */
static void look_at_fields(const struct schema *s, const struct rec *r)
{
	const struct kind *k = schema_find(s, r->kind);

	for (size_t i = 0; k && i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];

		look_at_text(f->name);
		look_at_text(f->help);
		if (f->count && f->offset < r->size)
			sum += ((const u8 *)r)[f->offset];
	}
}

static void read_log(struct stream *stream, const struct schema *known, struct log_reader *reader)
{
	const struct rec *r;
	struct err err;
	int rc;

	while ((rc = log_reader_next(reader, known, &r, &err)) == 1) {
		if (r->size < sizeof(*r) || (uintptr_t)r % 8)
			abort();
		look_at_fields(log_reader_schema(reader), r);
		if (stream_feed(stream, r))
			abort();
		look_at_names(stream, r);
		if (r->kind == REC_TICK)
			stream_interval_begin(stream);
	}
	if (rc && (err.code != rc || !err.msg[0]))
		abort();
	if (log_reader_next(reader, known, &r, &err) != rc)
		abort();
}

static void open_log(struct stream *stream, const uint8_t *data, size_t n)
{
	struct log_reader *reader = NULL;
	struct schema known = {};
	struct err err = {};
	int fd = memfd_create("log", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	if (schema_add(&known, meta_kinds, meta_kinds_n))
		abort();
	if (log_reader_open_fd(fd, "bytes", &reader, &err)) {
		if (!err.code || !err.msg[0] || reader)
			abort();
		return;
	}
	read_log(stream, &known, reader);
	log_reader_close(reader);
}

static void feed_bare(struct stream *stream, const uint8_t *data, size_t n)
{
	while (n >= sizeof(struct rec)) {
		struct rec head, *r;

		memcpy(&head, data, sizeof(head));
		head.size = (u32)(sizeof(head) + MIN((size_t)head.size % 512, n - sizeof(head)));
		r = malloc(head.size); /* of its own, so that a sanitizer sees reads beyond it */
		if (!r)
			abort();
		memcpy(r, data, head.size);
		r->size = head.size;
		r->kind %= 20;
		if (stream_feed(stream, r))
			abort();
		look_at_names(stream, r);
		free(r);
		data += head.size;
		n -= head.size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct stream stream;

	if (stream_init(&stream))
		return 0;
	open_log(&stream, data, n);
	if (n < 6 || memcmp(data, LOG_MAGIC, 6))
		feed_bare(&stream, data, n);
	look_at_stream(&stream);
	stream_destroy(&stream);
	return 0;
}
