/* Names found by a process that can do nothing else: they are those that are found here, of debug
 * files too, which it names and others open; its death costs one file, and no answer of it does
 * harm. */
#include "data/sym/helpers.h"

#include <poll.h>
#include <sys/socket.h>

#include "capture/reader/reader_names_work.h"
#include "sym/rootfs.h"

#define STEP 7
#define ANSWERS_MAX 4096U

/* What a reader has answered, as text. */
struct answers {
	struct str text[ANSWERS_MAX];
	u32 n;
};

static void frames_add(struct str *to, const struct sym_frames *f)
{
	for (size_t i = 0; i < f->n; i++)
		str_addf(to, "%s+%llx %s:%u\n", f->v[i].function ?: "-", f->v[i].offset,
			f->v[i].file ?: "-", f->v[i].line);
}

static int on_named(void *arg, u32 place, const struct sym_frames *frames)
{
	struct answers *a = arg;

	assert_true(place < ANSWERS_MAX);
	frames_add(&a->text[place], frames);
	a->n++;
	return 0;
}

static void answers_free(struct answers *a)
{
	for (u32 i = 0; i < ANSWERS_MAX; i++)
		str_free(&a->text[i]);
	free(a);
}

static struct answers *answers_new(void)
{
	struct answers *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	return a;
}

static struct reader_names_how how_of(struct answers *a)
{
	return (struct reader_names_how){
		.lines = true,
		.bytes_max = BUDGET_BYTES_DEFAULT,
		.ns_max = BUDGET_NS_DEFAULT,
		.named = on_named,
		.arg = a,
	};
}

static struct reader_module file_module(const char *path, u32 id)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return (struct reader_module){
		.id = id, .kind = MODULE_FILE, .path = path, .fd = fd, .root_fd = ROOT_OURS};
}

/* Every few bytes of the code of a file, asked of a reader and looked up here. */
static u32 expect_same(struct reader *r, const char *program, u32 id)
{
	_cleanup_free_ struct reader_place *places = calloc(ANSWERS_MAX, sizeof(*places));
	_cleanup_elf_file_ struct elf_file elf = elf_of(in_scratch(program));
	_cleanup_world_ struct world w = world_new(NULL);
	struct reader_module m = file_module(in_scratch(program), id);
	struct answers *a = answers_new();
	struct reader_names_how how = how_of(a);
	struct reader_names_ret got = {};
	u32 module = world_module(&w, in_scratch(program)), n = 0, named = 0;

	vec_each (s, &elf.segments) {
		for (u64 at = 0; s->executable && at < s->size && n < ANSWERS_MAX; at += STEP)
			places[n++] = (struct reader_place){
				s->offset + at, at & 1 ? SYM_RETURN_ADDRESS : 0, 0};
	}
	assert_int_equal(reader_names(r, &m, places, n, &how, &got), 0);
	for (u32 i = 0; i < n; i++) {
		_cleanup_str_ struct str here = {};
		struct sym_frames f;

		assert_int_equal(symbolizer_resolve_user(
					 w.syms, module, places[i].offset, places[i].flags, &f),
			0);
		if (f.v[f.n - 1].function)
			frames_add(&here, &f);
		assert_string_equal(str_get(&a->text[i]), str_get(&here));
		named += here.len > 0;
	}
	assert_int_equal(a->n, named);
	answers_free(a);
	close(m.fd);
	return named;
}

static void the_same_names(void **state)
{
	struct reader *r;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog") &&
		run("objcopy -g prog plain && strip -s -o bare prog") == 0);
	assert_int_equal(reader_open(&r), 0);
	assert_true(expect_same(r, "prog", 4) > 20);
	assert_true(expect_same(r, "prog", 4) > 20); /* it knows the file */
	assert_true(expect_same(r, "plain", 5) > 20);
	expect_same(r, "bare", 6);
	assert_true(reader_cpu_ns(r) > 0);
	assert_true(reader_pid(r, 0) > 0);
	reader_close(r);
}

