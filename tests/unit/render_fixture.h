/*
 * Synthetic streams and reports for the tests of the renderers: one of an ordinary host and one
 * where every name is hostile.
 */
#ifndef MEMWHY_TESTS_RENDER_FIXTURE_H
#define MEMWHY_TESTS_RENDER_FIXTURE_H

#include <string.h>

#include "base/clock.h"
#include "report/report.h"

struct fixture {
	struct stream stream;
	struct report report;
	u32 strings; /* last id */
};

#define START_NS (1000 * NSEC_PER_SEC)
#define WALL_NS (1763726400ULL * NSEC_PER_SEC + 250 * NSEC_PER_MSEC)

static inline void feed(struct fixture *f, void *rec, u16 kind, size_t size)
{
	struct rec *r = rec;

	r->kind = kind;
	r->size = (u32)((size + 7) & ~7UL);
	stream_feed(&f->stream, r);
}

static inline u32 feed_string(struct fixture *f, const char *text)
{
	u32 len = (u32)strlen(text);
	struct rec_string *r = calloc(1, sizeof(*r) + len + 8);

	r->id = ++f->strings;
	r->length = len;
	memcpy(r->text, text, len);
	feed(f, r, REC_STRING, sizeof(*r) + len);
	free(r);
	return f->strings;
}

static inline void feed_method(struct fixture *f, const char *probe, const char *data,
	const char *method, const char *missing)
{
	struct rec_method r = {};

	snprintf(r.probe, sizeof(r.probe), "%s", probe);
	snprintf(r.data, sizeof(r.data), "%s", data);
	snprintf(r.method, sizeof(r.method), "%s", method);
	snprintf(r.missing, sizeof(r.missing), "%s", missing);
	feed(f, &r, REC_METHOD, sizeof(r));
}

static inline void feed_loss(
	struct fixture *f, const char *probe, u64 delivered, u64 lost, const char *reason)
{
	struct rec_loss r = {.seen = delivered + lost, .delivered = delivered, .lost = lost};

	snprintf(r.probe, sizeof(r.probe), "%s", probe);
	snprintf(r.reason, sizeof(r.reason), "%s", reason);
	feed(f, &r, REC_LOSS, sizeof(r));
}

static inline void feed_frame(
	struct fixture *f, u32 id, bool kernel, const char *module, u64 offset)
{
	struct rec_frame r = {.id = id, .offset = offset, .address = 0x7f0000001000 + offset};

	r.h.flags = kernel ? FRAME_KERNEL : FRAME_USER;
	r.address = kernel ? 0xffffffff81000000 + offset : r.address;
	r.module = module ? feed_string(f, module) : 0;
	feed(f, &r, REC_FRAME, sizeof(r));
}

/* The function of a frame; inlined: one that was inlined into it, or NULL. */
static inline void feed_symbol(struct fixture *f, u32 frame, const char *function, const char *file,
	u32 line, const char *inlined)
{
	struct {
		struct rec_symbol r;
		struct sym_line lines[2];
	} s = {.r.frame = frame, .r.n = inlined ? 2 : 1};
	struct sym_line *last = &s.r.lines[s.r.n - 1];

	if (inlined) {
		s.r.lines[0].function = feed_string(f, inlined);
		s.r.lines[0].file = file ? feed_string(f, file) : 0;
		s.r.lines[0].line = file ? line - 7 : 0;
	}
	last->function = feed_string(f, function);
	last->file = file ? feed_string(f, file) : 0;
	last->line = line;
	last->offset = 0x1c;
	feed(f, &s, REC_SYMBOL, sizeof(s));
}

static inline void feed_stack(struct fixture *f, u32 id, const u32 *frames, u32 n)
{
	struct rec_stack *r = calloc(1, sizeof(*r) + (n + 2) * sizeof(u32));

	r->id = id;
	r->n = n;
	memcpy(r->frames, frames, n * sizeof(u32));
	feed(f, r, REC_STACK, sizeof(*r) + n * sizeof(u32));
	free(r);
}

static inline void feed_host(struct fixture *f)
{
	struct rec_host host = {.cpus = 8, .nodes = 2, .page_bytes = 4096};
	struct rec_session session = {.h.time_ns = START_NS, .wall_ns = WALL_NS};
	struct rec_cost cost = {.cpu_ns = 84000000,
		.bpf_ns = 12345678,
		.bpf_runs = 124690,
		.rss_bytes = 24 << 20,
		.bpf_bytes = 9 << 20};
	struct rec_tick end = {.h.time_ns = START_NS + 10 * NSEC_PER_SEC};

	strcpy(host.kernel, "6.12.41-cloud-amd64");
	strcpy(session.command, "faults");
	strcpy(session.scope, "system-wide");
	feed(f, &host, REC_HOST, sizeof(host));
	feed(f, &session, REC_SESSION, sizeof(session));
	feed(f, &cost, REC_COST, sizeof(cost));
	feed(f, &end, REC_END, sizeof(end));
}

static inline void fixture_open(struct fixture *f, const char *command)
{
	*f = (struct fixture){};
	stream_init(&f->stream);
	feed_host(f);
	report_init(&f->report, command, &f->stream);
}

static inline void fixture_close(struct fixture *f)
{
	report_destroy(&f->report);
	stream_destroy(&f->stream);
}

/* Stacks 1 (kernel and user, with inlined and unknown frames), 2 (user) and 3 (deep). */
static inline void feed_stacks(struct fixture *f)
{
	u32 deep[30];

	feed_frame(f, 1, true, NULL, 0x2a1b0);
	feed_symbol(f, 1, "do_anonymous_page", NULL, 0, NULL);
	feed_frame(f, 2, true, "xfs", 0x9e);
	feed_symbol(f, 2, "xfs_filemap_fault", NULL, 0, NULL);
	feed_frame(f, 3, false, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x98000);
	feed_symbol(f, 3, "__memset_avx2_unaligned_erms", NULL, 0, NULL);
	feed_frame(f, 4, false, "/usr/lib/postgresql/16/bin/postgres", 0x4f3a10);
	feed_symbol(f, 4, "AllocSetAlloc", "./build/../src/backend/utils/mmgr/aset.c", 707,
		"AllocSetAllocChunk");
	feed_frame(f, 5, false, "/usr/lib/postgresql/16/lib/pg_stat_statements.so", 0x8f10);
	feed_frame(f, 6, false, NULL, 0);
	feed_stack(f, 1, (u32[]){1, 2, 3, 4, 5, 6}, 6);
	feed_stack(f, 2, (u32[]){3, 4}, 2);
	for (u32 i = 0; i < ARRAY_SIZE(deep); i++) {
		char name[32];

		snprintf(name, sizeof(name), "exec_node_%u", i);
		feed_frame(f, 100 + i, false, "/usr/lib/postgresql/16/bin/postgres", i * 64);
		feed_symbol(f, 100 + i, name, "execMain.c", 100 + i, NULL);
		deep[i] = 100 + i;
	}
	feed_stack(f, 3, deep, ARRAY_SIZE(deep));
}

#endif
