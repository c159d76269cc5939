/* Words for commands to copy: whatever they hold, a shell reads them back as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/shell.h"
#include "render/render.h"
#include "render_fixture.h"

static const char *const hostile[] = {
	"",
	"plain/path-1.service",
	"two words",
	"a;touch pwned",
	"`touch pwned`",
	"$(touch pwned)",
	"${HOME}",
	"it's",
	"'; touch pwned; '",
	"\"; touch pwned; \"",
	"a\nb\nc",
	"\n`\\n\\0140$(touch pwned)'",
	"a\tb\033[2Jc\177",
	"back\\slash\\n",
	"\xff\xfe not UTF-8 \xc3",
	"\xc2\x85 C1",
	"ünïcödé ☃",
	"100%s %d%%",
	"~root",
	"-rf",
	"--help",
	"=x",
	"#comment",
	"!event",
	"*?[a-z]{a,b}",
	"a&b|c<d>e(f)",
	"x=1",
};

/* What `shell` makes of the words in `list`, each followed by a NUL. */
static size_t shell_reads(const char *shell, const struct str *list, char *ret, size_t size)
{
	_cleanup_str_ struct str script = {}, command = {};
	FILE *p;
	size_t n;

	str_addf(&script, "printf '%%s\\0'%s", str_get(list));
	str_addf(&command, "exec %s -c ", shell);
	str_add_word(&command, str_get(&script)); /* and a word in a word */
	p = popen(str_get(&command), "r");
	assert_non_null(p);
	n = fread(ret, 1, size, p);
	assert_int_equal(pclose(p), 0);
	return n;
}

static void assert_read_back(const char *shell, const char *const *words, size_t n_words)
{
	_cleanup_str_ struct str list = {}, want = {};
	static char got[1 << 18];
	size_t n;

	for (size_t i = 0; i < n_words; i++) {
		str_addc(&list, ' ');
		str_add_word(&list, words[i]);
		str_addn(&want, words[i], strlen(words[i]) + 1);
	}
	assert_null(strchr(str_get(&list), '`'));
	assert_null(strchr(str_get(&list), '\n'));
	n = shell_reads(shell, &list, got, sizeof(got));
	assert_int_equal(n, want.len);
	assert_memory_equal(got, want.buf, n);
}

static void test_read_back(void **state)
{
	(void)state;
	assert_read_back("sh", hostile, ARRAY_SIZE(hostile));
	assert_read_back("bash", hostile, ARRAY_SIZE(hostile));
}

/* Words of all bytes but NUL. One that ends in a newline is the one that is not kept. */
static void test_random(void **state)
{
	static char text[2000][12];
	const char *words[ARRAY_SIZE(text)];
	u32 seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		for (size_t at = 0; at < sizeof(text[i]) - 1; at++) {
			seed = seed * 1103515245 + 12345;
			text[i][at] = (char)(1 + (seed >> 16) % 255);
		}
		text[i][sizeof(text[i]) - 2] = 'x';
		words[i] = text[i];
	}
	assert_read_back("sh", words, ARRAY_SIZE(words));
}

static void assert_word(const char *word, const char *want)
{
	_cleanup_str_ struct str s = {};

	str_add_word(&s, word);
	assert_string_equal(str_get(&s), want);
}

static void test_readable(void **state)
{
	(void)state;
	assert_word("/sys/fs/cgroup/a.slice/b@1.service", "/sys/fs/cgroup/a.slice/b@1.service");
	assert_word("a b", "'a b'");
	assert_word("it's", "'it'\\''s'");
	assert_word("a`b", "\"$(printf %b 'a\\0140b')\"");
}

static size_t backticks(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '`'))) {
		text++;
		n++;
	}
	return n;
}

/* Whatever a name holds, a line has the commands of its format, and no others. */
static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		struct finding *x;
		struct fixture f;

		fixture_open(&f, "check");
		x = report_finding(&f.report, LEVEL_NOTE, "r");
		finding_line(&f.report, x->try_, "%s: `echo %llu > /x/%s` by %.20s", hostile[i],
			7ULL, hostile[i], hostile[i]);
		assert_int_equal(backticks(x->try_[0]), 2);
		assert_non_null(strstr(x->try_[0], ": `echo 7 > /x/"));
		report_next(&f.report, "%s", hostile[i]);
		assert_int_equal(backticks(f.report.next.v[0]), 0);
		fixture_close(&f);
	}
}

static void test_conversions(void **state)
{
	struct finding *x;
	struct fixture f;

	(void)state;
	fixture_open(&f, "check");
	x = report_finding(&f.report, LEVEL_NOTE, "r");
	finding_line(&f.report, x->try_,
		"%d %u %llu %lld %zu 0x%llx %02d %.1f %.0f %% %5u|%-4d|%.3s", -1, 4000000000U,
		~0ULL, -5LL, (size_t)9, 0x7f0000000000ULL, 3, 1.25, 2.5, 42U, 7, "abcdef");
	assert_string_equal(x->try_[0],
		"-1 4000000000 18446744073709551615 -5 9 0x7f0000000000 03 1.2 2 %    42|7   |abc");
	finding_line(&f.report, x->try_, "Do `a --%s=%llu -c %.5s`", "as", 5ULL, "a bcdef");
	assert_string_equal(x->try_[1], "Do `a --as=5 -c 'a bcd'`");
	fixture_close(&f);
}

/* As text a command is one line, to the byte what JSON has. */
static void test_layout(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		_cleanup_str_ struct str text = {}, want = {};
		struct finding *x;
		struct fixture f;

		fixture_open(&f, "check");
		f.report.has_findings = true;
		x = report_finding(&f.report, LEVEL_NOTE, "r");
		x->title = "a title";
		finding_line(&f.report, x->try_, "Do: `echo 1 > %s` at once", hostile[i]);
		renderer_find("text")->report(
			&f.report, &(struct render_options){.width = 60}, &text);
		str_add(&want, "\n                 echo 1 > ");
		str_add_word(&want, hostile[i]);
		str_add(&want, "\n               at once\n");
		assert_non_null(strstr(str_get(&text), str_get(&want)));
		fixture_close(&f);
	}
}

/* A hint has a whole word, or none. */
static void test_hint(void **state)
{
	char word[HINT_WORD], text[200];

	(void)state;
	assert_string_equal(hint_word(word, "a b", "X"), "'a b'");
	memset(text, ' ', sizeof(text));
	text[HINT_WORD - 3] = '\0';
	assert_int_equal(strlen(hint_word(word, text, "X")), HINT_WORD - 1);
	text[HINT_WORD - 3] = ' ';
	text[HINT_WORD - 2] = '\0';
	assert_string_equal(hint_word(word, text, "X"), "X");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_readable),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_conversions),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_hint),
	};

	return cmocka_run_group_tests_name("shell", tests, NULL, NULL);
}
