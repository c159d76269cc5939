/* Findings are of the tasks and groups that were asked for: others stand elsewhere. */
#include "view_fixture.h"

#include "report/report.h"

#define GROUP(id_, path_)                                                             \
	&(struct {                                                                    \
		struct rec h;                                                         \
		u64 id;                                                               \
		u32 length, reserved;                                                 \
		char path[48];                                                        \
	})                                                                            \
	{                                                                             \
		.h = {sizeof(struct rec_cgroup) + 48, REC_CGROUP, 0, 0}, .id = (id_), \
		.length = sizeof(path_) - 1, .path = (path_)                          \
	}

static void feed(struct stream *s, const void *rec)
{
	assert_int_equal(stream_feed(s, rec), 0);
}

static void begin(struct stream *s, struct report *r)
{
	assert_int_equal(stream_init(s), 0);
	feed(s, GROUP(40, "/shop"));
	feed(s, GROUP(41, "/shop/db"));
	feed(s, GROUP(42, "/shop/db/cache"));
	feed(s, GROUP(43, "/shop/web"));
	feed(s, GROUP(44, "/system.slice/nginx.service"));
	feed(s, &REC(struct rec_task, REC_TASK, .tgid = 7, .cgroup = 41, .comm = "db"));
	feed(s, &REC(struct rec_task, REC_TASK, .tgid = 70, .cgroup = 43, .comm = "web"));
	feed(s, &REC(struct rec_task, REC_TASK, .tgid = 9, .cgroup = 44, .comm = "nginx"));
	report_init(r, "check", s);
}

static void end(struct stream *s, struct report *r)
{
	report_destroy(r);
	stream_destroy(s);
}

/* Is a finding of this group here, by such a scope? */
static bool here(const char *words, u64 cgroup)
{
	struct stream s;
	struct report r;
	bool is;

	begin(&s, &r);
	report_finding(&r, LEVEL_WARNING, "cgroup-limit")->cgroup = cgroup;
	report_split(&r, words);
	assert_int_equal(r.findings.n + r.elsewhere.n, 1);
	is = r.findings.n;
	end(&s, &r);
	return is;
}

static void test_groups(void **unused)
{
	(void)unused;
	/* Its own group, and one above, whose limit binds it too. */
	assert_true(here("pid 7", 41));
	assert_true(here("pid 7", 40));
	assert_false(here("pid 7", 42));
	assert_false(here("pid 7", 43));
	assert_true(here("pid 8,7", 41));
	assert_false(here("pid 70", 41)); /* not by its first digits */
	assert_true(here("comm web", 43));
	assert_false(here("comm we", 43));
	assert_true(here("cgroup /shop/db", 41));
	assert_true(here("cgroup /shop/db", 42));
	assert_true(here("cgroup /shop/db", 40));
	assert_false(here("cgroup /shop/db", 43));
	assert_false(here("cgroup /shop/d", 41));
	assert_true(here("cgroup /sys/fs/cgroup/shop/db/", 41));
	assert_true(here("cgroup /sys/fs/cgroup/memory/shop/db", 41));
	assert_false(here("cgroup /sys/fs/cgroup/memory/shop/web", 41));
	assert_true(here("cgroup nginx.service", 44));
	assert_false(here("cgroup nginx.service", 41));
	assert_false(here("pid 7, cgroup /shop/web", 41));
	assert_true(here("command ./job", 43));
	assert_true(here("system-wide", 43));
	assert_true(here("", 43));
}

/* What is told of processes is of the scope; what has neither process nor group is the machine's.
 */
static void test_machine(void **unused)
{
	struct finding *f;
	struct stream s;
	struct report r;

	(void)unused;
	begin(&s, &r);
	report_finding(&r, LEVEL_CRITICAL, "fragmentation");
	report_finding(&r, LEVEL_RISK, "growth")->tgid = 7;
	report_finding(&r, LEVEL_RISK, "swap")->here = true;
	f = report_finding(&r, LEVEL_WARNING, "pressure");
	f->symptom = f->wall = true;
	f->losses = LOSS_SWAP;
	f->cost_ns = 77;
	report_conclude(&r, "pid 7");
	assert_true(r.scoped);
	assert_int_equal(r.findings.n, 2);
	assert_int_equal(r.elsewhere.n, 2);
	assert_string_equal(r.elsewhere.v[0].rule, "fragmentation");
	assert_string_equal(r.elsewhere.v[1].rule, "pressure"); /* no trouble of these tasks */
	end(&s, &r);
}

/* A wait here may come from there: that is said, and does not count as a cause. */
static void test_refers(void **unused)
{
	struct finding *f;
	struct stream s;
	struct report r;

	(void)unused;
	begin(&s, &r);
	f = report_finding(&r, LEVEL_CRITICAL, "swap-full");
	f->title = "Swap is full";
	f->losses = LOSS_RECLAIM;
	f = report_finding(&r, LEVEL_RISK, "reclaim-stalls");
	f->tgid = 7;
	f->symptom = true;
	f->losses = LOSS_RECLAIM;
	f->cost_ns = 5;
	report_conclude(&r, "pid 7");
	assert_int_equal(r.findings.n, 1);
	assert_int_equal(r.elsewhere.n, 1);
	assert_int_equal(r.findings.v[0].level, LEVEL_RISK);
	assert_string_equal(r.findings.v[0].evidence[0],
		"possible cause elsewhere on this machine: Swap is full");
	end(&s, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_refers),
	};

	return cmocka_run_group_tests_name("elsewhere", tests, NULL, NULL);
}
