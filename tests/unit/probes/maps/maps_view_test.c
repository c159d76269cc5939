/* A stream of maps records in; rows, lines and findings out. */
#include "base/clock.h"
#include "probes/maps/maps_tables.h"
#include "probes/maps/maps_view.h"
#include "probes/maps/maps_words.h"
#include "view_fixture.h"

#define MIB (1ULL << 20)

static void put(struct fixture *f, void *rec, u16 kind, size_t size)
{
	struct rec *r = rec;

	r->kind = kind;
	r->size = (u32)((size + 7) & ~7UL);
	view_feed(f, r);
}

#define PUT(f_, rec_, kind_) put((f_), &(rec_), (kind_), sizeof(rec_))

static void open_view(struct fixture *f, const struct view_options *o)
{
	struct rec_session session = {.h.time_ns = NSEC_PER_SEC, .scope = "system-wide"};
	struct rec_task a = {.tgid = 7, .comm = "grower"}, b = {.tgid = 8, .comm = "churner"};
	struct rec_tick tick = {.h.time_ns = 11 * NSEC_PER_SEC};

	view_open(f, &maps_view, o, "maps");
	PUT(f, session, REC_SESSION);
	PUT(f, a, REC_TASK);
	PUT(f, b, REC_TASK);
	PUT(f, tick, REC_TICK);
}

static struct maps_agg calls(u32 tgid, u8 call, u8 kind, u64 count)
{
	return (struct maps_agg){
		.tgid = tgid, .call = call, .kind = kind, .count = count, .timed = count};
}

static struct maps_process space(u32 tgid, u64 first, u64 last)
{
	return (struct maps_process){.tgid = tgid,
		.first_bytes = first,
		.last_bytes = last,
		.first_data_bytes = first / 2,
		.last_data_bytes = last / 2,
		.mappings = 12,
		.calls = 1};
}

static size_t row_of(const struct table *t, const char *column, const char *text)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (cell_at(t, i, column)->type == CELL_TEXT &&
			!strcmp(cell_at(t, i, column)->text, text))
			return i;
	fail_msg("%s has no row with %s = %s", t->name, column, text);
	return 0;
}

static s64 signed_number(const struct table *t, size_t row, const char *column)
{
	const struct cell *c = cell_at(t, row, column);

	assert_int_equal(c->type, CELL_S64);
	return c->s;
}

/* Growth by calls, the heap's part, and what is left of the change of VmSize. */
static void test_process(void **state)
{
	struct fixture f;
	struct maps_agg map = calls(7, MAPS_MMAP, MAPS_ANON, 3);
	struct maps_agg brk = calls(7, MAPS_BRK, MAPS_HEAP, 2), shrink = brk;
	struct maps_process p = space(7, 10 * MIB, 17 * MIB);
	const struct table *t;

	(void)state;
	map.added_bytes = 4 * MIB;
	brk.added_bytes = 2 * MIB;
	shrink.taken_bytes = MIB;
	open_view(&f, &(struct view_options){});
	PUT(&f, map, REC_MAPS_AGG);
	PUT(&f, brk, REC_MAPS_AGG);
	PUT(&f, shrink, REC_MAPS_AGG);
	PUT(&f, p, REC_MAPS_PROCESS);
	view_report(&f);
	t = view_table_of(&f, "maps");
	assert_int_equal(t->n_rows, 1);
	assert_cell_text(t, 0, "comm", "grower");
	assert_int_equal(cell_number(t, 0, "count"), 7);
	assert_int_equal(cell_number(t, 0, "mapped_bytes"), 6 * MIB);
	assert_int_equal(cell_number(t, 0, "unmapped_bytes"), MIB);
	assert_int_equal(signed_number(t, 0, "growth_bytes"), 5 * MIB);
	assert_int_equal(signed_number(t, 0, "heap_bytes"), MIB);
	assert_int_equal(cell_number(t, 0, "vmsize_bytes"), 17 * MIB);
	assert_int_equal(signed_number(t, 0, "vmsize_change_bytes"), 7 * MIB);
	assert_int_equal(signed_number(t, 0, "not_by_calls_bytes"), 2 * MIB);
	assert_int_equal(signed_number(t, 0, "vmdata_change_bytes"), 7 * MIB / 2);
	view_close(&f);
}

