/* The syscalls view: records in, tables out. */
#include <errno.h>

#include "probes/syscalls/syscalls.h"
#include "probes/probe.h"
#include "probes/syscalls/syscalls_opts.h"
#include "probes/syscalls/syscalls_view.h"
#include "view_fixture.h"

static struct syscalls_agg calls(u32 tgid, u32 nr, u64 count, u64 errors, u64 ns)
{
	struct syscalls_agg r = REC(struct syscalls_agg, REC_SYSCALLS_AGG, .tgid = tgid, .nr = nr,
		.count = count, .timed = count, .errors = errors, .total_ns = count * ns,
		.min_ns = ns / 2, .max_ns = 2 * ns, .comm = "worker");

	r.hist[10] = (u32)count;
	return r;
}

static void open_with(struct fixture *f, const struct view_options *o)
{
	view_open(f, &syscalls_view, o, "syscalls");
}

static void sums(void **state)
{
	struct syscalls_agg a = calls(7, 0, 3, 1, 600), b = calls(7, 0, 1, 0, 400);
	struct syscalls_agg c = calls(7, 20, 2, 0, 100), d = calls(7, 231, 1, 0, 0);
	struct fixture f;
	struct table *t;

	(void)state;
	c.abi = SYSCALL_COMPAT;
	d.timed = d.total_ns = d.min_ns = d.max_ns = d.hist[10] = 0;
	open_with(&f, &(struct view_options){});
	view_feed(&f, &a);
	view_feed(&f, &b);
	view_feed(&f, &c);
	view_feed(&f, &d);
	view_report(&f);
	t = view_table_of(&f, "calls");
	assert_int_equal(t->n_rows, 3);
	assert_string_equal(t->sort, "total_ns");
	assert_cell_text(t, 0, "call", "read");
	assert_int_equal(cell_number(t, 0, "count"), 4);
	assert_int_equal(cell_number(t, 0, "errors"), 1);
	assert_int_equal(cell_number(t, 0, "total_ns"), 2200);
	assert_int_equal(cell_number(t, 0, "mean_ns"), 550);
	assert_int_equal(cell_number(t, 0, "min_ns"), 200);
	assert_int_equal(cell_number(t, 0, "max_ns"), 1200);
	assert_cell_text(t, 1, "call", "compat:getpid");
	assert_cell_text(t, 2, "call", "exit_group");
	assert_int_equal(cell_at(t, 2, "mean_ns")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 2, "min_ns")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 2, "total_ns")->type, CELL_EMPTY);
	assert_int_equal(table_column(t, "fault_ns"), -ENOENT);
	view_close(&f);
}

static void errors_by_name(void **state)
{
	struct syscalls_error e = REC(struct syscalls_error, REC_SYSCALLS_ERROR, .tgid = 7,
		.nr = 257, .error = ENOENT, .count = 5, .comm = "worker");
	struct syscalls_error odd = e;
	struct fixture f;
	struct table *t;

	(void)state;
	odd.error = 4095;
	open_with(&f, &(struct view_options){.by = "call"});
	view_feed(&f, &e);
	view_feed(&f, &e);
	view_feed(&f, &odd);
	view_report(&f);
	t = view_table_of(&f, "errors");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "call", "openat");
	assert_cell_text(t, 0, "error", "ENOENT");
	assert_int_equal(cell_number(t, 0, "count"), 10);
	assert_cell_text(t, 1, "error", "4095");
	view_close(&f);
}

static void memory_columns(void **state)
{
	struct syscalls_agg a = calls(7, 0, 3, 0, 600);
	struct fixture f;
	struct table *t;

	(void)state;
	a.part_ns[SYSCALLS_FAULTS] = 300;
	a.part_n[SYSCALLS_FAULTS] = 4;
	a.part_ns[SYSCALLS_COMPACTION] = 100;
	open_with(&f, &(struct view_options){.opts = &(struct syscalls_opts){.with_memory = true}});
	view_feed(&f, &a);
	view_report(&f);
	t = view_table_of(&f, "calls");
	assert_int_equal(cell_number(t, 0, "fault_ns"), 300);
	assert_int_equal(cell_number(t, 0, "faults"), 4);
	assert_int_equal(cell_number(t, 0, "reclaim_ns"), 0);
	assert_int_equal(cell_number(t, 0, "compaction_ns"), 100);
	view_close(&f);
}

