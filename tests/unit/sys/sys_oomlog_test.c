/* Tests of sys/kernel/kmsg.h, klog.h and sys/memory/oomlog.h, on what 5.10, 6.1, 6.12 and 7.3 wrote. */
#include "data/sys/fixture.h"
#include "sys/kernel/klog.h"
#include "sys/kernel/kmsg.h"
#include "sys/memory/oomlog.h"

#define KILLS 8

struct told {
	struct oomlog kills[KILLS];
	size_t n, reaped;
};

/* Feeds a captured log. */
static void tell(struct told *t, const char *kernel)
{
	_cleanup_free_ char *text = fixture_text(kernel, "/oom_kmsg");
	static struct kmsg_record r;
	struct oomlog log = {};

	*t = (struct told){};
	for (char *p = text, *save; (p = strtok_r(p, "\n", &save)); p = NULL) {
		enum oomlog_event event;

		if (kmsg_parse(p, &r))
			continue;
		event = oomlog_feed(&log, r.text);
		if (event == OOMLOG_KILL) {
			assert_true(t->n < KILLS);
			t->kills[t->n++] = log;
		}
		t->reaped += event == OOMLOG_REAPED;
	}
}

/* In each captured log the machine runs out of memory, then a group of 32 MiB. */
static void check_kills(
	const char *kernel, u32 machine_pid, u64 machine_anon_kb, u32 group_pid, size_t kills)
{
	struct told *t = malloc(sizeof(*t));
	const struct oomlog_kill *k;

	assert_non_null(t);
	tell(t, kernel);
	assert_int_equal(t->n, kills);
	k = &t->kills[0].kill;
	assert_int_equal(k->known, OOMLOG_ASKED | OOMLOG_ASKER | OOMLOG_CHOICE);
	assert_string_equal(k->comm, "oom_grow");
	assert_int_equal(k->pid, machine_pid);
	assert_int_equal(k->order, 0);
	assert_string_equal(k->constraint, "NONE");
	assert_string_equal(k->victim_comm, "oom_grow");
	assert_int_equal(k->victim_pid, machine_pid);
	assert_int_equal(k->anon_bytes, machine_anon_kb << 10);
	assert_string_equal(k->oom_path, "");
	assert_string_equal(k->victim_path, "/");
	assert_int_equal(t->kills[0].n_zones, 2);
	assert_string_equal(t->kills[0].zones[1].id.zone, "DMA32");
	assert_true(t->kills[0].zones[1].orders == 11);
	assert_true(t->kills[0].zones[1].free_bytes < t->kills[0].zones[0].managed_bytes);
	assert_true(t->kills[0].n_tasks >= 1);
	assert_int_equal(t->kills[0].tasks[0].pid, machine_pid);
	k = &t->kills[1].kill;
	assert_int_equal(k->known, OOMLOG_ASKED | OOMLOG_ASKER | OOMLOG_CHOICE | OOMLOG_USAGE |
					   OOMLOG_SWAP | OOMLOG_MEMCG);
	assert_string_equal(k->constraint, "MEMCG");
	assert_string_equal(k->oom_path, "/captest");
	assert_string_equal(k->victim_path, "/captest");
	assert_int_equal(k->victim_pid, group_pid);
	assert_int_equal(k->usage_bytes, 32 << 20);
	assert_int_equal(k->limit_bytes, 32 << 20);
	assert_int_equal(t->kills[1].n_zones, 0);
	assert_int_equal(t->kills[1].n_tasks, 2);
	assert_string_equal(t->kills[1].tasks[0].comm, "oom_grow");
	free(t);
}

static u64 pages(const struct oomlog_ledger *l, enum oomlog_row row)
{
	assert_true(l->known >> row & 1);
	return l->bytes[row] / 4096;
}

/* What rows leave of the total: pages that no number in the report has, but never less than none. */
static void ledger_adds_up(const struct oomlog_ledger *l, u64 total)
{
	u64 sum = 0;

	for (u32 i = 0; i < OOMLOG_ROWS; i++)
		sum += l->bytes[i];
	assert_true(sum <= total);
	assert_true(total - sum < total / 8);
}

