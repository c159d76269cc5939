/*
 * The options that probes have of their own: what check() refuses, which probes run beside one, and
 * that a command over another takes the other's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/command.h"
#include "cmd/own.h"
#include "probes/heap/heap_opts.h"
#include "probes/leak/leak_opts.h"
#include "probes/numa/numa_opts.h"

static char *job[] = {"/nonexistent/job", NULL};

static struct options options_new(void)
{
	struct options o = options_default;

	assert_int_equal(own_alloc(&o), 0);
	return o;
}

/* Parses words as those of a command; the index of its first error. */
static int parse(const char *command, struct options *o, int argc, char **argv)
{
	struct err err = {};
	int rest;

	return opt_parse(options_of(command_find(command), o->own), options_all(), o, argc, argv,
		&o->n_operands, &rest, &err);
}

#define PARSE(command_, o_, ...)                                        \
	({                                                              \
		char *argv_[] = {"x", __VA_ARGS__, NULL};               \
		parse(command_, o_, (int)ARRAY_SIZE(argv_) - 1, argv_); \
	})

/* Each probe finds its own in its own struct, wherever they were given. */
static void where_they_go(void **state)
{
	struct options o = options_new();
	const struct heap_opts *heap = own_of(&o, &probe_heap);
	const struct leak_opts *leak = own_of(&o, &probe_leak);

	(void)state;
	assert_null(own_of(&o, &probe_faults));
	assert_int_equal(PARSE("leak", &o, "--kernel", "--sample", "4K"), 0);
	assert_true(leak->kernel);
	assert_int_equal(heap->sample_bytes, 4096);
	assert_int_equal(PARSE("leak", &o, "--faults"), -EINVAL);
	assert_int_equal(PARSE("heap", &o, "--kernel"), -EINVAL);
	assert_int_equal(PARSE("heap", &o, "--faults", "--from", "2s"), 0);
	assert_true(heap->faults);
	assert_int_equal(heap->from_ns, 2000000000);
	assert_int_equal(o.from_ns, 0); /* until its check has looked at it */
	own_free(&o);
}

static void own_ones_replace_shared_ones(void **state)
{
	struct options o = options_new();
	const struct numa_opts *numa = own_of(&o, &probe_numa);
	struct err err = {};

	(void)state;
	assert_int_equal(PARSE("numa", &o, "--to", "2s"), 0);
	assert_string_equal(numa->to, "2s");
	assert_int_equal(own_check(&o, &probe_numa, &err), 0);
	assert_int_equal(o.to_ns, 0); /* live it is nodes */
	o.input = "file";
	assert_int_equal(own_check(&o, &probe_numa, &err), 0);
	assert_int_equal(o.to_ns, 2000000000);
	own_free(&o);
}

static void leak_is_over_heap(void **state)
{
	struct options o = options_new();
	struct err err = {};

	(void)state;
	assert_int_equal(PARSE("leak", &o, "--kernel"), 0);
	assert_int_equal(own_check(&o, &probe_leak, &err), 0);
	assert_int_equal(PARSE("leak", &o, "--no-wait"), 0);
	assert_int_equal(own_check(&o, &probe_leak, &err), -EINVAL);
	assert_string_equal(err.msg,
		"--sample, --no-wait, --events and --allocator work on programs and cannot "
		"be combined with --kernel");
	own_free(&o);
	o = options_new();
	o.argv = job;
	assert_int_equal(PARSE("leak", &o, "--events"), 0); /* which heap refuses */
	assert_int_equal(own_check(&o, &probe_leak, &err), -EINVAL);
	assert_string_equal(err.msg, "--events adds to a recording: it needs --record FILE");
	own_free(&o);
}

static void who_runs_beside(void **state)
{
	struct options o = options_new();
	struct numa_opts *numa = own_of(&o, &probe_numa);
	struct leak_opts *leak = own_of(&o, &probe_leak);
	struct company with;

	(void)state;
	own_beside(&o, &probe_faults, &with);
	assert_null(with.with);
	own_beside(&o, &probe_leak, &with);
	assert_string_equal(with.with[0], "heap");
	assert_true(with.required && with.of_programs && !with.needs_privilege);
	leak->kernel = true;
	own_beside(&o, &probe_leak, &with);
	assert_string_equal(with.with[0], "slab");
	assert_true(!with.required && !with.of_programs && with.needs_privilege);
	own_beside(&o, &probe_numa, &with);
	assert_null(with.with);
	o.argv = job;
	own_beside(&o, &probe_numa, &with);
	assert_string_equal(with.with[0], "heap");
	assert_int_equal(with.least_bytes, 4096);
	numa->no_heap = true;
	own_beside(&o, &probe_numa, &with);
	assert_null(with.with);
	own_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_they_go),
		cmocka_unit_test(own_ones_replace_shared_ones),
		cmocka_unit_test(leak_is_over_heap),
		cmocka_unit_test(who_runs_beside),
	};

	return cmocka_run_group_tests_name("own_options", tests, NULL, NULL);
}