struct called {
	struct syscalls_call call;
	char text[16];
};

static struct called unlinked(u16 kind, u32 tgid, u64 ns)
{
	struct called c = {};

	c.call.h.size = sizeof(c);
	c.call.h.kind = kind;
	c.call.h.time_ns = 5000000000;
	c.call.tgid = c.call.tid = tgid;
	c.call.nr = 87;
	c.call.ret = -EACCES;
	c.call.ns = ns;
	c.call.flags = SYSCALLS_TIMED;
	c.call.args[0] = 0x1000;
	c.call.copy[0] = SYSCALLS_COPY_TEXT | 1;
	c.call.copied[0] = 4;
	memcpy(c.text, "/\033\\x", 4);
	memcpy(c.call.comm, "rm", 3);
	return c;
}

static void each(void **state)
{
	struct called quick = unlinked(REC_SYSCALLS_CALL, 7, 1000);
	struct called slow = unlinked(REC_SYSCALLS_CALL, 8, 5000000);
	struct called bad = slow;
	struct fixture f;
	struct table *t;

	(void)state;
	bad.call.copied[1] = 200; /* beyond its end */
	open_with(&f, &(struct view_options){.each = true, .min_ns = 1000000});
	view_feed(&f, &quick);
	view_feed(&f, &slow);
	view_feed(&f, &bad);
	t = syscalls_view.each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "pid"), 8);
	assert_cell_text(t, 0, "line", "unlink(\"/\\33\\\\x\") = -1 EACCES (Permission denied)");
	assert_true(cell_at(t, 0, "line")->escaped);
	assert_cell_text(t, 0, "call", "unlink");
	assert_cell_text(t, 0, "error", "EACCES");
	assert_int_equal(cell_at(t, 0, "result")->s, -EACCES);
	assert_int_equal(cell_number(t, 0, "duration_ns"), 5000000);
	view_close(&f);
}

static void flight(void **state)
{
	struct syscalls_dump d =
		REC(struct syscalls_dump, REC_SYSCALLS_DUMP, .key = 9, .detail = 2000000,
			.kept = 40, .tgid = 7, .tid = 7, .why = SYSCALLS_WHY_SLOW, .comm = "rm");
	struct called c = unlinked(REC_SYSCALLS_KEPT, 7, 1000);
	struct fixture f;
	struct table *t;

	(void)state;
	open_with(&f, &(struct view_options){.opts = &(struct syscalls_opts){
						     .flight = "", .dump_on = "slow>1ms"}});
	view_feed(&f, &c); /* of no dump: is not shown */
	view_feed(&f, &d);
	view_feed(&f, &c);
	view_feed(&f, &c);
	d.why = SYSCALLS_WHY_CRASH;
	d.detail = 0x80 | 11;
	view_feed(&f, &d);
	view_feed(&f, &c);
	assert_true(syscalls_view.due(f.view));
	view_report(&f);
	t = view_table_of(&f, "dumps");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "why", "slow call, 2.00 ms");
	assert_int_equal(cell_number(t, 0, "count"), 2);
	assert_int_equal(cell_number(t, 0, "kept"), 40);
	assert_cell_text(t, 1, "why", "process was killed, SIGSEGV");
	t = view_table_of(&f, "flight");
	assert_true(t->story);
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(cell_number(t, 1, "dump"), 1);
	assert_int_equal(cell_number(t, 2, "dump"), 2);
	syscalls_view.reset(f.view);
	assert_false(syscalls_view.due(f.view));
	view_feed(&f, &d);
	view_again(&f);
	view_report(&f);
	assert_int_equal(cell_number(view_table_of(&f, "dumps"), 0, "dump"), 3);
	view_close(&f);
}

/* A recording of --flight shows its dumps, also to who does not say so again: no call ended is not
 * what it says. */
static void flight_is_seen(void **state)
{
	struct syscalls_dump d =
		REC(struct syscalls_dump, REC_SYSCALLS_DUMP, .key = 9, .tgid = 7, .tid = 7);
	struct called c = unlinked(REC_SYSCALLS_KEPT, 7, 1000);
	struct fixture f;

	(void)state;
	open_with(&f, &(struct view_options){.opts = &(struct syscalls_opts){}});
	view_feed(&f, &d);
	view_feed(&f, &c);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "dumps")->n_rows, 1);
	assert_int_equal(view_table_of(&f, "flight")->n_rows, 1);
	view_close(&f);
}

