/* Recordings without names: what stays, what goes, and that a name becomes one word everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "event/meta.h"
#include "export/anonymize.h"
#include "export/public_names.h"
#include "record/pipeline.h"

#define RECORDS 16

struct taken {
	struct sink sink;
	char records[RECORDS][REC_MAX_SIZE + 8];
	size_t n;
};

static int take(struct sink *sink, const struct rec *r)
{
	struct taken *t = (struct taken *)sink;

	assert_true(t->n < RECORDS);
	memcpy(t->records[t->n++], r, r->size);
	return 0;
}

static void test_public(void **state)
{
	(void)state;
	assert_true(public_module("/usr/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(public_module("/lib64/ld-linux-x86-64.so.2"));
	assert_true(public_module("[kernel]"));
	assert_true(public_module("libstdc++.so.6"));
	assert_false(public_module("/home/me/libc.so.6"));
	assert_false(public_module("/usr/lib/me/libc.so.6"));
	assert_false(public_module("/usr/lib/x86_64-linux-gnu/libsecret.so"));
	assert_false(public_module("/usr/libexec/libc.so.6"));
	assert_true(public_word("kswapd0"));
	assert_false(public_word("kswapd0-of-mine"));
	assert_true(public_path("/proc/sys/vm/swappiness"));
	assert_false(public_path("/proc/12/root/home/me"));
	assert_true(public_group("system.slice", 12));
	assert_false(public_group("system.slices", 13));
}

static void text_set(struct rec *r, size_t offset, const char *text)
{
	strcpy((char *)r + offset, text);
	r->size = (u32)((offset + strlen(text) + 1 + 7) & ~7UL);
}

static void string_give(struct sink *to, u32 id, const char *text)
{
	char buf[512] = {};
	struct rec_string *s = (struct rec_string *)buf;

	*s = REC_INIT(struct rec_string, REC_STRING, 1);
	s->id = id;
	s->length = (u32)strlen(text);
	text_set(&s->h, offsetof(struct rec_string, text), text);
	assert_int_equal(to->put(to, &s->h), 0);
}

static void cgroup_give(struct sink *to, const char *path)
{
	char buf[512] = {};
	struct rec_cgroup *g = (struct rec_cgroup *)buf;

	*g = REC_INIT(struct rec_cgroup, REC_CGROUP, 1);
	g->id = 7;
	g->length = (u32)strlen(path);
	text_set(&g->h, offsetof(struct rec_cgroup, path), path);
	assert_int_equal(to->put(to, &g->h), 0);
}

static void symbol_give(struct sink *to, u32 frame, u32 module, u32 function)
{
	struct rec_frame f = REC_INIT(struct rec_frame, REC_FRAME, 1);
	u64 buf[16] = {};
	struct rec_symbol *s = (struct rec_symbol *)buf;

	f.id = frame;
	f.module = module;
	assert_int_equal(to->put(to, &f.h), 0);
	*s = REC_INIT(struct rec_symbol, REC_SYMBOL, 1);
	s->h.size = sizeof(*s) + sizeof(struct sym_line);
	s->frame = frame;
	s->n = 1;
	s->lines[0].function = function;
	assert_int_equal(to->put(to, &s->h), 0);
}

static void task_give(struct sink *to, const char *comm)
{
	struct rec_task t = REC_INIT(struct rec_task, REC_TASK, 1);

	strcpy(t.comm, comm);
	assert_int_equal(to->put(to, &t.h), 0);
}

static void note_give(struct sink *to, const char *text)
{
	struct rec_note n = REC_INIT(struct rec_note, REC_NOTE, 1);

	strcpy(n.text, text);
	assert_int_equal(to->put(to, &n.h), 0);
}

static void session_give(struct sink *to, const char *scope)
{
	struct rec_session s = REC_INIT(struct rec_session, REC_SESSION, 1);

	strcpy(s.command, "heap");
	strcpy(s.scope, scope);
	assert_int_equal(to->put(to, &s.h), 0);
}

static void recording_give(struct sink *to)
{
	session_give(to, "command secret, cgroup /system.slice/mine, pid 12,13");
	note_give(
		to, "could not read /home/me/x (secret, pid 12): /system.slice/mine is odd name's");
	string_give(to, 1, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	string_give(to, 2, "/home/me/secret");
	string_give(to, 3, "malloc");
	string_give(to, 4, "my_function");
	symbol_give(to, 1, 1, 3);
	symbol_give(to, 2, 2, 4);
	task_give(to, "secret");
	task_give(to, "odd name");
	cgroup_give(to, "/system.slice/mine");
}

static const char *string_at(const struct taken *t, size_t i)
{
	return ((const struct rec_string *)t->records[i])->text;
}

static void test_recording(void **state)
{
	struct schema *schema = calloc(1, sizeof(*schema));
	struct taken *t = calloc(1, sizeof(*t));
	struct anonymizer *a;

	(void)state;
	assert_int_equal(pipeline_schema(schema), 0);
	a = anonymizer_new(schema);
	t->sink.put = take;
	recording_give(anonymizer_learn(a));
	recording_give(anonymizer_pass(a, &t->sink));
	assert_int_equal(t->n, 13);
	assert_string_equal(((struct rec_session *)t->records[0])->scope,
		"command program-1, cgroup /system.slice/group-1, pid 12,13");
	assert_string_equal(((struct rec_session *)t->records[0])->command, "heap");
	assert_string_equal(((struct rec_note *)t->records[1])->text,
		"could not read file-2 (program-1, pid 12): /system.slice/group-1 is "
		"\xe2\x80\xa6's");
	assert_string_equal(string_at(t, 2), "/usr/lib/x86_64-linux-gnu/libc.so.6");
	assert_string_equal(string_at(t, 3), "file-1");
	assert_string_equal(string_at(t, 4), "malloc");
	assert_string_equal(string_at(t, 5), "function-1");
	assert_string_equal(((struct rec_task *)t->records[10])->comm, "program-1");
	assert_string_equal(((struct rec_task *)t->records[11])->comm, "program-2");
	assert_string_equal(((struct rec_cgroup *)t->records[12])->path, "/system.slice/group-1");
	/* Another recording, with other ids: the same names are the same words. */
	t->n = 0;
	string_give(anonymizer_learn(a), 9, "my_function");
	symbol_give(anonymizer_learn(a), 1, 0, 9);
	string_give(anonymizer_pass(a, &t->sink), 9, "my_function");
	assert_string_equal(string_at(t, 0), "function-1");
	anonymizer_free(a);
	free(schema);
	free(t);
}

/* A kind that nobody described might say anything. */
static void test_unknown(void **state)
{
	struct schema *schema = calloc(1, sizeof(*schema));
	struct taken *t = calloc(1, sizeof(*t));
	struct rec r = {.size = sizeof(r), .kind = REC_KINDS - 1};
	struct anonymizer *a;

	(void)state;
	assert_int_equal(pipeline_schema(schema), 0);
	a = anonymizer_new(schema);
	t->sink.put = take;
	assert_int_equal(anonymizer_learn(a)->put(anonymizer_learn(a), &r), 0);
	assert_int_equal(anonymizer_pass(a, &t->sink)->put(anonymizer_pass(a, &t->sink), &r), 0);
	assert_int_equal(t->n, 0);
	anonymizer_free(a);
	free(schema);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
