/* The writers of other programs' formats: protocol buffers byte by byte, gzip there and back, and
 * the rules of traces, on slices that break them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "export/gzip.h"
#include "export/proto.h"
#include "export/trace.h"

static void assert_bytes(const struct str *s, const char *bytes, size_t n)
{
	assert_int_equal(s->len, n);
	assert_memory_equal(str_get(s), bytes, n);
	assert_false(s->failed);
}

static void test_proto(void **state)
{
	_cleanup_str_ struct str s = {}, inner = {};

	(void)state;
	proto_u64(&s, 1, 150);
	assert_bytes(&s, "\x08\x96\x01", 3);
	str_clear(&s);
	proto_u64(&s, 1, UINT64_MAX);
	assert_bytes(&s, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	str_clear(&s);
	proto_fixed64(&s, 44, 1);
	assert_bytes(&s, "\xe1\x02\x01\0\0\0\0\0\0\0", 10);
	str_clear(&s);
	proto_text(&s, 2, "a\xff\x1b");
	assert_bytes(&s,
		"\x12\x09"
		"a\\xff\\x1b",
		11);
	str_clear(&s);
	proto_u64(&inner, 1, 0);
	proto_message(&s, 60, &inner);
	assert_bytes(&s, "\xe2\x03\x02\x08\x00", 5);
}

static void test_gzip(void **state)
{
	_cleanup_str_ struct str in = {}, out = {};
	char back[70000];
	struct gzip g;
	z_stream z = {};

	(void)state;
	for (int i = 0; i < 6000; i++)
		str_addf(&in, "%d,", i * 7919);
	assert_true(in.len < sizeof(back));
	assert_int_equal(gzip_begin(&g), 0);
	for (size_t at = 0; at < in.len; at += 1000) {
		struct str piece = {.buf = in.buf + at, .len = MIN(in.len - at, (size_t)1000)};

		gzip_add(&g, &piece, &out);
	}
	gzip_end(&g, &out);
	assert_false(out.failed);
	assert_memory_equal(out.buf, "\x1f\x8b\x08", 3);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)out.buf;
	z.avail_in = (uInt)out.len;
	z.next_out = (Bytef *)back;
	z.avail_out = sizeof(back);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, in.len);
	assert_memory_equal(back, in.buf, in.len);
	inflateEnd(&z);
}

/* A packet of a trace, as far as the rules need it. */
struct seen {
	u64 time_ns, type, track;
};

static u64 varint(const unsigned char **at)
{
	u64 v = 0;

	for (int shift = 0;; shift += 7) {
		v |= (u64)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return v;
	}
}

/* Calls itself for the event in a packet. */
static void message_read(const unsigned char *at, size_t n, bool event, struct seen *ret)
{
	const unsigned char *end = at + n;

	while (at < end) {
		u64 tag = varint(&at), v = (tag & 7) == 1 ? 8 : varint(&at);

		if ((tag & 7) == 0 && event && tag >> 3 == 9)
			ret->type = v;
		if ((tag & 7) == 0 && event && tag >> 3 == 11)
			ret->track = v;
		if ((tag & 7) == 0 && !event && tag >> 3 == 8)
			ret->time_ns = v;
		if ((tag & 7) == 2 && !event && tag >> 3 == 11)
			message_read(at, v, true, ret);
		at += (tag & 7) == 0 ? 0 : v;
	}
	assert_ptr_equal(at, end);
}

static size_t trace_read(const struct str *out, struct seen *ret, size_t room)
{
	const unsigned char *at = (const unsigned char *)out->buf, *end = at + out->len;
	size_t n = 0;

	while (at < end) {
		struct seen s = {};
		u64 size;

		assert_int_equal(varint(&at), 1 << 3 | 2);
		size = varint(&at);
		message_read(at, size, false, &s);
		at += size;
		if (!s.type)
			continue;
		assert_true(n < room);
		ret[n++] = s;
	}
	return n;
}

static void assert_seen(const struct seen *s, u64 type, u64 time_ns)
{
	assert_int_equal(s->type, type);
	assert_int_equal(s->time_ns, time_ns);
}

/* Steps that begin before their slice, overlap, or end after it. */
static void test_steps(void **state)
{
	const struct trace_step steps[] = {{"a", 50, 120}, {"b", 110, 150}, {"c", 190, 400}};
	struct trace_slice s = {"stalls", 1, 2, 100, 200, "stall", 0};
	struct stream names;
	struct seen seen[16];
	struct trace t;

	(void)state;
	assert_int_equal(stream_init(&names), 0);
	trace_init(&t, &names);
	trace_slice(&t, &s, steps, 3);
	assert_int_equal(trace_read(&t.out, seen, 16), 8);
	assert_seen(&seen[0], 1, 100);
	assert_seen(&seen[1], 1, 100);
	assert_seen(&seen[2], 2, 120);
	assert_seen(&seen[3], 1, 120);
	assert_seen(&seen[4], 2, 150);
	assert_seen(&seen[5], 1, 190);
	assert_seen(&seen[6], 2, 200);
	assert_seen(&seen[7], 2, 200);
	trace_free(&t);
	stream_destroy(&names);
}

/* What overlaps goes to another track, up to eight; what ends before it begins has no length. */
static void test_lanes(void **state)
{
	struct trace_slice s = {"stalls", 1, 2, 100, 200, "stall", 0};
	struct stream names;
	struct seen seen[32];
	struct trace t;

	(void)state;
	assert_int_equal(stream_init(&names), 0);
	trace_init(&t, &names);
	for (int i = 0; i < 9; i++)
		trace_slice(&t, &s, NULL, 0);
	assert_int_equal(t.left_out, 1);
	s.start_ns = 300;
	s.end_ns = 10;
	trace_slice(&t, &s, NULL, 0);
	assert_int_equal(trace_read(&t.out, seen, 32), 18);
	for (int i = 2; i < 16; i += 2)
		assert_int_not_equal(seen[i].track, seen[i - 2].track);
	assert_int_equal(seen[16].track, seen[0].track);
	assert_seen(&seen[16], 1, 300);
	assert_seen(&seen[17], 2, 300);
	assert_false(t.failed);
	trace_free(&t);
	stream_destroy(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proto),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