/* Numbers that were read off the captured text by eye. */
static void test_memory(void **state)
{
	static const char *const kernels[] = {"5.10", "6.1", "6.12", "7.3"};
	struct told *t = malloc(sizeof(*t));
	struct oomlog_ledger l;

	(void)state;
	assert_non_null(t);
	tell(t, "5.10");
	assert_true(oomlog_memory_ledger(&t->kills[0].memory, 4096, &l));
	assert_int_equal(l.total_bytes / 4096, 98171 - 12403);
	assert_int_equal(pages(&l, OOMLOG_ANON), 1439 + 76337 - 796);
	assert_int_equal(pages(&l, OOMLOG_SHMEM), 796);
	assert_int_equal(pages(&l, OOMLOG_CACHE), 1954 - 796 - 1157);
	assert_int_equal(pages(&l, OOMLOG_SLAB), 1842 + 2308);
	assert_int_equal(pages(&l, OOMLOG_PAGE_TABLES), 206);
	assert_int_equal(pages(&l, OOMLOG_HUGETLB), 0);
	assert_true(oomlog_memory_ledger(&t->kills[1].memory, 4096, &l));
	assert_true(l.of_group);
	assert_int_equal(l.bytes[OOMLOG_ANON], 32980992);
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		tell(t, kernels[i]);
		assert_true(oomlog_memory_ledger(&t->kills[0].memory, 4096, &l));
		assert_false(l.of_group);
		ledger_adds_up(&l, l.total_bytes);
		assert_true(oomlog_memory_ledger(&t->kills[1].memory, 4096, &l));
		assert_true(l.of_group);
		ledger_adds_up(&l, t->kills[1].kill.usage_bytes);
	}
	assert_int_equal(l.bytes[OOMLOG_CACHE], 0);
	assert_false(oomlog_memory_ledger(&(struct oomlog_memory){}, 4096, &l));
	free(t);
}

/* Of version 1: with the groups below, and without what they are made of. */
static void test_memory_version_1(void **state)
{
	static const char *const lines[] = {"Memory cgroup stats for /a:", "cache 9000",
		"rss 5000", "shmem 1000", "swapcached 7", "total_cache 90000", "total_rss 50000",
		"total_shmem 10000", "Tasks state (memory values in pages):", "rss 1"};
	struct oomlog_memory m = {};
	struct oomlog_ledger l = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		oomlog_memory_feed(&m, lines[i]);
	assert_true(oomlog_memory_ledger(&m, 4096, &l));
	assert_true(l.of_group);
	assert_int_equal(l.bytes[OOMLOG_ANON], 50000);
	assert_int_equal(l.bytes[OOMLOG_CACHE], 80000);
	assert_int_equal(l.bytes[OOMLOG_SHMEM], 10000);
	assert_false(l.known >> OOMLOG_SLAB & 1);
}

static void test_captured(void **state)
{
	(void)state;
	check_kills("5.10", 143, 303076, 150, 2);
	check_kills("6.1", 157, 299568, 164, 2);
	check_kills("6.12", 202, 316160, 209, 2);
	check_kills("7.3", 160, 299156, 167, 3);
}

static void test_numbers(void **state)
{
	struct told *t = malloc(sizeof(*t));
	const struct oomlog_zone *z;
	const struct oomlog_task *task;

	(void)state;
	assert_non_null(t);
	tell(t, "7.3");
	assert_int_equal(t->kills[0].kill.gfp, 0x140cca);
	assert_int_equal(t->kills[0].kill.page_table_bytes, 752 << 10);
	assert_int_equal(t->kills[0].kill.file_bytes, 8 << 10);
	z = &t->kills[0].zones[1];
	assert_int_equal(z->free_bytes, 5832 << 10);
	assert_int_equal(z->min_bytes, 2172 << 10);
	assert_int_equal(z->low_bytes, 2712 << 10);
	assert_int_equal(z->high_bytes, 3252 << 10);
	assert_int_equal(z->managed_bytes, 322236 << 10);
	assert_int_equal(z->blocks[0], 8);
	assert_int_equal(z->blocks[7], 2);
	assert_int_equal(z->blocks[10], 0);
	task = &t->kills[0].tasks[0];
	assert_int_equal(task->rss_pages, 74791);
	assert_int_equal(task->swap_pages, 15353);
	assert_int_equal(task->page_table_bytes, 770048);
	assert_int_equal(t->kills[1].kill.failcnt, 311);
	assert_int_equal(t->kills[1].kill.swap_usage_bytes, 61264 << 10);
	free(t);
}

static void feed(struct oomlog *l, const char *line)
{
	assert_int_equal(oomlog_feed(l, line), OOMLOG_NOTHING);
}

#define SIZES " total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:7 pgtables:4kB "

/* Of most kills in a storm the kernel writes the last line only. */
static void test_without_header(void **state)
{
	struct oomlog l = {};

	(void)state;
	feed(&l, "a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=3, oom_score_adj=-5");
	feed(&l, "CPU: 0 UID: 0 PID: 12 Comm: a Not tainted");
	assert_int_equal(
		oomlog_feed(&l, "Out of memory: Killed process 5 (b)" SIZES "oom_score_adj:0"),
		OOMLOG_KILL);
	assert_int_equal(l.kill.adj, -5);
	assert_int_equal(l.kill.order, 3);
	assert_int_equal(l.kill.pid, 12);
	assert_int_equal(
		oomlog_feed(&l, "Out of memory: Killed process 6 (c)" SIZES "oom_score_adj:100"),
		OOMLOG_KILL);
	assert_int_equal(l.kill.known, 0); /* nothing of the other's */
	assert_int_equal(l.kill.victim_adj, 100);
	assert_int_equal(l.kill.victim_uid, 7);
	assert_int_equal(l.kill.anon_bytes, 4096);
}