/* By link, and what several debug files share: beside the program, and beside its debug file. */
static void debug_files(void **state)
{
	struct reader *r;

	(void)state;
	NEEDS(have("objcopy") && build("gcc", "-O2 -g", "inlined.c", "full") &&
		run("objcopy --only-keep-debug full p.debug && objcopy -S full linked && "
		    "objcopy --add-gnu-debuglink=p.debug linked") == 0);
	assert_int_equal(reader_open(&r), 0);
	assert_true(expect_same(r, "linked", 4) > 20);
	if (have("dwz")) {
		assert_true(build("gcc", "-O2 -g -DOTHER", "inlined.c", "two"));
		assert_int_equal(run("cp full one && dwz -m shared.debug one two"), 0);
		assert_true(expect_same(r, "one", 5) > 20);
		assert_true(expect_same(r, "two", 6) > 20);
		assert_true(build("gcc", "-O2 -g -DOTHER", "inlined.c", "three"));
		assert_int_equal(
			run("mkdir .debug && for f in full three; do "
			    "objcopy --only-keep-debug $f .debug/$f.debug; done && "
			    "cd .debug && dwz -m below.debug full.debug three.debug && cd .. && "
			    "objcopy -S full stripped && "
			    "objcopy --add-gnu-debuglink=.debug/full.debug stripped"),
			0);
		assert_true(expect_same(r, "stripped", 7) > 20);
	}
	reader_close(r);
}

