/* Holds that what is loaded beside other work is what was asked for, once, and that whoever asks
 * for something else, or for what did not load, is told to load it himself. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "capture/ahead.h"
#include "capture/embedded.h"
#include "capture/object.h"

static const char *const names[] = {"oom", "percpu_where", "inodes", "slab", "cache", "maps"};

/* Without programs: there is nothing to be refused, but its maps, which takes rights. */
static struct bpf_object *open_one(const char *name, int *types)
{
	struct bpf_object *obj;

	*types = object_types();
	assert_true(*types >= 0);
	assert_int_equal(object_open_apart(embedded_find(name), *types, &obj), 0);
	return obj;
}

static bool may_load(void)
{
	return !object_may_load();
}

#define ONE_CPU "on one CPU nothing is loaded beside anything"

static void test_all_are_taken_once(void **state)
{
	struct ahead *a = ahead_begin();
	struct bpf_object *obj;
	int types;

	(void)state;
	if (!a || !may_load()) {
		print_message("%s\n", a ? "needs the right to load BPF" : ONE_CPU);
		ahead_end(a);
		skip();
	}
	for (int i = 0; i < AHEAD_JOBS; i++) {
		obj = open_one(names[i], &types);
		ahead_put(a, names[i], obj, types);
	}
	/* the last first, so that others wait */
	for (int i = AHEAD_JOBS - 1; i >= 0; i--) {
		obj = ahead_take(a, names[i]);
		assert_non_null(obj);
		assert_true(bpf_map__fd(bpf_object__next_map(obj, NULL)) >= 0);
		bpf_object__close(obj);
		assert_null(ahead_take(a, names[i]));
	}
	ahead_end(a);
}

static void test_unknown_full_and_left(void **state)
{
	struct ahead *a = ahead_begin();
	int types;

	(void)state;
	assert_null(ahead_take(NULL, names[0]));
	ahead_end(NULL);
	if (!a) {
		print_message("%s\n", ONE_CPU);
		skip();
	}
	assert_null(ahead_take(a, names[0]));
	for (int i = 0; i < AHEAD_JOBS + 1; i++) {
		struct bpf_object *obj = open_one(names[i], &types);

		ahead_put(a, names[i], obj, types);
	}
	assert_null(ahead_take(a, names[AHEAD_JOBS])); /* there was no room */
	ahead_end(a);                                  /* the sanitizer sees what would be left */
}

/* Each has a file of its own: what is opened later does not change what is loaded earlier. */
static void test_types_of_their_own(void **state)
{
	int first, second;
	struct bpf_object *a = open_one("maps", &first), *b = open_one("oom", &second);
	char x[4096], y[4096];
	ssize_t n = pread(first, x, sizeof(x), 0), m = pread(second, y, sizeof(y), 0);

	(void)state;
	assert_int_not_equal(first, second);
	assert_true(n > 0 && m > 0);
	bpf_object__close(b);
	close(second);
	assert_int_equal(pread(first, y, sizeof(y), 0), n);
	assert_memory_equal(x, y, (size_t)n);
	bpf_object__close(a);
	close(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_taken_once),
		cmocka_unit_test(test_unknown_full_and_left),
		cmocka_unit_test(test_types_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
