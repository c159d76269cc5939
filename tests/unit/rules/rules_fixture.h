/* What the tests of rules share: one rule at work on synthetic records of ten seconds. */
#ifndef MEMWHY_TESTS_RULES_FIXTURE_H
#define MEMWHY_TESTS_RULES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "event/stream.h"
#include "probes/system/system.h"
#include "finding_fixture.h"
#include "report/view.h"

#define MIB (1ULL << 20)

/* One rule at work on a stream of ten seconds. */
struct bench {
	const struct view *rule;
	void *state;
	struct stream stream;
	struct report report;
};

static inline void put(struct bench *b, const void *rec)
{
	assert_int_equal(stream_feed(&b->stream, rec), 0);
	assert_int_equal(b->rule->feed(b->state, rec), 0);
}

#define PUT_AT(b_, time_ns_, type_, kind_, ...)                                                   \
	({                                                                                        \
		type_ r_ = {.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = (time_ns_)}, \
			__VA_ARGS__};                                                             \
		put((b_), &r_);                                                                   \
	})
#define PUT(b_, type_, kind_, ...) PUT_AT(b_, NSEC_PER_SEC, type_, kind_, __VA_ARGS__)

static inline void group(struct bench *b, u64 id, const char *path)
{
	size_t length = strlen(path), size = (sizeof(struct rec_cgroup) + length + 7) / 8 * 8;
	struct rec_cgroup *r = calloc(1, size);

	assert_non_null(r);
	r->h = (struct rec){(u32)size, REC_CGROUP, 0, NSEC_PER_SEC};
	r->id = id;
	r->length = (u32)length;
	memcpy(r->path, path, length);
	put(b, r);
	free(r);
}

/* A stack of two frames with addresses, and one of which nothing is known. */
static inline void stack(struct bench *b, u32 id)
{
	struct {
		struct rec_stack r;
		u32 frames[4];
	} s = {.r = {.h = {sizeof(s), REC_STACK, 0, NSEC_PER_SEC}, .id = id, .n = 3}};

	for (u32 i = 0; i < 3; i++) {
		s.frames[i] = id + i;
		PUT(b, struct rec_frame, REC_FRAME, .id = id + i, .address = 0x1000 * i);
	}
	put(b, &s);
}

static inline void begin(struct bench *b, const struct view *rule, u32 nodes)
{
	*b = (struct bench){.rule = rule, .state = calloc(1, rule->size)};
	assert_non_null(b->state);
	assert_int_equal(stream_init(&b->stream), 0);
	assert_int_equal(rule->init(b->state, &(struct view_options){}, NULL), 0);
	PUT(b, struct rec_host, REC_HOST, .cpus = 2, .nodes = nodes, .page_bytes = 4096,
		.pageblock_order = 9, .memory_bytes = 8192 * MIB);
	PUT(b, struct rec_session, REC_SESSION, .command = "check");
	PUT(b, struct rec_task, REC_TASK, .tgid = 7, .cgroup = 42, .comm = "victim");
}

/* Ends the interval and reports; returns how many findings there are. */
static inline size_t conclude(struct bench *b)
{
	struct rec_tick end = {.h = {sizeof(end), REC_END, 0, 11 * NSEC_PER_SEC}};

	put(b, &end);
	report_init(&b->report, "check", &b->stream);
	assert_int_equal(b->rule->report(b->state, &b->report), 0);
	vec_each (f, &b->report.findings)
		assert_whole_finding(f);
	return b->report.findings.n;
}

static inline const struct finding *only(struct bench *b)
{
	assert_int_equal(conclude(b), 1);
	return &b->report.findings.v[0];
}

static inline void end(struct bench *b)
{
	report_destroy(&b->report);
	b->rule->destroy(b->state);
	free(b->state);
	stream_destroy(&b->stream);
}

static inline bool says(const char *const lines[FINDING_LINES], const char *text)
{
	for (int i = 0; i < FINDING_LINES && lines[i]; i++)
		if (strstr(lines[i], text))
			return true;
	return false;
}

static inline void value(struct bench *b, u16 source, const char *name, u64 v, const char *text)
{
	struct system_value r = {.h = {sizeof(r), REC_SYSTEM_VALUE, 0, NSEC_PER_SEC}, .value = v};

	r.source = source;
	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.text, sizeof(r.text), "%s", text ? text : "");
	put(b, &r);
}

static inline void string(struct bench *b, u32 id, const char *text)
{
	struct {
		struct rec_string r;
		char text[64];
	} s = {.r = {.h = {sizeof(s), REC_STRING, 0, NSEC_PER_SEC}, .id = id}};

	s.r.length = (u32)strlen(text);
	memcpy(s.r.text, text, s.r.length);
	put(b, &s);
}

static inline void named(struct bench *b, u64 id, const char *path)
{
	union {
		struct rec_cgroup c;
		char room[64];
	} r = {.c = {.h = {sizeof(r), REC_CGROUP, 0, 0}, .id = id, .length = (u32)strlen(path)}};

	memcpy(r.c.path, path, strlen(path) + 1);
	put(b, &r.c);
}

#endif