static u64 random_state = 88172645463325252ULL;

static u64 random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Records of a damaged or foreign file: of any content, with the size that their kind has at least,
 * in memory that ends where they do. */
static void any_content(void **state)
{
	static const u32 sizes[] = {sizeof(struct syscalls_agg), sizeof(struct syscalls_error),
		sizeof(struct syscalls_call), sizeof(struct syscalls_dump),
		sizeof(struct syscalls_call)};
	struct fixture f;

	(void)state;
	for (int round = 0; round < 300; round++) {
		open_with(&f, &(struct view_options){
				      .each = round % 3 == 1,
				      .opts =
					      &(struct syscalls_opts){
						      .flight = round % 3 == 2 ? "" : NULL,
						      .with_memory = round % 3 == 0,
					      },
			      });
		for (int i = 0; i < 60; i++) {
			u32 kind = (u32)(random_next() % 5), size = sizes[kind];
			u64 *rec;

			if (sizes[kind] == sizeof(struct syscalls_call))
				size += (u32)(random_next() % 40) * 8;
			rec = malloc(size);
			assert_non_null(rec);
			for (u32 k = 0; k < size / 8; k++)
				rec[k] = random_next() & (random_next() % 3 ? ~0ULL : 0xff);
			*(struct rec *)rec =
				(struct rec){.size = size, .kind = (u16)(REC_SYSCALLS_AGG + kind)};
			if (size > sizeof(struct syscalls_call)) {
				struct syscalls_call *c = (void *)rec;

				c->nr = (u32)(random_next() % 460);
				c->abi = (u8)(random_next() % 4);
				c->copied[0] = (u16)(random_next() % 200);
				c->copied[1] = (u16)(random_next() % 200);
			}
			assert_int_equal(syscalls_view.feed(f.view, (struct rec *)rec), 0);
			free(rec);
		}
		if (round % 3 == 1)
			assert_non_null(syscalls_view.each(f.view, &f.report));
		else
			view_report(&f);
		view_close(&f);
	}
}

static void strace_look(void **state)
{
	struct called c = unlinked(REC_SYSCALLS_CALL, 7, 1234567);
	struct fixture f;
	_cleanup_str_ struct str s = {};

	(void)state;
	open_with(&f, &(struct view_options){.each = true});
	view_feed(&f, &c);
	syscalls_view.looks[0].lines(f.view, &f.report, &s);
	assert_non_null(strstr(str_get(&s), "unlink(\"/\\33\\\\x\")                        = -1 "
					    "EACCES (Permission denied) <0.001234>\n"));
	assert_int_equal(strncmp(str_get(&s), "7     ", 6), 0);
	view_close(&f);
}

static void refuses(struct request r, struct syscalls_opts o)
{
	struct err err = {};

	assert_int_equal(probe_syscalls.options->check(&r, &o, &err), -EINVAL);
	assert_true(err.msg[0]);
}

static void what_excludes_what(void **state)
{
	struct view_options asked = {.opts = &(struct syscalls_opts){.dump_on = "crash"}};
	void *v = calloc(1, syscalls_view.size);
	struct err err = {};

	(void)state;
	refuses((struct request){.each = true}, (struct syscalls_opts){.flight = ""});
	refuses((struct request){.by = "comm"}, (struct syscalls_opts){.flight = ""});
	refuses((struct request){}, (struct syscalls_opts){.no_times = true, .with_memory = true});
	refuses((struct request){.min_ns = 1}, (struct syscalls_opts){});
	assert_int_equal(syscalls_view.init(v, &asked, &err), -EINVAL);
	assert_true(err.msg[0]);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(errors_by_name),
		cmocka_unit_test(memory_columns),
		cmocka_unit_test(each),
		cmocka_unit_test(flight),
		cmocka_unit_test(flight_is_seen),
		cmocka_unit_test(any_content),
		cmocka_unit_test(strace_look),
		cmocka_unit_test(what_excludes_what),
	};

	return cmocka_run_group_tests_name("syscalls_view", tests, NULL, NULL);
}