/* Without the kernel's BTF sizes are not known, and not 0. */
static void test_unknown_space(void **state)
{
	struct fixture f;
	struct maps_agg map = calls(7, MAPS_MMAP, MAPS_ANON, 1);

	(void)state;
	open_view(&f, &(struct view_options){});
	PUT(&f, map, REC_MAPS_AGG);
	view_report(&f);
	assert_int_equal(cell_at(view_table_of(&f, "maps"), 0, "vmsize_bytes")->type, CELL_EMPTY);
	assert_int_equal(
		cell_at(view_table_of(&f, "maps"), 0, "not_by_calls_bytes")->type, CELL_EMPTY);
	view_close(&f);
}

/* Each interval has its own change; a new process of the same id does not undo the old one's. */
static void test_intervals(void **state)
{
	struct fixture f;
	struct maps_agg map = calls(7, MAPS_MMAP, MAPS_ANON, 1);
	struct maps_process first = space(7, 10 * MIB, 14 * MIB);
	struct maps_process second = space(7, 10 * MIB, 20 * MIB), other = space(7, MIB, 2 * MIB);
	const struct table *t;

	(void)state;
	open_view(&f, &(struct view_options){});
	PUT(&f, map, REC_MAPS_AGG);
	PUT(&f, first, REC_MAPS_PROCESS);
	f.of->reset(f.view);
	PUT(&f, map, REC_MAPS_AGG);
	PUT(&f, second, REC_MAPS_PROCESS);
	PUT(&f, other, REC_MAPS_PROCESS);
	view_report(&f);
	t = view_table_of(&f, "maps");
	assert_int_equal(cell_number(t, 0, "count"), 1);
	assert_int_equal(signed_number(t, 0, "vmsize_change_bytes"), 7 * MIB);
	assert_int_equal(cell_number(t, 0, "vmsize_bytes"), 2 * MIB);
	view_close(&f);
}

/* What is known of a process goes with the interval in which it ended. */
static void test_ended(void **state)
{
	struct maps_tables t = {};
	struct maps_process stays = space(7, 10 * MIB, 14 * MIB), ends = space(8, MIB, 9 * MIB);
	struct rec_task over = REC(struct rec_task, REC_TASK, .tgid = 8), thread = over;
	const u32 left = 7;

	(void)state;
	over.h.flags = thread.h.flags = TASK_OVER;
	thread.tgid = thread.tid = 7;
	stays.h = ends.h = (struct rec){sizeof(stays), REC_MAPS_PROCESS, 0, 1};
	maps_tables_init(&t, false);
	assert_int_equal(maps_tables_feed(&t, &stays.h), 0);
	assert_int_equal(maps_tables_feed(&t, &ends.h), 0);
	assert_int_equal(maps_tables_feed(&t, &over.h), 0);
	assert_int_equal(maps_tables_feed(&t, &thread.h), 0);
	assert_int_equal(t.processes.n, 2); /* to be reported */
	maps_tables_reset(&t);
	assert_int_equal(t.processes.n, 1);
	assert_non_null(groups_find(&t.processes, &left));
	maps_tables_free(&t);
}

/* What is unmapped is known by the name it was mapped under; a SysV key is not an id. */
static void test_mapping(void **state)
{
	struct fixture f;
	struct maps_agg map = calls(7, MAPS_MMAP, MAPS_FILE, 2);
	struct maps_agg unmap = calls(7, MAPS_MUNMAP, MAPS_FILE, 1);
	struct maps_agg key = calls(7, MAPS_SHMGET, MAPS_SYSV_SHM, 1);
	struct maps_agg id = calls(7, MAPS_SHMAT, MAPS_SYSV_SHM, 1);
	const struct table *t;
	size_t row;

	(void)state;
	map.object = unmap.object = 4711;
	map.held_bytes = MIB;
	map.h.flags = MAPS_HELD_KNOWN;
	snprintf(map.name, sizeof(map.name), "libknown.so");
	key.object = id.object = 5;
	open_view(&f, &(struct view_options){.by = "kind,mapping"});
	PUT(&f, unmap, REC_MAPS_AGG);
	PUT(&f, map, REC_MAPS_AGG);
	PUT(&f, key, REC_MAPS_AGG);
	PUT(&f, id, REC_MAPS_AGG);
	view_report(&f);
	t = view_table_of(&f, "maps");
	assert_int_equal(t->n_rows, 3);
	row = row_of(t, "mapping", "libknown.so");
	assert_cell_text(t, row, "kind", "file");
	assert_int_equal(cell_number(t, row, "count"), 3);
	assert_int_equal(signed_number(t, row, "held_bytes"), MIB);
	assert_cell_text(t, row_of(t, "mapping", "key 0x5"), "kind", "SysV shm");
	row_of(t, "mapping", "id 5");
	view_close(&f);
}

