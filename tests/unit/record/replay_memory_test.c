/* What reading a recording takes: ten times the events take no more, and few bytes that stand for
 * very many names are refused within the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "cmd/recording.h"
#include "event/log.h"
#include "export/export.h"
#include "probes/faults/faults.h"
#include "record/pipeline.h"

#define KIB 1024L
#define MIB (1024L * KIB)

static char path[] = "/tmp/memwhy-memory-XXXXXX", other[sizeof(path) + 4];
static struct schema schema;

static void put(struct log_writer *w, const void *rec)
{
	struct sink *sink = log_writer_sink(w);

	assert_int_equal(sink->put(sink, rec), 0);
}

static struct log_writer *begin(void)
{
	struct rec_session session = {.h = {sizeof(session), REC_SESSION, 0, 1},
		.command = "faults",
		.options = SESSION_EACH | SESSION_STACKS};
	struct rec_method method = {.h = {sizeof(method), REC_METHOD, 0, 1},
		.probe = "faults",
		.data = "minor and major faults",
		.method = "a hook"};
	struct log_writer *w = NULL;

	assert_int_equal(
		log_writer_open((struct target[]){log_target(path)}, &schema, &w, NULL), 0);
	put(w, &session);
	put(w, &method);
	return w;
}

static void end(struct log_writer *w)
{
	struct rec_tick tick = {.h = {sizeof(tick), REC_END, 0, 2000000000}};

	put(w, &tick);
	assert_int_equal(log_writer_close(w, NULL), 0);
}

/* n faults of one process, each at its own address, and their stack, which is told last. */
static void events_write(u32 n)
{
	struct log_writer *w = begin();
	struct rec_frame frame = {.h = {sizeof(frame), REC_FRAME, 0, 1}, .id = 1, .address = 4096};
	struct {
		struct rec_stack r;
		u32 frames[2];
	} stack = {.r = {.h = {sizeof(stack), REC_STACK, 0, 1}, .id = 7, .n = 1}, .frames = {1}};

	for (u32 i = 0; i < n; i++) {
		struct fault_event e = {.h = {sizeof(e), REC_FAULT, 0, 1 + i},
			.tgid = 5,
			.tid = 5,
			.ustack = 7,
			.address = 4096ULL * i,
			.comm = "job"};

		put(w, &e);
	}
	put(w, &frame);
	put(w, &stack);
	end(w);
}

/* Names of that many threads, which have nothing in common but that they compress well. */
static void names_write(u32 n)
{
	struct log_writer *w = begin();

	for (u32 i = 1; i <= n; i++) {
		struct rec_task t = {.h = {sizeof(t), REC_TASK, 0, 1}, .tgid = i, .tid = i};

		put(w, &t);
	}
	end(w);
}

/* The exit status, and the peak of resident memory, of a command. */
static int command_run(const char *name, struct options *o, long *ret_bytes)
{
	struct rusage used;
	int status;
	pid_t pid;

	o->out = "/dev/null";
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		const struct command *c = command_find(name);

		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(c->run(c, o));
	}
	assert_int_equal(wait4(pid, &status, 0, &used), pid);
	assert_true(WIFEXITED(status));
	*ret_bytes = used.ru_maxrss * KIB;
	return WEXITSTATUS(status);
}

static int report(const char *format, bool each, const char *stacks, u64 most, long *ret_bytes)
{
	struct options o = options_default;

	o.input = path;
	o.format = format;
	o.each = each;
	o.stacks = stacks;
	if (most)
		o.max_bytes = most;
	return command_run("faults", &o, ret_bytes);
}

static int diff(u64 most, long *ret_bytes)
{
	struct options o = options_default;
	char *files[] = {other, path, NULL};

	o.operands = files;
	o.n_operands = 2;
	o.max_bytes = most;
	return command_run("diff", &o, ret_bytes);
}

