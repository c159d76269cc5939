/* Frames and keys in, a canvas out: no terminal. */
#include <errno.h>
#include <locale.h>
#include <math.h>

#include "base/file.h"

#include "base/clock.h"
#include "top/ui.h"
#include "view_fixture.h"

#define SEC NSEC_PER_SEC
#define MIB (1ULL << 20)
#define GOLDEN "tests/golden/top/"

static struct table *table_add(struct report *r, enum top_table which)
{
	const struct view_table *t = &top_tables[which];

	return report_table(r, t->name, "", t->cols, t->n_cols);
}

static void process_add(struct table *t, u32 pid, const char *comm, u64 rss, const char *cgroup)
{
	struct cell *row = table_row(t);

	row[TOP_PID] = cell_u64(pid);
	row[TOP_COMM] = cell_text(comm);
	row[TOP_RSS] = cell_u64(rss);
	row[TOP_GROWTH] = cell_s64(-1024);
	row[TOP_STALL] = cell_f64(0.25);
	row[TOP_CGROUP] = cell_text(cgroup);
	row[TOP_USER] = cell_text(pid == 900 ? "ann" : "bob");
}

static void user_add(struct table *t, const char *user, u64 rss)
{
	struct cell *row = table_row(t);

	row[TOP_U_USER] = cell_text(user);
	row[TOP_U_RSS] = cell_u64(rss);
	row[TOP_U_PROCESSES] = cell_u64(2);
}

static void group_add(struct table *t, const char *path, u64 usage, u64 level)
{
	struct cell *row = table_row(t);

	row[TOP_G_CGROUP] = cell_text(path);
	row[TOP_G_USAGE] = cell_u64(usage);
	row[TOP_G_LEVEL] = cell_u64(level);
}

static void machine_add(struct report *r)
{
	static const char *const parts[] = {
		"anon", "shmem", "cache", "slab", "tables", "kernel", "huge", "other", "free"};
	struct table *t = table_add(r, TOP_MACHINE);
	struct cell *row = table_row(t);

	row[TOP_M_TOTAL] = cell_u64(1024 * MIB);
	row[TOP_M_MEMORY_SOME] = cell_f64(0.5);
	t = table_add(r, TOP_MEMORY);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		row = table_row(t);
		row[TOP_P_PART] = cell_text(parts[i]);
		row[TOP_P_BYTES] = cell_u64((i == 8 ? 512 : i == 0 || i == 2 ? 256 : 0) * MIB);
	}
}

static void path_add(struct report *r)
{
	struct cell *row = table_row(table_add(r, TOP_PATHS));

	row[TOP_X_PID] = cell_u64(7);
	row[TOP_X_WHAT] = cell_text("major fault");
	row[TOP_X_COUNT] = cell_u64(3);
}

/* One interval, `n` seconds after the session began; with a finding in odd ones. */
static void frame_make(struct str *out, u32 n)
{
	struct rec_session session = REC(struct rec_session, REC_SESSION, .scope = "system-wide");
	struct stream s;
	struct report r;
	struct table *t;
	struct finding *f;

	assert_int_equal(stream_init(&s), 0);
	session.h.time_ns = SEC;
	session.wall_ns = 1700000000 * SEC; /* 22:13:20 */
	assert_int_equal(stream_feed(&s, &session.h), 0);
	s.first_ns = (1 + n) * SEC;
	s.last_ns = (2 + n) * SEC;
	report_init(&r, "top", &s);
	t = table_add(&r, TOP_PROCESSES);
	process_add(t, 7, "alpha", (10 + n) * MIB, "/a.slice/one.service");
	process_add(t, 8, "beta\033[2J", 30 * MIB, "/a.slice");
	process_add(t, 900, "gamma", 20 * MIB, "/b");
	t = table_add(&r, TOP_GROUPS);
	group_add(t, "/b", 20 * MIB, 1);
	group_add(t, "/a.slice/one.service", (10 + n) * MIB, 2);
	group_add(t, "/a.slice", 40 * MIB, 1);
	group_add(t, "/", 60 * MIB, 0);
	t = table_add(&r, TOP_USERS);
	user_add(t, "ann", 20 * MIB);
	user_add(t, "bob", 40 * MIB);
	machine_add(&r);
	path_add(&r);
	if (n % 2) {
		f = report_finding(&r, LEVEL_WARNING, n % 4 == 1 ? "one" : "three");
		f->title = "something is wrong";
		f->why = "it is so";
		finding_line(&r, f->try_, "`echo 1 > /proc/x`");
	}
	str_clear(out);
	assert_int_equal(frame_pack(&r, out), 0);
	report_destroy(&r);
	stream_destroy(&s);
}

struct watched {
	struct ui ui;
	struct canvas canvas;
	struct str line;
};

static void watch_begin(struct watched *w, bool replay, u32 frames, int rows, int cols)
{
	_cleanup_str_ struct str packed = {};

	*w = (struct watched){};
	assert_int_equal(ui_init(&w->ui, &(struct ui_options){.replay = replay}), 0);
	assert_int_equal(canvas_size(&w->canvas, rows, cols), 0);
	for (u32 i = 0; i < frames; i++) {
		frame_make(&packed, i);
		assert_int_equal(ui_frame(&w->ui, packed.buf, packed.len), 0);
	}
}

static void watch_end(struct watched *w)
{
	ui_free(&w->ui);
	canvas_free(&w->canvas);
	str_free(&w->line);
}

static const char *line(struct watched *w, int y)
{
	ui_draw(&w->ui, &w->canvas);
	str_clear(&w->line);
	canvas_line(&w->canvas, y, &w->line);
	return str_get(&w->line);
}

static bool shows(struct watched *w, const char *text)
{
	for (int y = 0; y < w->canvas.rows; y++)
		if (strstr(line(w, y), text))
			return true;
	return false;
}