static void test_group(void **state)
{
	struct oomlog l = {};

	(void)state;
	feed(&l, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
		 "oom_memcg=/a,task_memcg=/a/b,c,task=x,pid=5,uid=0");
	assert_string_equal(l.kill.oom_path, "/a");
	assert_string_equal(l.kill.victim_path, "/a/b,c");
	assert_int_equal(oomlog_feed(&l, "Memory cgroup out of memory: Killed process 5 (x)" SIZES
					 "oom_score_adj:0"),
		OOMLOG_KILL);
	feed(&l, "Tasks in /a are going to be killed due to memory.oom.group set");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			oomlog_feed(&l, "Memory cgroup out of memory: Killed process 6 (y)" SIZES
					"oom_score_adj:0"),
			OOMLOG_KILL);
		assert_true(l.kill.known & OOMLOG_GROUP);
		assert_string_equal(l.kill.oom_path, "/a");
	}
	assert_int_equal(oomlog_feed(&l, "oom_reaper: reaped process 6 (y), now anon-rss:0kB, "
					 "file-rss:0kB, shmem-rss:0kB"),
		OOMLOG_REAPED);
	assert_int_equal(l.reaped, 6);
	feed(&l, "b invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0");
	assert_int_equal(l.kill.known, OOMLOG_ASKED);
	assert_int_equal(l.kill.order, -1);
	assert_int_equal(
		oomlog_feed(&l, "Out of memory and no killable processes..."), OOMLOG_NO_VICTIM);
}

/* Names are chosen by whoever runs them. */
static void test_hostile_names(void **state)
{
	struct oomlog l = {};

	(void)state;
	feed(&l, " invoked oom-killer: gfp_mask=0x1(, order=0 invoked oom-killer: "
		 "gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0");
	assert_int_equal(l.kill.gfp, 0xcc0);
	assert_int_equal(
		oomlog_feed(&l, "Out of memory (oom_kill_allocating_task): Killed process 9 "
				"(a) total-vm:1k)" SIZES "oom_score_adj:0"),
		OOMLOG_KILL);
	assert_true(l.kill.known & OOMLOG_ALLOCATING);
	assert_string_equal(l.kill.victim_comm, "a) total-vm:1k");
	feed(&l, "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj "
		 "name");
	feed(&l, "Node 4294967295 DMA free:1kB");
	feed(&l, "oom-kill:constraint=CONSTRAINT_");
	feed(&l, "");
}

/* Of a group whose use the log did not tell there is no sum that rows could make. */
static void test_group_without_use(void **state)
{
	struct oomlog l = {};
	struct oomlog_ledger got;

	(void)state;
	feed(&l, "Memory cgroup stats for /a:");
	feed(&l, "anon 32980992");
	assert_true(oomlog_memory_ledger(&l.memory, 4096, &got));
	assert_false(oomlog_ledger(&l, 4096, &got));
	feed(&l, "memory: usage 32768kB, limit 32768kB, failcnt 311");
	assert_true(oomlog_ledger(&l, 4096, &got));
	assert_int_equal(got.total_bytes, 32768 << 10);
}

/* More than fits a number is nobody's. */
static void test_huge_numbers(void **state)
{
	struct oomlog_memory m = {};
	struct oomlog_ledger got = {};

	(void)state;
	oomlog_memory_feed(&m, "Mem-Info:");
	oomlog_memory_feed(&m, "active_anon:1 inactive_anon:2\n free:100");
	oomlog_memory_feed(&m, "262144 pages RAM");
	oomlog_memory_feed(&m, "Node 0 hugepages_total=4294967295 hugepages_free=0 "
			       "hugepages_surp=0 hugepages_size=1073741823kB");
	oomlog_memory_feed(&m, "Node 0 hugepages_total=1 hugepages_size=0kB");
	oomlog_memory_feed(&m, "Node 1 hugepages_total=3 hugepages_size=2048kB");
	assert_true(oomlog_memory_ledger(&m, 4096, &got));
	assert_int_equal(pages(&got, OOMLOG_HUGETLB), 3 * 512);
}