/* Calls by advice, failures by reason; both stand beside every --by. */
static void test_side_tables(void **state)
{
	struct fixture f;
	struct maps_agg huge = calls(7, MAPS_MADVISE, MAPS_ANON, 4);
	struct maps_agg bad = calls(7, MAPS_MMAP, MAPS_ANON, 2);
	const struct table *t;

	(void)state;
	huge.detail = 14;
	bad.error = 12;
	bad.why = MAPS_WHY_MAP_COUNT;
	bad.object = 65530;
	open_view(&f, &(struct view_options){.by = "comm"});
	PUT(&f, huge, REC_MAPS_AGG);
	PUT(&f, bad, REC_MAPS_AGG);
	view_report(&f);
	t = view_table_of(&f, "calls");
	assert_int_equal(cell_number(t, row_of(t, "detail", "MADV_HUGEPAGE"), "count"), 4);
	assert_int_equal(cell_number(t, row_of(t, "call", "mmap"), "failed"), 2);
	t = view_table_of(&f, "failures");
	assert_int_equal(t->n_rows, 1);
	assert_cell_text(t, 0, "error", "ENOMEM");
	assert_cell_text(t, 0, "why", "vm.max_map_count is reached: 65530 mappings");
	assert_int_equal(f.report.findings.n, 1);
	assert_string_equal(f.report.findings.v[0].try_[0], "`sysctl -w vm.max_map_count=131060`");
	assert_string_equal(f.report.findings.v[0].undo[0], "`sysctl -w vm.max_map_count=65530`");
	view_close(&f);
}

/* A limit of a process: of this one, and of those that come after it. */
static void test_rlimit(void **state)
{
	struct fixture f;
	struct maps_agg bad = calls(7, MAPS_MMAP, MAPS_ANON, 1);

	(void)state;
	bad.error = 12;
	bad.why = MAPS_WHY_AS;
	bad.object = 512 << 20;
	open_view(&f, &(struct view_options){});
	PUT(&f, bad, REC_MAPS_AGG);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 1);
	assert_string_equal(f.report.findings.v[0].try_[0], "`prlimit --pid 7 --as=1073741824:`");
	assert_string_equal(f.report.findings.v[0].undo[0], "`prlimit --pid 7 --as=536870912:`");
	assert_non_null(strstr(f.report.findings.v[0].try_[1], "`ps -o ppid= -p 7`"));
	view_close(&f);
}

/* Strict overcommit: the present value, and one more to try. */
static void test_strict(void **state)
{
	struct fixture f;
	struct maps_agg bad = calls(7, MAPS_MMAP, MAPS_ANON, 1);
	struct maps_limit ratio = {.value = 50, .name = "vm.overcommit_ratio"};
	struct maps_limit kbytes = {.value = 0, .name = "vm.overcommit_kbytes"};

	(void)state;
	bad.error = 12;
	bad.why = MAPS_WHY_STRICT;
	open_view(&f, &(struct view_options){});
	PUT(&f, ratio, REC_MAPS_LIMIT);
	PUT(&f, kbytes, REC_MAPS_LIMIT);
	PUT(&f, bad, REC_MAPS_AGG);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 1);
	assert_string_equal(f.report.findings.v[0].try_[0], "`sysctl -w vm.overcommit_ratio=60`");
	assert_string_equal(f.report.findings.v[0].undo[0], "`sysctl -w vm.overcommit_ratio=50`");
	view_close(&f);
}

static struct maps_agg churn(u8 call, u64 count, u64 ns)
{
	struct maps_agg r = calls(8, call, MAPS_ANON, count);

	r.length_bytes = count * MIB;
	r.total_ns = ns;
	if (call == MAPS_MADVISE)
		r.detail = 4;
	return r;
}