static void test_first_screen(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 1, 24, 80);
	assert_string_equal(line(&w, 0), "memwhy top  22:13:21  live  system-wide  0 CPUs");
	assert_string_equal(line(&w, 1), "Mem   [aaaaaaaaaaaaaaaacccccccccccccccc"
					 "                               ] 1.00 GiB");
	assert_string_equal(line(&w, 2), "      anon 256 MiB  cache 256 MiB  free 512 MiB");
	assert_string_equal(line(&w, 3), "PSI   memory 50.0 %  no swap");
	assert_string_equal(line(&w, 4), "Rate/s");
	assert_string_equal(line(&w, 5), "Why   nothing was found");
	assert_string_equal(line(&w, 6),
		"    PID COMMAND                RSS↓  GROWTH/s TREND        "
		"ANON MAJOR/s  STALL%");
	assert_non_null(strstr(line(&w, 7), "8 beta\\x1b[2J"));
	assert_non_null(strstr(line(&w, 8), "900 gamma"));
	assert_non_null(strstr(line(&w, 9), "7 alpha"));
	watch_end(&w);
}

/* Of a bar with all parts, where not all have room, the smallest have no words: what is free and
 * what is available is always told. */
static void test_the_bar_is_explained(void **state)
{
	static const u64 mib[] = {300, 20, 250, 30, 4, 5, 8, 7, 400};
	static const char *const says[] = {
		"      anon 300 MiB  cache 250 MiB  free 400 MiB              available 600 MiB",
		"      anon 300 MiB  shmem 20.0 MiB  cache 250 MiB  slab(l) 30.0 MiB  huge 8.00 "
		"MiB  free "
		"400 MiB     available 600 MiB",
	};

	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		struct watched w;

		watch_begin(&w, false, 1, 24, wide ? 118 : 78);
		for (size_t i = 0; i < ARRAY_SIZE(mib); i++)
			*table_cell(&w.ui.scene.tables[TOP_MEMORY], i, TOP_P_BYTES) =
				cell_u64(mib[i] * MIB);
		*table_cell(&w.ui.scene.tables[TOP_MACHINE], 0, TOP_M_AVAILABLE) =
			cell_u64(600 * MIB);
		assert_string_equal(line(&w, 2), says[wide]);
		watch_end(&w);
	}
}

static void frame_put(struct watched *w, u32 n)
{
	_cleanup_str_ struct str packed = {};

	frame_make(&packed, n);
	assert_int_equal(ui_frame(&w->ui, packed.buf, packed.len), 0);
}

/* Behind each number of a process is how it went, the same whether it was followed or gone to. */
static void test_trends_of_a_process(void **state)
{
	const struct ui_trends *t;
	struct ui_trends followed;
	struct watched w;

	(void)state;
	watch_begin(&w, false, 8, 60, 130);
	w.ui.detail = 7; /* has 10 MiB, and one more in each interval */
	ui_mode_go(&w.ui, UI_DETAIL);
	assert_true(shows(&w, "RSS      17.0 MiB          ▁▂▃▄▅▆▇█ "));
	assert_true(shows(&w, "STALL%   25.0 %            ▁▁▁▁▁▁▁▁"));
	frame_put(&w, 20);
	assert_true(shows(&w, "RSS      30.0 MiB         ▁▁▁▂▂▂▃▃█ "));
	t = ui_trends(&w.ui, 7);
	assert_true(t->v[TOP_RSS][UI_TRENDS - 1] == 30 * (double)MIB);
	assert_true(t->v[TOP_RSS][UI_TRENDS - 9] == 10 * (double)MIB);
	assert_true(isnan(t->v[TOP_RSS][UI_TRENDS - 10]));
	followed = *t;
	ui_key(&w.ui, '{');
	assert_true(shows(&w, "RSS      10.0 MiB                 ▁ "));
	ui_key(&w.ui, 'J');
	assert_true(shows(&w, "RSS      30.0 MiB         ▁▁▁▂▂▂▃▃█ "));
	for (size_t i = UI_TRENDS - 9; i < UI_TRENDS; i++)
		assert_true(ui_trends(&w.ui, 7)->v[TOP_RSS][i] == followed.v[TOP_RSS][i]);
	watch_end(&w);
}

/* A finding that is being read does not go, nor become another one, when the next interval comes.
 */
static void test_finding_stays(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 2, 40, 90); /* the second has one: at 22:13:22 */
	ui_key(&w.ui, 'f');
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_int_equal(w.ui.mode, UI_FINDING);
	assert_true(shows(&w, "it is so"));
	assert_false(shows(&w, "This interval does not have it"));
	frame_put(&w, 2); /* none */
	assert_true(shows(&w, "This interval does not have it: as of 22:13:22."));
	assert_true(shows(&w, "it is so"));
	frame_put(&w, 3); /* one of another rule */
	assert_true(shows(&w, "This interval does not have it: as of 22:13:22."));
	frame_put(&w, 5); /* the same again */
	assert_true(shows(&w, "it is so"));
	assert_false(shows(&w, "This interval does not have it"));
	watch_end(&w);
}

/* … also while help covers it. */
static void test_finding_is_followed_behind_help(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 2, 40, 90);
	ui_key(&w.ui, 'f');
	ui_key(&w.ui, UI_KEY_ENTER);
	ui_key(&w.ui, '?');
	frame_put(&w, 5);
	ui_key(&w.ui, UI_KEY_ESCAPE);
	assert_true(shows(&w, "it is so"));
	assert_false(shows(&w, "This interval does not have it"));
	watch_end(&w);
}

#define ABSENT "This interval does not have it"

static struct finding finding_of(const char *rule, u64 cgroup, u32 tgid, const char *title)
{
	return (struct finding){.level = LEVEL_WARNING,
		.rule = rule,
		.cgroup = cgroup,
		.tgid = tgid,
		.title = title,
		.why = title};
}