static void test_records(void **state)
{
	static const char *const bad[] = {"", ";", "6;x", "6,1;x", "6,1,x,-;t", " KEY=value", "x"};
	static struct kmsg_record r;
	_cleanup_free_ char *big = malloc(KMSG_RECORD_MAX + 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(kmsg_parse(bad[i], &r), -EINVAL);
	assert_int_equal(
		kmsg_parse("6,12,34567,-,caller=T1;a\\x1b[1m\\x5cx41\\x09\\xzz \\x00\n K=v\n", &r),
		0);
	assert_int_equal(r.priority, 6);
	assert_int_equal(r.sequence, 12);
	assert_int_equal(r.time_us, 34567);
	assert_string_equal(r.text, "a\x1b[1m\\x41\t\\xzz \\x00");
	assert_non_null(big);
	memset(big, 'a', KMSG_RECORD_MAX);
	big[KMSG_RECORD_MAX] = '\0';
	memcpy(big, "6,1,1,-;", 8);
	assert_int_equal(kmsg_parse(big, &r), 0);
	assert_int_equal(strlen(r.text), KMSG_TEXT_MAX - 1);
}

static void test_log_lines(void **state)
{
	static const char *const bad[] = {"", "<6", "x", "<x>[    1.000000] t", "[    1.000000] t"};
	static const char *const timeless[] = {"<6>t", "<6>[ T1] t", "<6>[    1.5] t", "<6>[1.] t"};
	static struct kmsg_record r;
	const char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(klog_parse((text = bad[i], &text), &r), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(timeless); i++)
		assert_int_equal(klog_parse((text = timeless[i], &text), &r), -ENODATA);
	text = "<14>[ 1170.000814] Tasks\n<6>[    0.5";
	assert_int_equal(klog_parse(&text, &r), 0);
	assert_int_equal(r.priority, 14);
	assert_int_equal(r.time_us, 1170000814);
	assert_string_equal(r.text, "Tasks");
	assert_string_equal(text, "<6>[    0.5");
	text = "<3>[12345678.999999][   T12] [  pid  ]";
	assert_int_equal(klog_parse(&text, &r), 0);
	assert_int_equal(r.time_us, 12345678999999);
	assert_string_equal(r.text, "[  pid  ]");
}

/* The texts of the lines that come next, as one. */
static const char *log_rest(struct klog *k, const char *text)
{
	static struct kmsg_record r;
	static char all[64];
	int rc;

	*all = '\0';
	klog_begin(k, text);
	while ((rc = klog_next(k, &r)))
		strcat(all, rc < 0 ? "!" : r.text);
	return all;
}

static void test_log_goes_on(void **state)
{
	struct klog k = {};

	(void)state;
	assert_string_equal(log_rest(&k, ""), "");
	assert_string_equal(log_rest(&k, "<6>[    1.000000] a\n<6>[    2.000000] b\n"), "ab");
	assert_string_equal(log_rest(&k, "<6>[    1.000000] a\n<6>[    2.000000] b\n"), "");
	/* of the same microsecond, and a line that is none */
	assert_string_equal(
		log_rest(&k, "<6>[    2.000000] b\n<6>[    2.000000] c\nx\n<6>[    3.000000] d\n"),
		"cd");
	assert_string_equal(
		log_rest(&k, "<6>[    2.000000] c\n<6>[    3.000000] d\n<6>[    3.000000] e\n"), "e");
	assert_string_equal(log_rest(&k, "<6>[    3.000000] d\n<6>[    3.000000] e\n"), "");
	/* what was given last is gone */
	assert_string_equal(log_rest(&k, "<6>[    5.000000] f\n<6>[    6.000000] g\n"), "!fg");
	assert_string_equal(log_rest(&k, ""), "");
	assert_string_equal(log_rest(&k, "<6>[    6.000000] g\n<6>[    7.000000] h\n"), "h");
}

static void test_dropped(void **state)
{
	static const char *const others[] = {"", "): drop_caches: 3", "(1): drop_caches: 3",
		"sh 7): drop_caches: 3", "sh (x): drop_caches: 3",
		"sh (7): drop_caches: ", "sh (7): drop_caches: 99",
		"sh (99999999999): drop_caches: 1"};
	struct drop_line d;

	(void)state;
	assert_true(drop_line_parse("bash (4711): drop_caches: 3", &d));
	assert_string_equal(d.comm, "bash");
	assert_int_equal(d.pid, 4711);
	assert_int_equal(d.what, 3);
	assert_true(drop_line_parse("a (b): (2) (8): drop_caches: 5", &d));
	assert_string_equal(d.comm, "a (b): (2)");
	assert_int_equal(d.pid, 8);
	assert_int_equal(d.what, 1);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(drop_line_parse(others[i], &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_version_1),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_without_header),
		cmocka_unit_test(test_log_lines),
		cmocka_unit_test(test_log_goes_on),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_group_without_use),
		cmocka_unit_test(test_huge_numbers),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
