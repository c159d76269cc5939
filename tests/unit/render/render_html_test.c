/*
 * The page of -o html: no name in it can become markup, the markup needs nothing from elsewhere,
 * and the data behind it is the object that -o json prints. What a browser makes of it:
 * tests/pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "render/html/html_pack.h"
#include "render/html/html_text.h"
#include "render/render.h"
#include "render_fixture.h"

static void assert_text(const char *text, const char *want)
{
	_cleanup_str_ struct str out = {};

	html_add(&out, text);
	assert_string_equal(str_get(&out), want);
}

static void test_text(void **state)
{
	_cleanup_str_ struct str out = {};

	(void)state;
	assert_text("</script><b a='1' c=\"2\">&amp;",
		"&lt;/script&gt;&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
	assert_text("a\033[31m\177\xc2\x9b", "a\\u001b[31m\\u007f\\u009b");
	assert_text("\xe2\x80\xaegpj.exe", "\\u202egpj.exe"); /* RTL override */
	assert_text("\xe2\x81\xa6\xef\xbb\xbf\xe2\x80\x8b", "\\u2066\\ufeff\\u200b");
	assert_text("\xf3\xa0\x81\x81", "\\ue0041"); /* a tag */
	assert_text("bad\xff\xc3(", "bad\xef\xbf\xbd\xef\xbf\xbd(");
	assert_text("😀 émoji", "😀 émoji");
	html_add_commands(&out, "Do `echo <1>` now.");
	assert_string_equal(str_get(&out), "Do <code class=\"cmd\">echo &lt;1&gt;</code> now.");
}

static const struct column columns[] = {
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name"},
	{"count", "FAULTS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "page faults"},
	{"hist", "TIMES", CELL_HIST, UNIT_NS, 0, "time of each"},
	{"address", "ADDRESS", CELL_U64, UNIT_HEX, COL_WIDE, "where"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "who"},
};

static const char *const names[] = {
	"</script><script>alert(1)</script>",
	"<img src=x onerror=alert(1)>",
	"\"'><b>",
	"-->]]>{{7*7}}",
	"\xe2\x80\xaegpj.exe\xe2\x80\xac",
	"\033]0;owned\007\001",
	"bad\xff\xc3(utf8",
	"&lt;&#60;",
};

static void row_add(struct table *t, const char *name, u32 stack)
{
	static struct hist_cell hist = {.slots = {[3] = 4, [HIST_SLOTS - 1] = 1}};
	struct cell *c = table_row(t);

	c[0] = cell_text(name);
	c[1] = cell_u64(1000 + stack);
	c[2] = (struct cell){.type = CELL_HIST, .hist = &hist};
	c[3] = cell_u64(UINT64_MAX);
	c[4] = cell_stack(stack);
}

static void page_open_report(struct fixture *f)
{
	struct finding *finding;
	struct table *t;

	fixture_open(f, "faults");
	feed_stacks(f);
	feed_loss(f, "<b>&", 1, 2, names[1]);
	feed_method(f, "<i>\"", names[3], names[4], "");
	snprintf(f->stream.session.scope, sizeof(f->stream.session.scope), "comm %s", names[0]);
	t = report_table(&f->report, "faults", "Page faults", columns, ARRAY_SIZE(columns));
	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		feed_frame(f, 900 + i, false, names[i], 0x10);
		feed_symbol(f, 900 + i, names[i], names[i], 3, names[i]);
		feed_stack(f, 90 + i, (u32[]){900 + i, 901, 3}, 3);
		row_add(t, names[i], 90 + i);
	}
	row_add(t, "plain", 1);
	finding = report_finding(&f->report, LEVEL_WARNING, "r");
	finding->title = names[0];
	finding->why = names[1];
	finding_line(&f->report, finding->try_, "Run `echo %s` as %s.", names[1], names[2]);
	report_note(&f->report, "%s", names[5]);
	report_not_checked(&f->report, "%s", names[6]);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void page_make(const struct report *r, struct str *out)
{
	renderer_find("html")->report(r, &(struct render_options){.width = 100}, out);
	assert_false(out->failed);
}

static void test_markup(void **state)
{
	_cleanup_str_ struct str out = {};
	struct fixture f;
	const char *body;

	(void)state;
	page_open_report(&f);
	page_make(&f.report, &out);
	body = strstr(str_get(&out), "<body>");
	assert_non_null(body);
	assert_int_equal(count(str_get(&out), "<script"), 2); /* data, and the page's own */
	assert_int_equal(count(body, "<style"), 0);
	assert_int_equal(count(body, "<img"), 0);
	assert_int_equal(count(body, "<b>"), 0);
	assert_int_equal(count(body, "<i>"), 0);
	assert_int_equal(count(str_get(&out), "http:"), 1); /* the name space of SVG */
	assert_int_equal(count(str_get(&out), "https:"), 0);
	assert_int_equal(count(body, "\xe2\x80\xae"), 0);
	assert_int_equal(count(str_get(&out), "default-src 'none'"), 1);
	for (const char *p = str_get(&out); *p; p++)
		assert_true((unsigned char)*p >= 0x20 || *p == '\n');
	fixture_close(&f);
}

/* What stands in the element of data, without its packing. */
static char *data_unpack(const char *page)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = strstr(page, "class=\"data\">");
	_cleanup_str_ struct str packed = {};
	u32 bits = 0, n_bits = 0;
	z_stream z = {};
	char *text = calloc(1, 1 << 20);

	assert_non_null(p);
	for (p = strchr(p, '>') + 1; *p != '<' && *p != '='; p++) {
		assert_non_null(strchr(digits, *p));
		bits = bits << 6 | (u32)(strchr(digits, *p) - digits);
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		str_addc(&packed, (char)(bits >> n_bits & 0xff));
	}
	assert_int_equal(inflateInit2(&z, -15), Z_OK);
	z.next_in = (unsigned char *)packed.buf;
	z.avail_in = (uInt)packed.len;
	z.next_out = (unsigned char *)text;
	z.avail_out = (1 << 20) - 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	return text;
}