/* An interval with nothing but these findings. */
static void findings_put(struct watched *w, u32 n, const struct finding *f, size_t n_findings)
{
	_cleanup_str_ struct str packed = {};
	struct stream s;
	struct report r;

	assert_int_equal(stream_init(&s), 0);
	s.first_ns = (1 + n) * SEC;
	s.last_ns = (2 + n) * SEC;
	report_init(&r, "top", &s);
	for (size_t i = 0; i < n_findings; i++)
		assert_int_equal(vec_push(&r.findings, f[i]), 0);
	assert_int_equal(frame_pack(&r, &packed), 0);
	assert_int_equal(ui_frame(&w->ui, packed.buf, packed.len), 0);
	report_destroy(&r);
	stream_destroy(&s);
}

#define PUT(w, n, ...)                                      \
	findings_put(w, n, (struct finding[]){__VA_ARGS__}, \
		sizeof((struct finding[]){__VA_ARGS__}) / sizeof(struct finding))

/* A finding about a group stays that of the group, whoever is the biggest in it, whatever the
 * numbers, and whichever other groups have one of the same rule. */
static void test_finding_of_a_group(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 0, 40, 90);
	PUT(&w, 0, finding_of("cgroup-limit", 11, 7, "cgroup /a hits its memory limit of 3 MiB"),
		finding_of(
			"cgroup-limit", 12, 7, "cgroup /a/b hits its memory limit of 2 MiB: 50 %"));
	ui_key(&w.ui, 'f');
	ui_key(&w.ui, UI_KEY_DOWN);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_true(shows(&w, "  why        cgroup /a/b hits"));
	PUT(&w, 1, finding_of("cgroup-limit", 11, 7, "cgroup /a hits its memory limit of 3 MiB"),
		finding_of(
			"cgroup-limit", 12, 7, "cgroup /a/b hits its memory limit of 2 MiB: 60 %"));
	assert_true(shows(&w, "  why        cgroup /a/b hits its memory limit of 2 MiB: 60 %"));
	PUT(&w, 2,
		finding_of("cgroup-limit", 12, 8, "cgroup /a/b is near its memory limit of 2 MiB"),
		finding_of("cgroup-limit", 11, 7, "cgroup /a hits its memory limit of 3 MiB"));
	assert_true(shows(&w, "  why        cgroup /a/b is near"));
	assert_false(shows(&w, ABSENT));
	PUT(&w, 3, finding_of("cgroup-limit", 11, 8, "cgroup /a hits its memory limit of 3 MiB"));
	assert_true(shows(&w, "  why        cgroup /a/b is near"));
	assert_true(shows(&w, ABSENT));
	PUT(&w, 4, finding_of("cgroup-limit", 12, 0, "cgroup /a/b hits its memory limit of 2 MiB"));
	assert_true(shows(&w, "  why        cgroup /a/b hits"));
	assert_false(shows(&w, ABSENT));
	watch_end(&w);
}

/* One of a process in a group is not that of another process there. */
static void test_finding_of_a_process_in_a_group(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 0, 40, 90);
	PUT(&w, 0, finding_of("major-faults", 11, 8, "db 5 (pid 8) waited 3.00 ms for page reads"),
		finding_of("major-faults", 11, 7, "db (pid 7) waited 2.00 ms for page reads"));
	ui_key(&w.ui, 'f');
	ui_key(&w.ui, UI_KEY_DOWN);
	ui_key(&w.ui, UI_KEY_ENTER);
	PUT(&w, 1, finding_of("major-faults", 11, 8, "db (pid 8) waited 4.00 ms for page reads"));
	assert_true(shows(&w, "  why        db (pid 7)"));
	assert_true(shows(&w, ABSENT));
	PUT(&w, 2, finding_of("major-faults", 11, 8, "db (pid 8) waited 4.00 ms for page reads"),
		finding_of("major-faults", 11, 7, "db (pid 7) waited 5.00 ms for page reads"));
	assert_true(shows(&w, "  why        db (pid 7) waited 5.00 ms"));
	assert_false(shows(&w, ABSENT));
	watch_end(&w);
}

/* Of neither a process nor a group: the words before the first number tell. */
static void test_finding_of_the_machine(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 0, 40, 90);
	PUT(&w, 0, finding_of("tmpfs-files", 0, 0, "Files in /a1 (tmpfs) hold 3 MiB of memory"),
		finding_of("tmpfs-files", 0, 0, "Files in /a2 (tmpfs) hold 2 MiB of memory"));
	ui_key(&w.ui, 'f');
	ui_key(&w.ui, UI_KEY_DOWN);
	ui_key(&w.ui, UI_KEY_ENTER);
	PUT(&w, 1, finding_of("tmpfs-files", 0, 0, "Files in /a1 (tmpfs) hold 2 MiB of memory"));
	assert_true(shows(&w, "  why        Files in /a2"));
	assert_true(shows(&w, ABSENT));
	PUT(&w, 2, finding_of("tmpfs-files", 0, 0, "Files in /a1 (tmpfs) hold 5 MiB of memory"),
		finding_of("tmpfs-files", 0, 0, "Files in /a2 (tmpfs) hold 4 MiB, and grow"));
	assert_true(shows(&w, "  why        Files in /a2 (tmpfs) hold 4 MiB, and grow"));
	assert_false(shows(&w, ABSENT));
	watch_end(&w);
}

/* The cursor stays on its finding while others come and go; a list that is not looked at has it on
 * the worst. */
static void test_cursor_of_findings(void **state)
{
	const struct finding a = finding_of("one", 0, 0, "first"),
			     b = finding_of("two", 0, 5, "second"),
			     c = finding_of("two", 0, 6, "third");
	struct watched w;

	(void)state;
	watch_begin(&w, false, 0, 40, 90);
	PUT(&w, 0, b);
	PUT(&w, 1, a, b);
	ui_key(&w.ui, 'f');
	assert_int_equal(w.ui.findings.at, 0);
	PUT(&w, 2, c, a, b);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_true(shows(&w, "  why        first"));
	PUT(&w, 3, b, c, a);
	ui_key(&w.ui, UI_KEY_ESCAPE);
	assert_int_equal(w.ui.findings.at, 2);
	ui_key(&w.ui, UI_KEY_UP);
	PUT(&w, 4, c);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_true(shows(&w, "  why        third"));
	watch_end(&w);
}