/* The vdso, which is no file, and code made at run time, whose names a program wrote down. */
static void no_files(void **state)
{
	static const char map[] = "7f0000001000 20 first\n7f0000001020 20 second\n";
	struct reader_place places[] = {{0x7f0000001008, 0, 0}, {0x7f0000001020, 1, 0},
		{0x7f0000001021, 0, 0}, {0x7f0000002000, 0, 0}};
	struct reader_module m = {.kind = MODULE_ANON, .fd = -1, .root_fd = ROOT_OURS};
	struct answers *a = answers_new();
	struct reader_names_how how = how_of(a);
	struct reader_names_ret got = {};
	struct reader *r;

	(void)state;
	assert_int_equal(reader_open(&r), 0);
	file_write(in_scratch("map"), map, strlen(map));
	m.fd = open(in_scratch("map"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(reader_names(r, &m, places, ARRAY_SIZE(places), &how, &got), 0);
	assert_int_equal(got.error, 0);
	assert_int_equal(got.bytes_held, 0);
	assert_string_equal(str_get(&a->text[0]), "first+8 -:0\n");
	assert_string_equal(str_get(&a->text[1]), "first+20 -:0\n");
	assert_string_equal(str_get(&a->text[2]), "second+1 -:0\n");
	assert_int_equal(a->n, 3);
	close(m.fd);
	/* Larger than what is left of the budget. */
	assert_int_equal(run("yes '7f0000001000 20 name' | head -c 1000000 >map"), 0);
	m.fd = open(in_scratch("map"), O_RDONLY | O_CLOEXEC);
	how.bytes_others = how.bytes_max - 900000;
	assert_int_equal(reader_names(r, &m, places, 1, &how, &got), 0);
	assert_int_equal(got.error, -EFBIG);
	assert_int_equal(got.bytes_held, 0);
	close(m.fd);
	m = (struct reader_module){.id = MODULE_ID_VDSO, .kind = MODULE_VDSO, .fd = -1};
	for (u32 i = 0; i < ARRAY_SIZE(places); i++)
		places[i] = (struct reader_place){0x800 + 0x40 * i, 0, 0};
	how.bytes_others = 0;
	assert_int_equal(reader_names(r, &m, places, ARRAY_SIZE(places), &how, &got), 0);
	reader_close(r);
	answers_free(a);
}

static u64 held_after(struct reader *r, const struct reader_module *m, bool sparing)
{
	struct reader_place place = {0x1100, 0, 0};
	struct answers *a = answers_new();
	struct reader_names_how how = how_of(a);
	struct reader_names_ret got;

	how.sparing = sparing;
	assert_int_equal(reader_names(r, m, &place, 1, &how, &got), 0);
	answers_free(a);
	return got.bytes_held;
}

/* Much debug information is read once, not for each ask; where little is to be kept, that of one
 * file at least. */
static void much_is_kept(void **state)
{
	static const u64 much = 25 << 20;
	struct reader_module m[2];
	struct reader *r;

	(void)state;
	NEEDS(build("gcc", "-O2 -g -gdwarf-5", "inlined.c", "prog") &&
		run("head -c 26214400 /dev/zero >zeros && "
		    "objcopy --add-section .debug_ranges=zeros prog one && cp one two") == 0);
	m[0] = file_module(in_scratch("one"), 4);
	m[1] = file_module(in_scratch("two"), 5);
	assert_int_equal(reader_open(&r), 0);
	assert_in_range(held_after(r, &m[0], true), much, 2 * much - 1);
	assert_in_range(held_after(r, &m[0], false), much, 2 * much - 1);
	assert_in_range(held_after(r, &m[1], false), 2 * much, 3 * much);
	assert_in_range(held_after(r, &m[0], false), 2 * much, 3 * much);
	assert_in_range(held_after(r, &m[0], true), much, 2 * much - 1);
	assert_false(reader_is_gone(r));
	for (u32 i = 0; i < READERS; i++)
		kill(reader_pid(r, i), SIGKILL);
	for (int ms = 0; ms < 10000 && !reader_is_gone(r); ms += 5)
		poll(NULL, 0, 5);
	assert_true(reader_is_gone(r));
	reader_close(r);
	close(m[0].fd);
	close(m[1].fd);
}

static void a_death_costs_one_file(void **state)
{
	struct reader_place place = {0x1100, 0, 0};
	struct answers *a = answers_new();
	struct reader_names_how how = how_of(a);
	struct reader_names_ret got;
	struct reader_module m;
	struct reader *r;

	(void)state;
	NEEDS(build("gcc", "-O2 -g", "inlined.c", "prog"));
	m = file_module(in_scratch("prog"), 4);
	assert_int_equal(reader_open(&r), 0);
	kill(reader_pid(r, 0), SIGKILL);
	assert_int_equal(reader_names(r, &m, &place, 1, &how, &got), -EBADMSG);
	assert_true(expect_same(r, "prog", 4) > 20);
	kill(reader_pid(r, 1), SIGKILL);
	assert_int_equal(reader_names(r, &m, &place, 1, &how, &got), -EBADMSG);
	assert_int_equal(reader_names(r, &m, &place, 1, &how, &got), -ESRCH);
	assert_int_equal(a->n, 0);
	close(m.fd);
	reader_close(r);
	answers_free(a);
}

/* A frame of two lines, and the end, as the process at the other end might send them. */
struct forged {
	struct names_says_head head;
	struct __attribute__((packed)) {
		struct names_frame frame;
		struct names_line inner;
		char a[4];
		struct names_line outer;
		char b[4], c[8];
	} body;
	struct names_says_head end;
	struct names_done done;
};

static struct forged forged_sound(void)
{
	return (struct forged){
		.head = {NAMES_BLOCK, sizeof(((struct forged *)0)->body)},
		.body = {.frame = {.place = 1, .n = 2},
			.inner = {.function = 4, .line = 7},
			.a = "one",
			.outer = {.function = 4, .file = 8, .offset = 16},
			.b = "two",
			.c = "/file.c"},
		.end = {NAMES_DONE, sizeof(struct names_done)},
		.done = {.bytes_held = 5},
	};
}

static int forged_take(const struct forged *f, struct answers *a, struct reader_names_ret *got)
{
	static const struct reader_place places[3];
	struct reader_names_how how = how_of(a);
	struct reader_module m = file_module("/proc/self/exe", 4);
	struct reader *r;
	int ends[2], rc;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(reader_over(ends[0], &r), 0);
	assert_int_equal(send(ends[1], &f->head, sizeof(f->head), 0), sizeof(f->head));
	assert_int_equal(send(ends[1], &f->body, sizeof(f->body), 0), sizeof(f->body));
	assert_int_equal(send(ends[1], &f->end, sizeof(f->end), 0), sizeof(f->end));
	assert_int_equal(send(ends[1], &f->done, sizeof(f->done), 0), sizeof(f->done));
	shutdown(ends[1], SHUT_WR);
	rc = reader_names(r, &m, places, ARRAY_SIZE(places), &how, got);
	reader_close(r);
	close(ends[1]);
	close(m.fd);
	return rc;
}

static void no_answer_does_harm(void **state)
{
	struct forged f = forged_sound();
	struct answers *a = answers_new();
	struct reader_names_ret got;

	(void)state;
	assert_int_equal(forged_take(&f, a, &got), 0);
	assert_int_equal(got.bytes_held, 5);
	assert_string_equal(str_get(&a->text[1]), "one+0 -:7\ntwo+10 /file.c:0\n");
#define FORGE(change_)                                                \
	do {                                                          \
		f = forged_sound();                                   \
		change_;                                              \
		assert_int_equal(forged_take(&f, a, &got), -EBADMSG); \
	} while (0)
	FORGE(f.head.what = 77);
	FORGE(f.head.bytes = 0);
	FORGE(f.head.bytes = NAMES_BLOCK_MAX + 1);
	FORGE(f.head.bytes -= 1);
	FORGE(f.head.bytes += 4);
	FORGE(f.body.frame.place = 3);
	FORGE(f.body.frame.n = 0);
	FORGE(f.body.frame.n = 3);
	FORGE(f.body.frame.n = 1);
	FORGE(f.body.frame.n = UINT32_MAX);
	FORGE(f.body.inner.function = UINT32_MAX);
	FORGE(f.body.inner.function = 0x7fffffff);
	FORGE(f.body.a[3] = 'x');
	FORGE(f.body.a[1] = '\0');
	FORGE(f.body.outer.file = 9);
	FORGE(f.end.bytes--);
	FORGE(f.end.bytes++);
	FORGE(f.done.rc = 5);
	FORGE(f.done.rc = -100000);
	FORGE(f.done.debug_error = 1);
	f = forged_sound();
	f.done.bytes_held = UINT64_MAX;
	assert_int_equal(forged_take(&f, a, &got), 0);
	assert_int_equal(got.bytes_held, BUDGET_BYTES_DEFAULT);
	answers_free(a);
}

/* What it is given for a path: a descriptor, where that is an ELF file, and why not else. */
static s32 path_asked(const char *path, size_t n, bool *ret_fd)
{
	static const struct reader_place place;
	struct answers *a = answers_new();
	struct reader_names_how how = how_of(a);
	struct reader_module m = file_module("/proc/self/exe", 4);
	struct names_says_head head = {NAMES_OPEN_OURS, (u32)n};
	char control[CMSG_SPACE(sizeof(int))], sent[8192];
	struct names_given given = {};
	struct iovec to = {&given, sizeof(given)};
	struct msghdr msg = {.msg_iov = &to,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct reader_names_ret got;
	struct reader *r;
	int ends[2];
	ssize_t k;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(reader_over(ends[0], &r), 0);
	assert_int_equal(send(ends[1], &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(send(ends[1], path, n, 0), n);
	shutdown(ends[1], SHUT_WR);
	assert_int_equal(reader_names(r, &m, &place, 1, &how, &got), -EBADMSG);
	/* Behind what it was asked. */
	given.rc = 1;
	for (size_t left = sizeof(struct reader_ask) + sizeof(struct names_ask); left;
		left -= (size_t)k) {
		k = recv(ends[1], sent, left, 0);
		assert_true(k > 0);
	}
	for (size_t left = strlen(m.path) + 1; left; left -= (size_t)k) {
		k = recv(ends[1], sent, left, 0);
		assert_true(k > 0);
	}
	assert_true(fd_path(m.fd, sent) == 0);
	for (size_t left = strlen(sent) + 1 + sizeof(place); left; left -= (size_t)k) {
		k = recv(ends[1], sent, left, 0);
		assert_true(k > 0);
	}
	if (recvmsg(ends[1], &msg, 0) == sizeof(given))
		*ret_fd = CMSG_FIRSTHDR(&msg) != NULL;
	reader_close(r);
	answers_free(a);
	close(ends[1]);
	close(m.fd);
	return given.rc;
}

static void what_may_be_opened(void **state)
{
	bool fd = false;

	(void)state;
	assert_int_equal(path_asked("/bin/sh", 8, &fd), 0);
	assert_true(fd);
	fd = false;
	assert_int_equal(path_asked("/etc/passwd", 12, &fd), -ENOEXEC);
	assert_false(fd);
	assert_int_equal(path_asked("/nonexistent", 13, &fd), -ENOENT);
	assert_int_equal(path_asked("/dev/null", 10, &fd), -ENOTSUP);
	assert_int_equal(path_asked("bin/sh", 7, &fd), -EINVAL);
	/* No path at all: nothing is asked of who sends it any more. */
	assert_int_equal(path_asked("/bin/sh", 7, &fd), 1);
	assert_int_equal(path_asked("/b\0in/sh", 9, &fd), 1);
	assert_false(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_names, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(debug_files, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(no_files, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(much_is_kept, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(
			a_death_costs_one_file, scratch_setup, scratch_teardown),
		cmocka_unit_test(no_answer_does_harm),
		cmocka_unit_test(what_may_be_opened),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("capture_reader_names", tests, NULL, NULL);
}