/* More than one piece of what was deflated: the bytes that base64 has left of one go before the
 * next. */
static void test_packed(void **state)
{
	const struct render_options o = {.width = 100};
	_cleanup_str_ struct str out = {}, text = {}, all = {};
	_cleanup_free_ char *back = NULL;
	struct html_pack p;
	u32 seed = 1;

	(void)state;
	str_add(&out, "class=\"data\">");
	html_pack_begin(&p, &out, &o);
	for (int take = 0; take < 10; take++) {
		for (int i = 0; i < 10000; i++) {
			seed = seed * 1664525 + 1013904223;
			str_addc(&text, (char)(' ' + (seed >> 24) % 90));
			str_addc(&all, text.buf[text.len - 1]);
		}
		html_pack_take(&p, &text);
	}
	html_pack_end(&p, &text);
	str_add(&out, "<");
	assert_true(out.len > 65536); /* four pieces at least */
	back = data_unpack(str_get(&out));
	assert_string_equal(back, str_get(&all));
}

static void assert_jq(const char *text, const char *filter)
{
	char command[512];
	FILE *jq;

	snprintf(command, sizeof(command), "jq -e '%s' >/dev/null", filter);
	jq = popen(command, "w");
	assert_non_null(jq);
	fputs(text, jq);
	if (pclose(jq))
		fail_msg("not so: %s", filter);
}

static void test_data(void **state)
{
	_cleanup_str_ struct str out = {};
	_cleanup_free_ char *text = NULL;
	struct fixture f;

	(void)state;
	if (system("command -v jq >/dev/null")) {
		print_message("jq is missing (tools/deps test)\n");
		skip();
	}
	page_open_report(&f);
	page_make(&f.report, &out);
	text = data_unpack(str_get(&out));
	assert_non_null(strstr(text, "\"address\":18446744073709551615"));
	assert_jq(text, ".report | .schema == \"memwhy/1\" and (.rows | length) == 9");
	assert_jq(text, ".report.rows[1].comm == \"<img src=x onerror=alert(1)>\"");
	assert_jq(text, ".report.rows[0].hist == [{from: 4, to: 8, count: 4}, "
			"{from: 274877906944, to: null, count: 1}]");
	/* inlined, and two that other stacks have too */
	assert_jq(text, ". as $d | .stacks[.report.rows[1].stack] | map($d.frames[.][0]) | "
			"length == 5 and .[0] == .[1] and .[0] == .[2]");
	assert_jq(text, ". as $d | .stacks[.report.rows[8].stack] | map($d.frames[.]) | "
			".[0][0] == \"do_anonymous_page\" and .[0][4] == 1 and .[3][4] == 2");
	assert_jq(text,
		"[.tables[0].columns[] | [.name, .type, .unit, .role]] == "
		"[[\"comm\", \"text\", \"\", \"key\"], [\"count\", \"number\", \"count\", "
		"\"sum\"], "
		"[\"hist\", \"hist\", \"ns\", \"\"], [\"address\", \"number\", \"hex\", \"\"], "
		"[\"stack\", \"stack\", \"\", \"key\"]]");
	fixture_close(&f);
}

static void piece_take(void *arg, struct str *out)
{
	str_add(arg, str_get(out));
	str_clear(out);
}

static void test_pieces(void **state)
{
	_cleanup_str_ struct str whole = {}, rest = {}, all = {};
	const struct render_options o = {.width = 100, .take = piece_take, .arg = &all};
	struct fixture f;

	(void)state;
	page_open_report(&f);
	page_make(&f.report, &whole);
	renderer_find("html")->report(&f.report, &o, &rest);
	assert_true(all.len);
	str_add(&all, str_get(&rest));
	assert_string_equal(str_get(&all), str_get(&whole));
	fixture_close(&f);
}

/* Two reports: one head, one end, what was looked at told once. */
static void test_several(void **state)
{
	struct render_options o = {.width = 100, .more = true};
	const struct renderer *html = renderer_find("html");
	_cleanup_str_ struct str out = {};
	struct fixture f;

	(void)state;
	page_open_report(&f);
	html->report(&f.report, &o, &out);
	o.headless = true;
	html->report(&f.report, &o, &out);
	html->end(&f.report, &o, &out);
	assert_int_equal(count(str_get(&out), "<!doctype html>"), 1);
	assert_int_equal(count(str_get(&out), "</html>"), 1);
	assert_int_equal(count(str_get(&out), "<section class=\"report\""), 2);
	assert_int_equal(count(str_get(&out), "<dl class=\"facts\""), 1);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_markup),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests_name("render_html", tests, NULL, NULL);
}