/* What is shown was opened already: its numbers are of that, not of its packed frame. */
static void test_trend_of_what_is_open(void **state)
{
	struct history_frame *last;
	struct watched w;

	(void)state;
	watch_begin(&w, false, 8, 24, 100);
	last = &w.ui.history.list.v[7];
	memset(last->packed, 0, last->n);
	ui_key(&w.ui, 't');
	assert_true(shows(&w, "    one.service "));
	assert_true(shows(&w, " ▁▂▃▄▅▆▇█"));
	watch_end(&w);
}

/* A step back, or one on, opens no frame that it has the numbers of. */
static void test_trends_of_a_step(void **state)
{
	struct ui_trends was;
	struct watched w;

	(void)state;
	watch_begin(&w, true, 20, 24, 100);
	ui_key(&w.ui, 'J');
	was = *ui_trends(&w.ui, 7);
	for (size_t i = 4; i < 18; i++)
		memset(w.ui.history.list.v[i].packed, 0, w.ui.history.list.v[i].n);
	ui_key(&w.ui, '[');
	assert_int_equal(w.ui.at, 18);
	for (size_t i = 1; i < UI_TRENDS; i++)
		assert_true(ui_trends(&w.ui, 7)->v[TOP_RSS][i] == was.v[TOP_RSS][i - 1]);
	assert_true(ui_trends(&w.ui, 7)->v[TOP_RSS][0] == 13 * (double)MIB);
	ui_key(&w.ui, ']');
	for (size_t i = 1; i < UI_TRENDS; i++)
		assert_true(ui_trends(&w.ui, 7)->v[TOP_RSS][i] == was.v[TOP_RSS][i]);
	watch_end(&w);
}

/* What a container or a pod is called is not the id in its path. */
static void test_containers_in_the_tree(void **state)
{
	static const char docker[] = "/docker/0123456789abcdef0123456789abcdef"
				     "0123456789abcdef0123456789abcdef";
	_cleanup_str_ struct str packed = {};
	struct stream s;
	struct watched w;
	struct report r;
	struct table *t;
	char below[128];

	(void)state;
	assert_int_equal(stream_init(&s), 0);
	report_init(&r, "top", &s);
	t = table_add(&r, TOP_GROUPS);
	group_add(t, "/docker", 40 * MIB, 1);
	group_add(t, docker, 40 * MIB, 2);
	snprintf(below, sizeof(below), "%s/init.scope", docker);
	group_add(t, below, 20 * MIB, 3);
	assert_int_equal(frame_pack(&r, &packed), 0);
	watch_begin(&w, false, 0, 24, 100);
	assert_int_equal(ui_frame(&w.ui, packed.buf, packed.len), 0);
	ui_key(&w.ui, 't');
	assert_true(shows(&w, "  docker "));
	assert_true(shows(&w, "    docker:0123456789ab "));
	assert_true(shows(&w, "      init.scope "));
	watch_end(&w);
	report_destroy(&r);
	stream_destroy(&s);
}

static void test_keys(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 1, 60, 100);
	ui_draw(&w.ui, &w.canvas);
	ui_key(&w.ui, UI_KEY_END);
	ui_draw(&w.ui, &w.canvas);
	assert_int_equal(w.ui.pid, 7);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_true(shows(&w, "3 x major fault, counted without a stack"));
	assert_true(shows(&w, "of no limit   /a.slice"));
	ui_key(&w.ui, UI_KEY_ESCAPE);
	ui_key(&w.ui, 'I');
	assert_non_null(strstr(line(&w, 7), "7 alpha"));
	ui_key(&w.ui, 'I');
	ui_key(&w.ui, '/');
	for (const char *p = "GAM"; *p; p++)
		ui_key(&w.ui, (u32)*p);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_non_null(strstr(line(&w, 7), "900 gamma"));
	assert_string_equal(line(&w, 8), "");
	ui_key(&w.ui, UI_KEY_ESCAPE);
	assert_non_null(strstr(line(&w, 9), "7 alpha"));
	ui_key(&w.ui, '?');
	assert_true(shows(&w, "PgUp"));
	ui_key(&w.ui, UI_KEY_ESCAPE);
	ui_key(&w.ui, 's');
	assert_non_null(strstr(line(&w, 6), "SORT BY"));
	ui_key(&w.ui, UI_KEY_HOME);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_non_null(strstr(line(&w, 7), "900 gamma"));
	assert_false(w.ui.quits);
	ui_key(&w.ui, 'q');
	assert_true(w.ui.quits);
	watch_end(&w);
}

/* By user, and the processes of one. */
static void test_users(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 1, 60, 100);
	ui_key(&w.ui, 'u');
	assert_non_null(strstr(line(&w, 6), "USER"));
	assert_non_null(strstr(line(&w, 7), "bob")); /* who has most */
	assert_non_null(strstr(line(&w, 8), "ann"));
	ui_key(&w.ui, 's');
	assert_true(shows(&w, "his processes that are listed"));
	ui_key(&w.ui, UI_KEY_ESCAPE);
	ui_key(&w.ui, 'I');
	assert_non_null(strstr(line(&w, 7), "ann"));
	w.ui.click_y = 8;
	ui_key(&w.ui, UI_KEY_CLICK); /* chosen */
	assert_int_equal(w.ui.mode, UI_USERS);
	ui_key(&w.ui, UI_KEY_CLICK); /* and gone into */
	assert_int_equal(w.ui.mode, UI_PROCESSES);
	assert_non_null(strstr(line(&w, 7), "8 beta"));
	assert_non_null(strstr(line(&w, 8), "7 alpha"));
	assert_string_equal(line(&w, 9), "");
	assert_true(shows(&w, "of bob"));
	ui_key(&w.ui, UI_KEY_ESCAPE);
	assert_int_equal(w.ui.mode, UI_USERS);
	ui_key(&w.ui, '/');
	ui_key(&w.ui, 'o');
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_non_null(strstr(line(&w, 7), "bob"));
	assert_string_equal(line(&w, 8), "");
	ui_key(&w.ui, UI_KEY_ESCAPE);
	ui_key(&w.ui, 'u');
	assert_non_null(strstr(line(&w, 9), "7 alpha"));
	watch_end(&w);
}

