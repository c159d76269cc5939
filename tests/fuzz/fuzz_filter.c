/*
 * Fuzzes --filter and --by of count. What is accepted only leads forward, to a comparison that is
 * there or to an end, whatever the comparisons say.
 */
#include <stdint.h>
#include <string.h>

#include "probes/count/count_filter.h"
#include "probes/count/count_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void next_check(const struct filter *f, u32 i, u8 next)
{
	if (next != COUNT_PASS && next != COUNT_FAIL && (next <= i || next >= f->n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct count_keys keys = {};
	struct filter f = {};
	struct err err = {};

	if (!text)
		abort();
	if (filter_parse(text, &f, &err)) {
		if (!err.msg[0] || f.n)
			abort();
	} else if (!f.n || f.n > COUNT_TESTS) {
		abort();
	}
	for (u32 i = 0; i < f.n; i++) {
		const struct filter_test *t = &f.tests[i];

		next_check(&f, i, t->yes);
		next_check(&f, i, t->no);
		if (t->yes == t->no || !t->name[0] || strlen(t->name) >= FILTER_NAME ||
			strlen(t->value) >= FILTER_NAME || t->at < 1 || t->at > size)
			abort();
	}
	if (!count_keys_parse(text, size & 1, &keys, &err) &&
		(keys.n > COUNT_KEYS || keys.n_fields > COUNT_FIELDS))
		abort();
	free(text);
	return 0;
}