/* 10 s: 20,000 pairs that take 3 of them are told; as many that take nothing, or few, are not. */
static void test_churn(void **state)
{
	static const struct {
		u64 maps, unmaps, ns;
		size_t findings;
	} cases[] = {
		{20000, 20000, 3 * NSEC_PER_SEC, 1},
		{20000, 20000, 20 * NSEC_PER_MSEC, 0},
		{2000, 2000, 3 * NSEC_PER_SEC, 0},
		{20000, 12000, 3 * NSEC_PER_SEC, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct maps_agg map = churn(MAPS_MMAP, cases[i].maps, cases[i].ns / 2);
		struct maps_agg unmap = churn(MAPS_MUNMAP, cases[i].unmaps, cases[i].ns / 2);
		struct fixture f;

		open_view(&f, &(struct view_options){});
		PUT(&f, map, REC_MAPS_AGG);
		PUT(&f, unmap, REC_MAPS_AGG);
		view_report(&f);
		assert_int_equal(f.report.findings.n, cases[i].findings);
		if (cases[i].findings) {
			assert_string_equal(f.report.findings.v[0].title,
				"churner (process 8) maps and unmaps memory 2000 times a second");
			assert_int_equal(f.report.findings.v[0].level, LEVEL_WARNING);
		}
		view_close(&f);
	}
}

static void test_dontneed(void **state)
{
	struct maps_agg drop = churn(MAPS_MADVISE, 50000, NSEC_PER_SEC / 2);
	struct fixture f;

	(void)state;
	open_view(&f, &(struct view_options){});
	PUT(&f, drop, REC_MAPS_AGG);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 1);
	assert_string_equal(f.report.findings.v[0].rule, "maps-dontneed");
	assert_int_equal(f.report.findings.v[0].level, LEVEL_RISK);
	view_close(&f);
}

/* A straight line upwards is told, a step is not. */
static void test_growth(void **state)
{
	struct fixture f;

	(void)state;
	for (int line = 0; line < 2; line++) {
		open_view(&f, &(struct view_options){});
		for (u64 i = 0; i <= 10; i++) {
			struct maps_process p =
				space(7, 10 * MIB, 10 * MIB + (line || i > 9 ? i * 8 * MIB : 0));

			p.h.time_ns = (1 + i) * NSEC_PER_SEC;
			PUT(&f, p, REC_MAPS_PROCESS);
		}
		view_report(&f);
		assert_int_equal(f.report.findings.n, line);
		view_close(&f);
	}
}

static void assert_line(struct maps_event e, const char *want)
{
	_cleanup_str_ struct str s = {};

	maps_event_line(&s, &e);
	assert_string_equal(str_get(&s), want);
}

#define EVENT(call_, result_, ...) \
	((struct maps_event){.call = (call_), .result = (result_), .args = {__VA_ARGS__}})

static struct maps_event named(struct maps_event e, const char *name)
{
	snprintf(e.name, sizeof(e.name), "%s", name);
	e.flags |= MAPS_NAMED;
	return e;
}