/* Where intervals do not come, that is told, and no more once one has come. */
static void test_late(void **state)
{
	struct watched w;
	u64 end;

	(void)state;
	watch_begin(&w, false, 2, 24, 80);
	end = w.ui.scene.end_ns;
	assert_int_equal(ui_tick(&w.ui, end + SEC), end + 3 * SEC + 1);
	assert_true(shows(&w, "  live  "));
	assert_int_equal(ui_tick(&w.ui, end + 17 * SEC), end + 18 * SEC);
	assert_true(shows(&w, "  17 s LATE  "));
	ui_key(&w.ui, ' '); /* who stopped it is not told */
	assert_true(ui_tick(&w.ui, end + 18 * SEC) == UINT64_MAX);
	assert_true(shows(&w, "  PAUSED"));
	ui_key(&w.ui, ' ');
	frame_put(&w, 2);
	ui_tick(&w.ui, w.ui.scene.end_ns + SEC);
	assert_true(shows(&w, "  live  "));
	watch_end(&w);
	watch_begin(&w, false, 1, 24, 80);
	ui_tick(&w.ui, w.ui.scene.end_ns + 4 * SEC);
	assert_true(shows(&w, "  attaching to the kernel, 4 s  "));
	watch_end(&w);
}

static void title_click(struct watched *w, const char *title)
{
	const char *head = line(w, 6);

	w->ui.click_y = 6;
	w->ui.click_x = (int)(strstr(head, title) - head);
	ui_key(&w->ui, UI_KEY_CLICK);
}

/* By a click on a title lines are sorted by it, by a second one the other way round. */
static void test_click_on_a_title(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 3, 24, 80);
	title_click(&w, "COMMAND");
	assert_non_null(strstr(line(&w, 6), "COMMAND↓"));
	assert_int_equal(w.ui.processes.sort, TOP_COMM);
	title_click(&w, "COMMAND");
	assert_non_null(strstr(line(&w, 6), "COMMAND↑"));
	title_click(&w, "PID");
	assert_int_equal(w.ui.processes.sort, TOP_PID);
	title_click(&w, "TREND"); /* of a text it is that of RSS */
	assert_int_equal(w.ui.processes.sort, TOP_RSS);
	ui_key(&w.ui, 't');
	assert_true(w.ui.groups.tree);
	line(&w, 6);
	title_click(&w, "USAGE");
	assert_false(w.ui.groups.tree);
	assert_int_equal(w.ui.groups.sort, TOP_G_USAGE);
	ui_key(&w.ui, '?');
	title_click(&w, ""); /* no list */
	assert_int_equal(w.ui.mode, UI_HELP);
	watch_end(&w);
}

/* A number is there in whole or not at all, and a text that is cut says so. */
static void test_what_has_no_room(void **state)
{
	struct finding f = {.level = LEVEL_RISK,
		.rule = "one",
		.title = "a title that is so long that eighty columns do not have room for all of "
			 "it"};
	struct watched w;
	struct table *t;
	struct cell *row;

	(void)state;
	watch_begin(&w, false, 1, 24, 80);
	t = &w.ui.scene.tables[TOP_ZONES];
	row = table_row(t);
	row[TOP_Z_ZONE] = cell_text("Normal");
	row[TOP_Z_FREE] = cell_u64(300 * MIB);
	row[TOP_Z_MIN] = cell_u64(34 * MIB);
	row[TOP_Z_LOW] = cell_u64(43 * MIB);
	row[TOP_Z_BLOCKS] = cell_text("17314 9013 32087 111 2");
	assert_int_equal(vec_push(&w.ui.scene.findings, f), 0);
	assert_string_equal(line(&w, 5),
		"Free  node 0 Normal 300 MiB  min 34.0 MiB  low 43.0 MiB  by order 17314 9013 …");
	assert_string_equal(line(&w, 6), "Why   risk: a title that is so long that eighty columns "
					 "do not have …  (f: more)");
	w.ui.scene.scope = "cgroup /process_api/c235b80463aac8b70158f46917c71c00/below";
	assert_string_equal(line(&w, 0),
		"memwhy top  22:13:21  live  cgroup /process_api/c235b80463aac8b70158f46917c71…");
	row[TOP_Z_BLOCKS] = cell_text("17314 9013 32");
	assert_string_equal(line(&w, 5),
		"Free  node 0 Normal 300 MiB  min 34.0 MiB  low 43.0 MiB  by order 17314 9013 32");
	row[TOP_Z_BLOCKS] = cell_text("17 9 3");
	row[TOP_Z_KSWAPD] = cell_f64(0.12);
	row[TOP_Z_KCOMPACTD] = cell_f64(0); /* not at work */
	assert_string_equal(line(&w, 5),
		"Free  node 0 Normal 300 MiB  min 34.0 MiB  low 43.0 MiB  kswapd 12.0 %  by order");
	ui_key(&w.ui, 'f');
	assert_non_null(strstr(line(&w, 8), "…"));
	watch_end(&w);
}

