/* Tests of the cgroups probe's sampler. */
#include "clock_fixture.h"
#include "probes/samplers_fixture.h"

#include "probes/cgroups/cgroups.h"

#define MIB (1ULL << 20)

static void put(const char *group, const char *file, const char *fmt, u64 value)
{
	char path[PATH_MAX], text[64];

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s", group, file);
	if (value == UINT64_MAX)
		snprintf(text, sizeof(text), "max\n");
	else
		snprintf(text, sizeof(text), "%s%llu\n", fmt, value);
	fixture_put_text(path, text);
}

static void make(const char *group, u64 usage, u64 limit, u64 swap)
{
	put(group, "memory.current", "", usage);
	put(group, "memory.max", "", limit);
	put(group, "memory.high", "", UINT64_MAX);
	put(group, "memory.swap.current", "", swap);
	put(group, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill ", 0);
}

static void tree_make(char root[PATH_MAX])
{
	fixture_make(root);
	fixture_put_text(
		"/proc/self/mountinfo", "27 22 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
}

static u64 id_of(const char *group)
{
	char path[PATH_MAX];
	struct stat st;

	assert_int_equal(sys_path(path, "/sys/fs/cgroup/%s", group), 0);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static const struct cgroup_usage *of(const struct sampler_test *t, const char *group)
{
	u64 id = id_of(group);
	const struct cgroup_usage *r;

	for (size_t i = 0; (r = sampler_record(t, REC_CGROUP_MEMORY, i)); i++)
		if (r->cgroup == id)
			return r;
	return NULL;
}

static void start(struct sampler_test *t)
{
	if (!t->c.opt.cgroup_version)
		t->c.opt.cgroup_version = SCOPE_CGROUP_V2;
	sampler_open(t, &probe_cgroups);
	sampler_sample(t);
}

static void test_worth(void **state)
{
	const struct cgroup_usage *r;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	tree_make(root);
	make("a", 100 * MIB, UINT64_MAX, 0);
	make("a/near", 60 * MIB, 100 * MIB, 0);
	make("a/far", 49 * MIB, 100 * MIB, 0);
	make("a/high", 60 * MIB, UINT64_MAX, 0);
	put("a/high", "memory.high", "", 64 * MIB);
	put("a/near", "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=", 77);
	make("swaps \xff", 1, UINT64_MAX, 3 * MIB);
	make("old", 1, UINT64_MAX, 0);
	put("old", "memory.events", "max 9\noom_kill ", 5); /* before the start */
	start(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 3);
	assert_int_equal(sampler_count(&t, REC_CGROUP), 3);
	r = of(&t, "a/near");
	assert_int_equal(r->h.flags, CGROUP_NEAR_LIMIT | CGROUP_HAS_PRESSURE);
	assert_int_equal(r->version, 2);
	assert_int_equal(r->level, 2);
	assert_int_equal(r->usage_bytes, 60 * MIB);
	assert_int_equal(r->limit_bytes, 100 * MIB);
	assert_true(r->high_bytes == CGROUP_USAGE_NONE);
	assert_int_equal(r->some_total_us, 77);
	assert_int_equal(of(&t, "a/high")->high_bytes, 64 * MIB);
	assert_int_equal(of(&t, "swaps \xff")->h.flags, CGROUP_SWAPS);
	assert_int_equal(of(&t, "swaps \xff")->swap_bytes, 3 * MIB);
	/* The nearest to its limit comes first. */
	assert_ptr_equal(of(&t, "a/high"), sampler_record(&t, REC_CGROUP_MEMORY, 0));
	sampler_close(&t);
	fixture_remove(root);
}

/* What grows is looked at long before half of its limit. */
static void test_grows(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	tree_make(root);
	make("grows", 10 * MIB, 1000 * MIB, 0);
	make("stays", 10 * MIB, 1000 * MIB, 0);
	start(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 0);
	make("grows", 30 * MIB, 1000 * MIB, 0);
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 1);
	assert_int_equal(of(&t, "grows")->usage_bytes, 30 * MIB);
	sampler_close(&t);
	fixture_remove(root);
}

/* Where somebody watches, all groups that have memory are sent, changed or not. */
static void test_watched(void **state)
{
	struct sampler_test t = {.c.opt.watch_ns = 10000000};
	char root[PATH_MAX];

	(void)state;
	tree_make(root);
	make("a", 100 * MIB, UINT64_MAX, 0);
	make("a/small", 1 * MIB, UINT64_MAX, 0);
	make("none", 0, UINT64_MAX, 0);
	start(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 2);
	assert_int_equal(of(&t, "a")->h.flags, CGROUP_WATCHED);
	assert_ptr_equal(of(&t, "a"), sampler_record(&t, REC_CGROUP_MEMORY, 0));
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 2);
	sampler_close(&t);
	fixture_remove(root);
}

/* … and what an idle one has besides is not read anew each time: what shows that it is not idle is.
 */
static void test_watched_idle(void **state)
{
	struct sampler_test t = {.c.opt.watch_ns = 10000000};
	char root[PATH_MAX];

	(void)state;
	tree_make(root);
	make("a", 100 * MIB, UINT64_MAX, 0);
	put("a", "memory.peak", "", 200 * MIB);
	start(&t);
	assert_int_equal(of(&t, "a")->peak_bytes, 200 * MIB);
	put("a", "memory.peak", "", 300 * MIB);
	put("a", "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=", 5);
	sampler_end(&t);
	assert_int_equal(of(&t, "a")->peak_bytes, 200 * MIB);
	assert_int_equal(of(&t, "a")->some_total_us, 5);
	put("a", "memory.events", "low 0\nhigh 0\noom 0\noom_kill 0\nmax ", 1);
	sampler_end(&t);
	assert_int_equal(of(&t, "a")->peak_bytes, 300 * MIB);
	assert_int_equal(of(&t, "a")->limit_hit_total, 1);
	put("a", "memory.peak", "", 400 * MIB);
	put("a", "memory.current", "", 101 * MIB);
	sampler_end(&t);
	assert_int_equal(of(&t, "a")->peak_bytes, 400 * MIB);
	sampler_close(&t);
	fixture_remove(root);
}

/* The next sample of a service, whose time has come. */
static void sample_later(struct sampler_test *t)
{
	fixture_passed_ns += 100 * NSEC_PER_SEC;
	sampler_forget(t);
	sampler_sample(t);
}

/* A service does not read again what goes with a usage that is what it was, until the group has had
 * its turn; a group whose usage differs, or that is near its limit, is read each time. */
static void test_sparing(void **state)
{
	struct sampler_test t = {.c.opt.sample_ns = 2 * NSEC_PER_SEC};
	char root[PATH_MAX];
	u32 scans = 0;

	(void)state;
	tree_make(root);
	make("rests", 10 * MIB, 1000 * MIB, 0);
	make("moves", 10 * MIB, 1000 * MIB, 0);
	make("near", 600 * MIB, 1000 * MIB, 0);
	start(&t);
	sample_later(&t);
	put("rests", "memory.events", "max ", 1);
	put("moves", "memory.events", "max ", 2);
	put("near", "memory.events", "max ", 3);
	put("moves", "memory.current", "", 11 * MIB);
	sample_later(&t);
	assert_int_equal(of(&t, "moves")->limit_hit_total, 2);
	assert_int_equal(of(&t, "near")->limit_hit_total, 3);
	/* Its limits have their turn within eight scans, and events with them. */
	for (; !of(&t, "rests"); scans++) {
		assert_true(scans < 8);
		sample_later(&t);
	}
	assert_int_equal(of(&t, "rests")->limit_hit_total, 1);
	/* At the end everything is read. */
	put("rests", "memory.events", "max ", 5);
	sampler_end(&t);
	assert_int_equal(of(&t, "rests")->limit_hit_total, 5);
	sampler_close(&t);
	fixture_remove(root);
}

/* Of very many groups that rest a service looks at some in each scan: each has its turn. */
static void test_turns(void **state)
{
	struct sampler_test t = {.c.opt.sample_ns = 2 * NSEC_PER_SEC};
	char root[PATH_MAX], group[32];
	u32 scans = 0;

	(void)state;
	tree_make(root);
	for (u32 i = 0; i < 1200; i++) {
		snprintf(group, sizeof(group), "many/%u", i);
		make(group, 10 * MIB, 1000 * MIB, 0);
	}
	make("many", 0, UINT64_MAX, 0);
	start(&t);
	sample_later(&t);
	sample_later(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 0);
	for (u32 i = 0; i < 60; i++) {
		snprintf(group, sizeof(group), "many/%u", i * 20);
		put(group, "memory.current", "", 600 * MIB);
	}
	sample_later(&t);
	assert_in_range(sampler_count(&t, REC_CGROUP_MEMORY), 5, 45); /* a third */
	for (size_t n = 0, all = 0; all < 60; all += n, scans++) {
		n = sampler_count(&t, REC_CGROUP_MEMORY);
		assert_true(scans < 3);
		sample_later(&t);
	}
	sampler_close(&t);
	fixture_remove(root);
}

static void test_events(void **state)
{
	const struct cgroup_usage *r;
	struct sampler_test t = {};
	char root[PATH_MAX], path[PATH_MAX];

	(void)state;
	tree_make(root);
	make("a", 1, UINT64_MAX, 0);
	make("a/b", 1, UINT64_MAX, 0);
	make("gone", 1, 1, 0);
	put("a/b", "memory.events", "max 9\noom_kill ", 5);
	start(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 1);
	sampler_forget(&t);
	sampler_sample(&t); /* not yet due */
	assert_int_equal(t.records.n, 0);

	assert_int_equal(sys_path(path, "/sys/fs/cgroup/gone"), 0);
	assert_int_equal(nftw(path, fixture_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
	put("a/b", "memory.events", "max 9\noom_kill ", 6);
	make("a/new", 1, UINT64_MAX, 0);
	put("a/new", "memory.events", "max 2\noom_kill ", 0);
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 2);
	r = of(&t, "a/b");
	assert_int_equal(r->h.flags, CGROUP_EVENTS);
	assert_int_equal(r->oom_kill_total, 6);
	assert_int_equal(r->first_oom_kill_total, 5);
	assert_int_equal(r->first_limit_hit_total, 9);
	r = of(&t, "a/new");
	assert_int_equal(r->limit_hit_total, 2);
	assert_int_equal(r->first_limit_hit_total, 0);
	sampler_close(&t);
	fixture_remove(root);
}

/* Groups without the controller, too deep ones, and too many. */
static void test_bounds(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX], group[128];

	(void)state;
	tree_make(root);
	put("bare", "cgroup.procs", "", 1);
	make("bare/below", 60, 100, 0); /* cannot be, and is not looked for */
	make("1", 60, 100, 0);
	make("1/2/3", 1, UINT64_MAX, 0);
	make("1/2", 1, UINT64_MAX, 0);
	make("1/2/3/4", 1, UINT64_MAX, 0);
	make("1/2/3/4/5", 1, UINT64_MAX, 0);
	make("1/2/3/4/5/6", 1, UINT64_MAX, 0);
	make("1/2/3/4/5/6/7", 1, UINT64_MAX, 0);
	make("1/2/3/4/5/6/7/8", 60, 100, 0);
	make("1/2/3/4/5/6/7/8/9", 60, 100, 0);
	for (u32 i = 0; i < 80; i++) {
		snprintf(group, sizeof(group), "many/%u", i);
		make(group, 0, UINT64_MAX, i + 1);
	}
	make("many", 0, UINT64_MAX, 0);
	start(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 64);
	assert_non_null(of(&t, "1"));
	assert_non_null(of(&t, "1/2/3/4/5/6/7/8"));
	assert_null(of(&t, "1/2/3/4/5/6/7/8/9"));
	assert_null(of(&t, "bare/below"));
	assert_int_equal(sampler_count(&t, REC_NOTE), 1);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_scope(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	tree_make(root);
	make("a", 1, UINT64_MAX, 0);
	make("a/b", 60, 100, 0);
	make("c", 60, 100, 0);
	t.c.opt.scope.cgroup_id = id_of("a");
	start(&t);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 2);
	assert_int_equal(of(&t, "a")->h.flags, CGROUP_SCOPE);
	assert_int_equal(of(&t, "a")->level, 1);
	assert_int_equal(of(&t, "a/b")->level, 2);
	sampler_close(&t);

	/* Removed while it is looked at: no failure. */
	t = (struct sampler_test){};
	t.c.opt.scope.cgroup_id = id_of("c");
	start(&t);
	fixture_remove(root);
	assert_int_equal(sys_root_set(root), 0);
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	sampler_close(&t);
	sys_root_set("");
}

/* As captured: version 2, and 1. */
static void test_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		bool v1 = !strcmp(fixture_kernels[i], "6.18");
		const char *method = v1 ? "cgroup v1, memory controller" : "cgroup v2";
		struct sampler_test t = {};
		const struct cgroup_usage *r;

		fixture_use(fixture_kernels[i]);
		t.c.opt.cgroup_version = v1 ? SCOPE_CGROUP_V1 : SCOPE_CGROUP_V2;
		t.c.opt.scope.cgroup_id =
			id_of(v1 ? "memory/system.slice/app.service" : "system.slice/app.service");
		start(&t);
		assert_string_equal(sampler_method(&t, "memory of control groups")->method, method);
		assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 1);
		r = sampler_record(&t, REC_CGROUP_MEMORY, 0);
		assert_int_equal(r->version, v1 ? 1 : 2);
		assert_int_equal(r->level, 2);
		assert_true(r->usage_bytes > 0);
		assert_true(r->h.flags & CGROUP_SCOPE);
		assert_true(v1 || r->h.flags & CGROUP_HAS_PRESSURE);
		sampler_close(&t);
	}
	sys_root_set("");
}

static void test_nothing(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	start(&t);
	assert_int_equal(t.records.n, 1);
	assert_string_equal(sampler_method(&t, "memory of control groups")->method, "");
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	sampler_close(&t);

	/* A group of the other hierarchy: said, not failed. */
	fixture_put_text(
		"/proc/self/mountinfo", "27 22 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	t = (struct sampler_test){};
	t.c.opt.cgroup_version = SCOPE_CGROUP_V1;
	t.c.opt.scope.cgroup_id = 5;
	start(&t);
	assert_int_equal(sampler_count(&t, REC_NOTE), 1);
	assert_int_equal(sampler_count(&t, REC_CGROUP_MEMORY), 0);
	sampler_close(&t);
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worth),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_watched_idle),
		cmocka_unit_test(test_sparing),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