/* As strace has them. */
static void test_lines(void **state)
{
	(void)state;
	assert_line(EVENT(MAPS_MMAP, 0x7f0000000000, 0, 4096, 3, 0x22, ~0ULL, 0),
		"mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = "
		"0x7f0000000000");
	assert_line(named(EVENT(MAPS_MMAP, -12, 0x1000, 8192, 0, 1, 3, 0x2000), "a b"),
		"mmap(0x1000, 8192, PROT_NONE, MAP_SHARED, 3<a b>, 0x2000) = -1 ENOMEM (Cannot "
		"allocate memory)");
	assert_line(EVENT(MAPS_MUNMAP, 0, 0x1000, 1ULL << 63),
		"munmap(0x1000, 9223372036854775808) = 0");
	assert_line(EVENT(MAPS_MREMAP, 0x2000, 0x1000, 4096, 8192, 1, 99),
		"mremap(0x1000, 4096, 8192, MREMAP_MAYMOVE) = 0x2000");
	assert_line(EVENT(MAPS_MREMAP, 0x5000, 0x1000, 4096, 8192, 3, 0x5000),
		"mremap(0x1000, 4096, 8192, MREMAP_MAYMOVE|MREMAP_FIXED, 0x5000) = 0x5000");
	assert_line(EVENT(MAPS_BRK, 0x55000), "brk(NULL) = 0x55000");
	assert_line(EVENT(MAPS_BRK, 0x55000, 0x56000), "brk(0x56000) = 0x55000 (refused)");
	assert_line(EVENT(MAPS_MADVISE, -22, 0x1000, 4096, 14),
		"madvise(0x1000, 4096, MADV_HUGEPAGE) = -1 EINVAL (Invalid argument)");
	assert_line(
		EVENT(MAPS_MADVISE, 0, 0x1000, 4096, 12345), "madvise(0x1000, 4096, 0x3039) = 0");
	assert_line(named(EVENT(MAPS_MEMFD_CREATE, 5, 0x1234, 1), "x"),
		"memfd_create(\"x\", MFD_CLOEXEC) = 5");
	assert_line(EVENT(MAPS_MEMFD_CREATE, -14, 0x1234, 0),
		"memfd_create(0x1234, 0) = -1 EFAULT (Bad address)");
	assert_line(EVENT(MAPS_SHMGET, 7, 0, 4096, 01600),
		"shmget(IPC_PRIVATE, 4096, IPC_CREAT|0600) = 7");
	assert_line(EVENT(MAPS_SHMGET, 7, 0x99, 4096, 0), "shmget(0x99, 4096, 000) = 7");
	assert_line(EVENT(MAPS_SHMAT, 0x7000, 7, 0, 010000), "shmat(7, NULL, SHM_RDONLY) = 0x7000");
	assert_line(EVENT(MAPS_SHMCTL, 0, 7, 0, 0), "shmctl(7, IPC_RMID, NULL) = 0");
	assert_line(named(EVENT(MAPS_SHM_OPEN, 3, 0, 0x1234, 0102, 0600), "seg"),
		"shm_open(\"seg\", O_RDWR|O_CREAT, 0600) = 3");
	assert_line(named(EVENT(MAPS_SHM_OPEN, -2, 0, 0x1234, 0, 0600), "seg"),
		"shm_open(\"seg\", O_RDONLY) = -1 ENOENT (No such file or directory)");
	assert_line(EVENT(MAPS_MUNLOCKALL, 0), "munlockall() = 0");
	assert_line(EVENT(MAPS_MLOCKALL, 0, 3), "mlockall(MCL_CURRENT|MCL_FUTURE) = 0");
	assert_line(EVENT(200, -5), "unknown() = -1 EIO (Input/output error)");
}

static struct maps_event sent(struct maps_event e, const char *comm)
{
	e.h.size = sizeof(e);
	e.h.kind = REC_MAPS_CALL;
	e.tgid = 7;
	e.tid = 7;
	memcpy(e.comm, comm, strnlen(comm, sizeof(e.comm)));
	return e;
}

static const struct look *look_of(const char *name)
{
	const struct look *l = maps_view.looks;

	while (l->name && strcmp(l->name, name))
		l++;
	assert_non_null(l->name);
	return l;
}

static void assert_look(const char *name, struct maps_event e, const char *want)
{
	_cleanup_str_ struct str s = {};
	struct fixture f;

	open_view(&f, &(struct view_options){.each = true});
	view_feed(&f, &e);
	look_of(name)->lines(f.view, &f.report, &s);
	assert_string_equal(str_get(&s), want);
	view_close(&f);
}