/* A closer look is asked for, waited for, and left; one that costs is agreed to first. */
static void test_closer_looks(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 1, 40, 100);
	assert_true(shows(&w, "8 beta")); /* the cursor is on it */
	ui_key(&w.ui, 'M');
	assert_true(w.ui.asks);
	assert_int_equal(w.ui.ask.pid, 8);
	assert_int_equal(w.ui.ask.look, 0);
	w.ui.asks = false;
	assert_true(shows(&w, "pid 8: its memory by mapping"));
	ui_key(&w.ui, 'M'); /* no second one meanwhile */
	assert_false(w.ui.asks);
	ui_key(&w.ui, UI_KEY_ESCAPE); /* it is to end now */
	assert_true(w.ui.asks);
	assert_int_equal(w.ui.ask.look, CLOSER_STOP);
	w.ui.asks = false;
	ui_closer_take(&w.ui, "first\nsecond\n", 13);
	assert_string_equal(line(&w, 6), "first");
	assert_string_equal(line(&w, 7), "second");
	ui_key(&w.ui, UI_KEY_ESCAPE);
	assert_int_equal(w.ui.mode, UI_PROCESSES);
	ui_key(&w.ui, 'H');
	assert_false(w.ui.asks);
	assert_true(shows(&w, "y: begin, others: no. pid 8, 10 s: a malloc and its free"));
	ui_key(&w.ui, 'n');
	assert_false(w.ui.asks);
	ui_key(&w.ui, 'H');
	ui_key(&w.ui, 'y');
	assert_true(w.ui.asks);
	assert_string_equal(closer_looks[w.ui.ask.look].argv[0], "heap");
	watch_end(&w);
	watch_begin(&w, false, 1, 40, 100);
	ui_key(&w.ui, 't');
	ui_draw(&w.ui, &w.canvas);
	ui_key(&w.ui, UI_KEY_DOWN);
	ui_key(&w.ui, 'H');
	assert_true(shows(&w, "H is of processes"));
	ui_key(&w.ui, 'M');
	assert_true(w.ui.asks);
	assert_int_equal(w.ui.ask.pid, 0);
	assert_string_equal(w.ui.ask.group, "/a.slice");
	watch_end(&w);
	watch_begin(&w, true, 1, 40, 100);
	ui_key(&w.ui, 'H');
	assert_false(w.ui.asks);
	assert_true(shows(&w, "a recording does not tell how its heap grows"));
	watch_end(&w);
}

static void test_record_key(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 1, 40, 100);
	ui_key(&w.ui, 'r');
	assert_int_equal(w.ui.word, UI_WORD_RECORD);
	snprintf(w.ui.recording, sizeof(w.ui.recording), "x.mw");
	assert_non_null(strstr(line(&w, 0), "  live  REC  "));
	watch_end(&w);
	watch_begin(&w, true, 1, 40, 100);
	ui_key(&w.ui, 'r');
	assert_int_equal(w.ui.word, 0);
	watch_end(&w);
}

/* What page tables say is shown once it is known, and the trend is of the column that is sorted by.
 */
static void test_closely_and_trend(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 12, 24, 120);
	assert_null(strstr(line(&w, 6), "PSS"));
	ui_key(&w.ui, 'P');
	assert_int_equal(w.ui.word, UI_WORD_CLOSELY);
	assert_true(w.ui.closely);
	assert_true(shows(&w, "PSS, THP%, LOCAL%"));
	w.ui.scene.tables[TOP_PROCESSES].cells.v[TOP_PSS] = cell_u64(5 * MIB);
	assert_non_null(strstr(line(&w, 6), " PSS "));
	assert_true(shows(&w, "5.00 MiB"));
	assert_null(strstr(line(&w, 6), "THP%"));
	assert_true(shows(&w, "▁▂▃▄▅▆▇█")); /* alpha's RSS */
	ui_key(&w.ui, '>');                 /* its growth does not change */
	assert_false(shows(&w, "▁▂▃▄▅▆▇█"));
	assert_true(shows(&w, "▁▁▁▁▁▁▁▁"));
	ui_key(&w.ui, '<');
	assert_true(shows(&w, "▁▂▃▄▅▆▇█"));
	watch_end(&w);
}

static void test_tree(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 1, 24, 100);
	ui_key(&w.ui, 't');
	assert_memory_equal(line(&w, 7), "/ ", 2);
	assert_memory_equal(line(&w, 8), "  a.slice ", 10);
	assert_memory_equal(line(&w, 9), "    one.service ", 16);
	assert_memory_equal(line(&w, 10), "  b ", 4);
	ui_key(&w.ui, UI_KEY_DOWN);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_non_null(strstr(line(&w, 7), "8 beta"));
	assert_non_null(strstr(line(&w, 8), "7 alpha"));
	assert_string_equal(line(&w, 9), "");
	watch_end(&w);
}

static void test_findings(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 1, 24, 100);
	ui_key(&w.ui, 'f');
	assert_string_equal(line(&w, 7), "nothing was found");
	w.ui.scene.opened_ns = w.ui.scene.end_ns - SEC / 2;
	assert_string_equal(line(&w, 7), "too early to say");
	assert_string_equal(line(&w, 5), "Why   too early to say");
	assert_int_equal(
		vec_push(&w.ui.scene.missing,
			"faults: not permitted to load BPF programs: run memwhy as root, or with "
			"CAP_BPF and CAP_PERFMON"),
		0);
	assert_string_equal(line(&w, 9), "NOT CHECKED  faults: not permitted to load BPF programs: "
					 "run memwhy as root, or with CAP_BPF and");
	assert_string_equal(line(&w, 10), "             CAP_PERFMON");
	ui_key(&w.ui, UI_KEY_ESCAPE);
	watch_end(&w);
	watch_begin(&w, false, 2, 24, 100);
	assert_non_null(strstr(line(&w, 5), "warning: something is wrong"));
	ui_key(&w.ui, 'f');
	assert_true(shows(&w, "warning   -         something is wrong"));
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_true(shows(&w, "echo 1 > /proc/x"));
	ui_key(&w.ui, UI_KEY_ESCAPE);
	ui_key(&w.ui, UI_KEY_ESCAPE);
	assert_int_equal(w.ui.mode, UI_PROCESSES);
	watch_end(&w);
}