static void test_events(void **state)
{
	static const char *const formats[] = {"text", "wide", "json", "jsonl", "csv"};
	long few[2][ARRAY_SIZE(formats)], many;

	(void)state;
	events_write(30000);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(formats); i++)
		assert_int_equal(
			report(formats[i / 2], true, i % 2 ? "" : NULL, 0, &few[i % 2][i / 2]), 0);
	events_write(300000);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(formats); i++) {
		assert_int_equal(report(formats[i / 2], true, i % 2 ? "" : NULL, 0, &many), 0);
		print_message("%s%s: %ld KiB, ten times the events: %ld KiB\n", formats[i / 2],
			i % 2 ? " --stacks" : "", few[i % 2][i / 2] / KIB, many / KIB);
		assert_true(many < few[i % 2][i / 2] + 4 * MIB);
	}
}

static int show(const char *name, const char *to, u64 most, long *ret_bytes)
{
	struct options o = options_default;
	char *files[] = {path, NULL};

	if (!strcmp(name, "top")) {
		o.input = path;
		o.format = "json";
	} else {
		o.operands = files;
		o.n_operands = 1;
	}
	if (to)
		o.to = to;
	if (to && !export_of_records(to))
		o.of = "faults";
	if (most)
		o.max_bytes = most;
	return command_run(name, &o, ret_bytes);
}

/* What shows a recording in another way. A page holds the events that it shows, no more. A profile
 * of single events is refused once all of them were read. */
static const struct {
	const char *name, *to;
	int status;
} shows[] = {{"report", NULL, 0}, {"top", NULL, 0}, {"export", "pprof", 2},
	{"export", "speedscope", 2}, {"export", "folded", 2}, {"export", "perfetto", 0},
	{"export", "sqlite", 0}};

static void test_shows(void **state)
{
	long few[ARRAY_SIZE(shows)], many;

	(void)state;
	events_write(30000);
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++)
		assert_int_equal(show(shows[i].name, shows[i].to, 0, &few[i]), shows[i].status);
	events_write(300000);
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++) {
		assert_int_equal(show(shows[i].name, shows[i].to, 0, &many), shows[i].status);
		print_message("%s %s: %ld KiB, ten times the events: %ld KiB\n", shows[i].name,
			shows[i].to ? shows[i].to : "", few[i] / KIB, many / KIB);
		assert_true(many < few[i] + 8 * MIB);
	}
	assert_int_equal(show("report", NULL, 16 * MIB, &many), 0);
}

static void test_shows_bound(void **state)
{
	(void)state;
	names_write(500000);
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++) {
		long bytes;
		int status = show(shows[i].name, shows[i].to, 16 * MIB, &bytes);

		print_message("%s %s: status %d, %ld KiB\n", shows[i].name,
			shows[i].to ? shows[i].to : "", status, bytes / KIB);
#ifndef __SANITIZE_ADDRESS__
		assert_true(bytes < 64 * MIB);
#endif
		assert_true(status == 0 || status == 4);
	}
}

static void test_bound(void **state)
{
	struct stat st;
	long bytes;

	(void)state;
	names_write(500000);
	snprintf(other, sizeof(other), "%s.old", path);
	assert_int_equal(rename(path, other), 0);
	names_write(500000);
	assert_int_equal(stat(path, &st), 0);
	print_message("%ld KiB of names\n", (long)(st.st_size / KIB));
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(report("json", false, NULL, 16 * MIB, &bytes), 4);
	assert_true(bytes < 48 * MIB);
	assert_int_equal(report("json", false, NULL, 32 * MIB, &bytes), 4);
	assert_true(bytes < 64 * MIB);
	assert_int_equal(diff(32 * MIB, &bytes), 4);
	assert_true(bytes < 64 * MIB);
#endif
	assert_int_equal(report("json", false, NULL, 0, &bytes), 0);
	assert_true((u64)bytes < RECORDING_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_shows),
		cmocka_unit_test(test_shows_bound),
	};
	int fd = mkstemp(path), rc;

	if (fd < 0 || pipeline_schema(&schema))
		return 1;
	close(fd);
	rc = cmocka_run_group_tests_name("replay memory", tests, NULL, NULL);
	unlink(path);
	unlink(other);
	return rc;
}