/* Column for column as the older tools print; names cannot steer the terminal. */
static void test_looks(void **state)
{
	struct maps_event map =
		named(EVENT(MAPS_MMAP, 0x7000, 0, 266240, 5, 0x12, 3, 8192), "lib.so");

	(void)state;
	assert_look("mmapsnoop", sent(map, "java"),
		"7      java           R-E  -PF-  8        260      lib.so\n");
	assert_look("mmapsnoop", sent(named(map, "a\033[2J"), "a\nb"),
		"7      a\\nb           R-E  -PF-  8        260      a\\x1b[2J\n");
	assert_look("mmapsnoop", sent(EVENT(MAPS_MMAP, 0x7000, 0, 4096, 3, 0x22), "java"), "");
	assert_look("mmapsnoop", sent(EVENT(MAPS_MUNMAP, 0, 0x1000, 4096), "java"), "");
	assert_look("shmsnoop",
		sent(EVENT(MAPS_SHMGET, 0x10000, 0x78020001, 65536, 0666), "client"),
		"7      client           SHMGET            10000 key: 0x78020001, size: 65536, "
		"shmflg: 0x1b6 (0666)\n");
	assert_look("shmsnoop", sent(EVENT(MAPS_SHMAT, 0x7f00, 5, 0, 010000), "client"),
		"7      client            SHMAT             7f00 shmid: 0x5, shmaddr: 0x0, shmflg: "
		"0x1000 (SHM_RDONLY)\n");
	assert_look("shmsnoop", sent(EVENT(MAPS_SHMDT, -22, 0x7f00), "client"),
		"7      client            SHMDT ffffffffffffffea shmaddr: 0x7f00\n");
	assert_look("shmsnoop", sent(EVENT(MAPS_SHMCTL, 0, 5, 0, 0), "client"),
		"7      client           SHMCTL                0 shmid: 0x5, cmd: 0, buf: 0x0\n");
}

static void test_brkstack(void **state)
{
	_cleanup_str_ struct str s = {};
	struct maps_agg often = calls(7, MAPS_BRK, MAPS_HEAP, 5);
	struct maps_agg once = calls(7, MAPS_BRK, MAPS_HEAP, 1);
	struct fixture f;

	(void)state;
	memcpy(often.comm, "often", 5);
	memcpy(once.comm, "once", 4);
	open_view(&f, &(struct view_options){});
	PUT(&f, often, REC_MAPS_AGG);
	PUT(&f, once, REC_MAPS_AGG);
	PUT(&f, often, REC_MAPS_AGG);
	look_of("brkstack")->lines(f.view, &f.report, &s);
	assert_string_equal(str_get(&s), "@[\n, once]: 1\n@[\n, often]: 10\n");
	view_close(&f);
}

/* --each: a row a call, with the same in fields; --min leaves the quick ones out. */
static void test_each(void **state)
{
	struct maps_event slow = sent(named(EVENT(MAPS_MMAP, 0x7000, 0, 5000, 1, 2, 3), "f"), "x");
	struct maps_event fast = sent(EVENT(MAPS_BRK, 0x1000), "x");
	struct fixture f;
	struct table *t;

	(void)state;
	slow.ns = 5000;
	fast.ns = 10;
	slow.kind = MAPS_FILE;
	open_view(&f, &(struct view_options){.each = true, .min_ns = 1000});
	view_feed(&f, &slow);
	view_feed(&f, &fast);
	t = maps_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_cell_text(t, 0, "call", "mmap");
	assert_cell_text(t, 0, "mapping", "f");
	assert_cell_text(t, 0, "kind", "file");
	assert_int_equal(cell_number(t, 0, "length_bytes"), 5000);
	assert_int_equal(cell_number(t, 0, "address"), 0x7000);
	assert_int_equal(cell_at(t, 0, "detail")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "vmsize_bytes")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "error")->type, CELL_EMPTY);
	view_close(&f);
}

/* Of a recording that others wrote: nothing is taken on trust. */
static void test_hostile(void **state)
{
	struct maps_agg agg;
	struct maps_event e;
	struct maps_process p;
	struct fixture f;

	(void)state;
	memset(&agg, 0xff, sizeof(agg));
	memset(&e, 0xff, sizeof(e));
	memset(&p, 0xff, sizeof(p));
	open_view(&f, &(struct view_options){.by = "process,call,kind,mapping,size,error"});
	for (int i = 0; i < 3; i++) {
		PUT(&f, agg, REC_MAPS_AGG);
		PUT(&f, e, REC_MAPS_CALL);
		PUT(&f, p, REC_MAPS_PROCESS);
	}
	view_report(&f);
	assert_int_equal(view_table_of(&f, "maps")->n_rows, 1);
	assert_int_equal(maps_view.each(f.view, &f.report)->n_rows, 3);
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_unknown_space),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_mapping),
		cmocka_unit_test(test_side_tables),
		cmocka_unit_test(test_rlimit),
		cmocka_unit_test(test_strict),
		cmocka_unit_test(test_churn),
		cmocka_unit_test(test_dontneed),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_brkstack),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