/* Back and forth, by steps, by times, by findings. */
static void test_time(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, true, 20, 24, 100);
	assert_non_null(strstr(line(&w, 0), "RECORDING +1.0 s, 1 of 20"));
	ui_key(&w.ui, ']');
	assert_non_null(strstr(line(&w, 0), "+2.0 s, 2 of 20"));
	assert_non_null(strstr(line(&w, 9), "11.0 MiB"));
	ui_key(&w.ui, UI_KEY_LEFT);
	ui_key(&w.ui, UI_KEY_LEFT);
	assert_non_null(strstr(line(&w, 0), "+1.0 s, 1 of 20"));
	ui_key(&w.ui, '}');
	assert_non_null(strstr(line(&w, 0), "11 of 20"));
	ui_key(&w.ui, 'n');
	assert_non_null(strstr(line(&w, 0), "12 of 20"));
	ui_key(&w.ui, 'N');
	assert_non_null(strstr(line(&w, 0), "10 of 20"));
	ui_key(&w.ui, 'j');
	for (const char *p = "22:13:35"; *p; p++)
		ui_key(&w.ui, (u32)*p);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_non_null(strstr(line(&w, 0), "22:13:35"));
	ui_key(&w.ui, 'j');
	for (const char *p = "-3s"; *p; p++)
		ui_key(&w.ui, (u32)*p);
	ui_key(&w.ui, UI_KEY_ENTER);
	assert_non_null(strstr(line(&w, 0), "17 of 20"));
	ui_key(&w.ui, 'J');
	assert_non_null(strstr(line(&w, 0), "20 of 20"));
	watch_end(&w);
}

/* A replay goes on by itself, at the pace at which it was recorded. */
static void test_play(void **state)
{
	struct watched w;
	u64 now;

	(void)state;
	watch_begin(&w, true, 4, 24, 100);
	assert_true(ui_tick(&w.ui, clock_mono_ns()) == UINT64_MAX);
	ui_key(&w.ui, ' ');
	now = w.ui.play_ns;
	assert_true(ui_tick(&w.ui, now) == now + SEC);
	assert_int_equal(w.ui.at, 1);
	ui_tick(&w.ui, now + 10 * SEC);
	assert_int_equal(w.ui.at, 3);
	watch_end(&w);
}

/* What is live goes on behind a screen that is stopped. */
static void test_pause(void **state)
{
	_cleanup_str_ struct str packed = {};
	struct watched w;

	(void)state;
	watch_begin(&w, false, 3, 24, 100);
	ui_key(&w.ui, ' ');
	frame_make(&packed, 3);
	assert_int_equal(ui_frame(&w.ui, packed.buf, packed.len), 0);
	assert_non_null(strstr(line(&w, 0), "PAUSED, 1 s ago"));
	ui_key(&w.ui, 'J');
	assert_non_null(strstr(line(&w, 0), "live"));
	assert_int_equal(w.ui.at, 3);
	watch_end(&w);
}

/* Ten minutes are kept, no more. */
static void test_history_is_ten_minutes(void **state)
{
	struct watched w;
	size_t bytes = 0;

	(void)state;
	watch_begin(&w, false, 700, 24, 100);
	assert_int_equal(w.ui.history.list.n, 601);
	assert_int_equal(w.ui.history.gone, 99);
	vec_each (f, &w.ui.history.list) {
		bytes += (f->block ? 0 : f->n) + f->n_values * sizeof(*f->values) + sizeof(*f);
		if (f->block && (f == w.ui.history.list.v || f[-1].block != f->block))
			bytes += sizeof(*f->block) + f->block->n;
	}
	assert_int_equal(w.ui.history.bytes, bytes);
	assert_true(
		history_value(&w.ui.history, 600, TOP_PROCESSES, 7, TOP_RSS) == 709 * (double)MIB);
	ui_key(&w.ui, '[');
	assert_int_equal(w.ui.at, 599);
	watch_end(&w);
}

/* Those that are older are packed together, which takes less than half of what they took alone;
 * each is still what it was, also when those before it in its block are gone. */
static void test_history_takes_little(void **state)
{
	_cleanup_str_ struct str packed = {};
	struct watched w;
	struct history *h;
	size_t alone = 0;

	(void)state;
	watch_begin(&w, false, 0, 24, 100);
	h = &w.ui.history;
	for (u32 i = 0; i < 700; i++) {
		frame_make(&packed, i);
		assert_int_equal(ui_frame(&w.ui, packed.buf, packed.len), 0);
		alone += i < 600 ? packed.len : 0;
	}
	assert_true(h->list.n > 595 && h->gone > 90 && h->gone % HISTORY_TOGETHER);
	vec_each (f, &h->list)
		alone += sizeof(*f) + f->n_values * sizeof(*f->values);
	assert_true(h->bytes < alone / 2);
	for (size_t i = 0; i < h->list.n; i++) {
		struct scene s;

		assert_int_equal(history_open(h, i, &s), 0);
		assert_int_equal(s.end_ns, (2 + h->gone + i) * SEC);
		assert_int_equal(table_cell(&s.tables[TOP_PROCESSES], 0, TOP_RSS)->u,
			(10 + h->gone + i) * MIB);
		scene_free(&s);
	}
	watch_end(&w);
	assert_int_equal(h->bytes, 0);
}

