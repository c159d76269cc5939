/*
 * Every captured file, whole, cut off at any byte and with bytes changed, given to every parser of
 * src/sys by way of the fuzz target: what it checks holds for all of them.
 */
#include <ftw.h>

#include "data/sys/fixture.h"

#include "../../fuzz/fuzz_proc.c"

/* Beyond this, not every length is tried but every 61st. */
#define THOROUGH 2048

static char *input; /* a byte for the choice of the parser, then the file */
static size_t files;

static void feed(size_t target, size_t n)
{
	input[0] = (char)target;
	assert_int_equal(LLVMFuzzerTestOneInput((const uint8_t *)input, n + 1), 0);
}

static void feed_all(size_t n)
{
	for (size_t target = 0; target < ARRAY_SIZE(fuzz_targets); target++)
		feed(target, n);
}

/* A fixed sequence, so that a failure comes again. */
static u32 next_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void damage(size_t n)
{
	static const char bytes[] = " \t\n:,[]()\\-0\xff";
	u32 seed = (u32)n;

	for (int i = 0; i < 200 && n; i++) {
		char *at = &input[1 + next_random(&seed) % n];
		char old = *at;

		*at = bytes[next_random(&seed) % sizeof(bytes)];
		feed_all(n);
		*at = old;
	}
}

static int feed_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	_cleanup_str_ struct str text = {};

	(void)st;
	(void)at;
	if (kind != FTW_F || strstr(path, ".h"))
		return 0;
	assert_int_equal(file_read(path, &text), 0);
	input = malloc(text.len + 1);
	assert_non_null(input);
	memcpy(input + 1, str_get(&text), text.len);
	feed_all(text.len);
	for (size_t n = 0; n < text.len; n += n < THOROUGH ? 1 : 61)
		feed_all(n);
	damage(MIN(text.len, (size_t)THOROUGH));
	free(input);
	files++;
	return 0;
}

static void test_damage(void **state)
{
	char path[PATH_MAX];

	(void)state;
	fixture_path(path, "6.12", "");
	assert_int_equal(nftw(path, feed_file, 16, FTW_PHYS), 0);
	fixture_path(path, "fragmented", "");
	assert_int_equal(nftw(path, feed_file, 16, FTW_PHYS), 0);
	assert_true(files > 80);
}

/* No text at all, and bytes that are no text. */
static void test_extremes(void **state)
{
	size_t n = 1 << 20;

	(void)state;
	input = malloc(n + 1);
	assert_non_null(input);
	for (int c = 0; c < 256; c++) {
		memset(input + 1, c, 512);
		feed_all(c % 7);
		feed_all(512);
	}
	memset(input + 1, '9', n);
	feed_all(n);
	memset(input + 1, ' ', n);
	feed_all(n);
	memset(input + 1, '\n', n);
	feed_all(n);
	for (size_t i = 0; i < n; i++)
		input[1 + i] = "1 "[i % 2];
	feed_all(n);
	free(input);
	assert_int_equal(LLVMFuzzerTestOneInput(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
