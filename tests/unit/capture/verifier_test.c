/* Holds that a program that the verifier refuses is told as that, with its name and what is wrong
 * with it, and not as a want of rights, which whoever runs this has. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/attach.h"
#include "capture/embedded.h"
#include "capture/object.h"
#include "capture/verifier.h"

static void test_words(void **state)
{
	struct verifier_said said = {};

	(void)state;
	assert_true(verifier_read("libbpf: prog 'oom_victim': -- BEGIN PROG LOAD LOG --\n"
				  "0: R1=ctx(off=0,imm=0)\n"
				  "0: (79) r0 = *(u64 *)(r1 +8000)\n"
				  "invalid bpf_context access off=8000 size=8\n"
				  "verification time 12 usec\n"
				  "stack depth 0\n"
				  "processed 1 insns (limit 1000000) max_states_per_insn 0\n"
				  "-- END PROG LOAD LOG --\n",
		&said));
	assert_string_equal(said.program, "oom_victim");
	assert_string_equal(said.words, "invalid bpf_context access off=8000 size=8");
	assert_false(verifier_read("libbpf: prog 'x': failed to load: -13\n", &said));
	assert_false(verifier_read("libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\ncut", &said));
	assert_string_equal(said.program, "oom_victim");
	assert_true(verifier_read(
		"prog '': -- BEGIN PROG LOAD LOG --\n-- END PROG LOAD LOG --\n", &said));
	assert_string_equal(said.program, "");
	assert_string_equal(said.words, "");
}

struct told {
	struct sink sink;
	struct rec_method method;
	char note[300];
};

static int put(struct sink *sink, const struct rec *r)
{
	struct told *told = (struct told *)sink;

	if (r->kind == REC_METHOD)
		memcpy(&told->method, r, sizeof(told->method));
	if (r->kind == REC_NOTE)
		snprintf(told->note, sizeof(told->note), "%s", ((const struct rec_note *)r)->text);
	return 0;
}

/* Reads behind the end of what it is given: permission denied. */
static int spoil(struct bpf_object *obj, void *arg)
{
	const struct bpf_insn bad = {
		.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 0, .src_reg = 1, .off = 8000};
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "oom_victim");
	size_t n = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns = calloc(n, sizeof(*insns));
	int rc;

	(void)arg;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	insns[0] = bad;
	rc = bpf_program__set_insns(prog, insns, n);
	free(insns);
	return rc;
}

static void spoiled_open(
	bool required, const char *other, struct told *told, int expected, struct err *err)
{
	const struct attach_hook hook = {
		.data = "kills",
		.required = required,
		.methods = {{"raw tracepoint", {"oom_victim"}, {}, 0},
			{other, {"oom_signal"}, {}, 0}},
	};
	const struct attach_spec spec = {
		.object = embedded_find("oom"), .hooks = &hook, .n_hooks = 1, .prepare = spoil};
	struct capture c = {.sink = &told->sink, .probe = "oom", .tells_refusals = true};
	struct attached *a = NULL;

	told->sink.put = put;
	assert_int_equal(attach_open(&c, &spec, &a, err), expected);
	attach_close(a);
	capture_close(&c);
}

static bool may_load(void)
{
	if (object_may_load()) {
		print_message("needs the right to load BPF programs\n");
		return false;
	}
	return true;
}

#define REFUSED "the verifier refuses oom_victim: Permission denied"

static void test_required(void **state)
{
	struct told told = {};
	struct err err = {};

	(void)state;
	if (!may_load())
		skip();
	spoiled_open(true, NULL, &told, -EOPNOTSUPP, &err);
	assert_int_equal(err.code, -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, REFUSED));
	assert_string_equal(err.hint, "`memwhy doctor` has what the verifier says of it");
	assert_non_null(strstr(told.note, "verifier refuses the program oom_victim (Permission "
					  "denied): invalid"));
}

static void test_optional(void **state)
{
	struct told told = {};

	(void)state;
	if (!may_load())
		skip();
	spoiled_open(false, NULL, &told, 0, NULL);
	assert_non_null(strstr(told.method.missing, REFUSED));
	assert_int_equal(told.method.h.flags & METHOD_REFUSED, 0);
	assert_string_equal(told.method.needs, "");
}

static void test_another_method(void **state)
{
	struct told told = {};

	(void)state;
	if (!may_load())
		skip();
	spoiled_open(true, "another", &told, 0, NULL);
	assert_string_equal(told.method.method, "another");
	assert_string_equal(told.note, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_required),
		cmocka_unit_test(test_optional),
		cmocka_unit_test(test_another_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