/* A frame that is damaged is refused, wherever that is. */
static void test_damaged_frames(void **state)
{
	_cleanup_str_ struct str packed = {};
	struct scene s;

	(void)state;
	frame_make(&packed, 1);
	for (size_t n = 0; n < packed.len; n++)
		if (!frame_open(packed.buf, n, &s))
			fail_msg("cut at %zu it was taken", n);
	for (size_t i = 0; i < packed.len * 8; i++) {
		packed.buf[i / 8] ^= (char)(1 << i % 8);
		if (!frame_open(packed.buf, packed.len, &s))
			scene_free(&s);
		packed.buf[i / 8] ^= (char)(1 << i % 8);
	}
	assert_int_equal(frame_open(packed.buf, packed.len, &s), 0);
	scene_free(&s);
}

static void nothing_steers(const struct canvas *c)
{
	for (int i = 0; i < c->rows * c->cols; i++)
		for (const char *p = c->cells[i].text; *p; p++)
			assert_true((u8)*p >= ' ' && *p != 127);
}

/* Any keys, any size: no more is asked than to survive, and to write nothing but text. */
static void test_random_keys_and_sizes(void **state)
{
	static const u32 chars[] = {'q' + 1, '[', ']', '{', '}', 'n', 'N', 'j', 'J', ' ', 't', 'f',
		's', '<', '>', 'I', '/', '\\', '?', 'h', '1', ':', 'a', 27, 0x20ac, 'r', 'M', 'F',
		'S', 'H', 'y', ',', '.'};
	_cleanup_str_ struct str packed = {};
	struct watched w;

	(void)state;
	srand(1);
	for (int replay = 0; replay < 2; replay++) {
		watch_begin(&w, replay, 5, 24, 80);
		for (u32 i = 0; i < 10000; i++) {
			u32 key = rand() % 2 ? chars[(size_t)rand() % ARRAY_SIZE(chars)]
					     : UI_KEY_UP + (u32)rand() % 26;

			if (key == UI_KEY_F10)
				continue;
			w.ui.click_y = rand() % 60 - 5;
			ui_key(&w.ui, key);
			if (w.ui.asks && rand() % 3)
				ui_closer_take(&w.ui, "a\033[2J\nb", 7);
			w.ui.asks = false;
			if (i % 97 == 0)
				assert_int_equal(
					canvas_size(&w.canvas, rand() % 60, rand() % 320), 0);
			if (i % 31 == 0) {
				frame_make(&packed, 5 + i / 31);
				assert_int_equal(ui_frame(&w.ui, packed.buf, packed.len), 0);
			}
			ui_draw(&w.ui, &w.canvas);
			if (i % 50 == 0)
				nothing_steers(&w.canvas);
		}
		assert_false(w.ui.quits);
		watch_end(&w);
	}
}

static void assert_golden(struct watched *w, const char *name)
{
	_cleanup_str_ struct str is = {}, was = {};
	char path[128];
	FILE *f;

	ui_draw(&w->ui, &w->canvas);
	for (int y = 0; y < w->canvas.rows; y++) {
		canvas_line(&w->canvas, y, &is);
		str_addc(&is, '\n');
	}
	snprintf(path, sizeof(path), GOLDEN "%s-%dx%d.txt", name, w->canvas.cols, w->canvas.rows);
	if (getenv("MEMWHY_UPDATE_GOLDEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(str_get(&is), f);
		fclose(f);
	}
	assert_int_equal(file_read(path, &was), 0);
	assert_string_equal(str_get(&is), str_get(&was));
}

/* Whole screens, as people see them, live and of a recording: look at each change. */
static void test_golden_screens(void **state)
{
	static const int sizes[][2] = {{24, 80}, {40, 120}, {60, 200}};
	static const struct {
		const char *name, *keys;
	} screens[] = {{"processes", ""}, {"groups", "t"}, {"process", "\r"}, {"findings", "f"},
		{"help", "?"}, {"sort", "s"}};
	struct watched w;
	char name[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(screens) * 2; k++) {
			bool replay = k % 2;

			watch_begin(&w, replay, 12, sizes[i][0], sizes[i][1]);
			ui_draw(&w.ui, &w.canvas);
			if (replay)
				ui_key(&w.ui, 'J');
			if (*screens[k / 2].keys)
				ui_key(&w.ui, *screens[k / 2].keys == '\r'
						      ? UI_KEY_ENTER
						      : (u32)*screens[k / 2].keys);
			snprintf(name, sizeof(name), "%s-%s", screens[k / 2].name,
				replay ? "recorded" : "live");
			assert_golden(&w, name);
			watch_end(&w);
		}
}

static void test_ascii(void **state)
{
	struct watched w;

	(void)state;
	watch_begin(&w, false, 12, 24, 100);
	w.canvas.ascii = true;
	for (int y = 0; y < 24; y++)
		for (const char *p = line(&w, y); *p; p++)
			assert_true(*p >= ' ' && (u8)*p < 127);
	watch_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_screen),
		cmocka_unit_test(test_the_bar_is_explained),
		cmocka_unit_test(test_trends_of_a_process),
		cmocka_unit_test(test_finding_stays),
		cmocka_unit_test(test_finding_is_followed_behind_help),
		cmocka_unit_test(test_finding_of_a_group),
		cmocka_unit_test(test_finding_of_a_process_in_a_group),
		cmocka_unit_test(test_finding_of_the_machine),
		cmocka_unit_test(test_cursor_of_findings),
		cmocka_unit_test(test_trend_of_what_is_open),
		cmocka_unit_test(test_trends_of_a_step),
		cmocka_unit_test(test_containers_in_the_tree),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_click_on_a_title),
		cmocka_unit_test(test_what_has_no_room),
		cmocka_unit_test(test_closer_looks),
		cmocka_unit_test(test_record_key),
		cmocka_unit_test(test_closely_and_trend),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_play),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_history_is_ten_minutes),
		cmocka_unit_test(test_history_takes_little),
		cmocka_unit_test(test_damaged_frames),
		cmocka_unit_test(test_random_keys_and_sizes),
		cmocka_unit_test(test_golden_screens),
		cmocka_unit_test(test_ascii),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
