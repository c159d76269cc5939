/* What is kept out of the program: files in the old formats of zstd are refused, and nothing that
 * memwhy packs needs a level whose code is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/types.h"
#include "base/unlinked.h"

/* The magic numbers of 0.5, 0.6 and 0.7 (lib/legacy/zstd_v0X.h of zstd), then anything. */
static void test_old_formats(void **state)
{
	static const u32 magic[] = {0xfd2fb525, 0xfd2fb526, 0xfd2fb527};
	char in[64], out[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(magic) / sizeof(*magic); i++) {
		ZSTD_DCtx *stream = ZSTD_createDCtx();
		ZSTD_inBuffer from = {in, sizeof(in), 0};
		ZSTD_outBuffer to = {out, sizeof(out), 0};

		memset(in, 'x', sizeof(in));
		memcpy(in, &magic[i], sizeof(*magic));
		assert_true(ZSTD_isError(ZSTD_decompress(out, sizeof(out), in, sizeof(in))));
		assert_true(ZSTD_isError(ZSTD_decompressStream(stream, &to, &from)));
		assert_true(ZSTD_isError(ZSTD_findFrameCompressedSize(in, sizeof(in))));
		assert_int_equal(to.pos, 0);
		ZSTD_freeDCtx(stream);
	}
}

/* The strategy depends on the size, too: each class of sizes that zstd knows, and bytes that repeat
 * and that do not. */
static void test_level(void **state)
{
	static const size_t sizes[] = {1, 100, 10000, 20000, 200000, 500000, 3000000};
	size_t cap = ZSTD_compressBound(3000000);
	char *in = malloc(3000000), *packed = malloc(cap), *out = malloc(3000000);

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n;

		for (size_t k = 0; k < sizes[i]; k++)
			in[k] = (char)(k % 3 ? k / 512 : (k * 2654435761U) >> 24);
		n = ZSTD_compress(packed, cap, in, sizes[i], ZSTD_LEVEL);
		assert_false(ZSTD_isError(n));
		assert_int_equal(ZSTD_decompress(out, sizes[i], packed, n), sizes[i]);
		assert_memory_equal(in, out, sizes[i]);
	}
	free(in);
	free(packed);
	free(out);
}

int unlinked_strcasecmp(const char *a, const char *b);
int unlinked_strncasecmp(const char *a, const char *b, size_t n);

static void test_letters(void **state)
{
	(void)state;
	assert_int_equal(unlinked_strcasecmp("MemTotal", "memtotal"), 0);
	assert_true(unlinked_strcasecmp("a", "B") < 0 && unlinked_strcasecmp("B", "a") > 0);
	assert_true(unlinked_strcasecmp("ab", "a") > 0 && unlinked_strcasecmp("a", "AB") < 0);
	assert_true(unlinked_strcasecmp("", "a") < 0 && !unlinked_strcasecmp("", ""));
	assert_true(unlinked_strcasecmp("\xff", "a") > 0); /* bytes are not negative */
	assert_int_equal(unlinked_strncasecmp("ABc", "abd", 2), 0);
	assert_true(unlinked_strncasecmp("ABc", "abd", 3) < 0);
	assert_int_equal(unlinked_strncasecmp("x", "y", 0), 0);
	assert_int_equal(unlinked_strncasecmp("ab", "AB\0c", 9), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_formats),
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
