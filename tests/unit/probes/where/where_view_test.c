/* Tests of the ledgers: each row of the machine's by the kernel's rules, captured hosts, and what
 * the view makes of the records. */
#include "view_fixture.h"

#include "data/sys/fixture.h"

#include "bpf/inodes.h"
#include "probes/cache/cache.h"
#include "probes/cgroups/cgroups.h"
#include "probes/holders/holders.h"
#include "probes/where/where_ledger.h"
#include "probes/where/where_view.h"
#include "report/role.h"
#include "sys/heap/managed.h"
#include "sys/memory/zoneinfo.h"

#define KIB 1024ULL
#define MIB (KIB * KIB)

static const char meminfo[] =
	"MemTotal: 1000000 kB\nMemFree: 400000 kB\nBuffers: 1000 kB\nCached: 100000 kB\n"
	"SwapCached: 3000 kB\nActive: 120000 kB\nInactive: 83000 kB\nUnevictable: 0 kB\n"
	"Active(file): 50000 kB\nInactive(file): 21000 kB\nAnonPages: 100000 kB\nShmem: 30000 kB\n"
	"Slab: 50000 kB\nSReclaimable: 20000 kB\nKReclaimable: 21000 kB\nKernelStack: 4000 kB\n"
	"PageTables: 5000 kB\nVmallocUsed: 9000 kB\nPercpu: 2000 kB\nHugetlb: 40960 kB\n"
	"Dirty: 1000 kB\nWriteback: 0 kB\nSwapTotal: 10000 kB\nSwapFree: 6000 kB\nZswap: 700 kB\n";

static struct where_ledger ledger_of(const char *text, struct where_numbers n)
{
	_cleanup_keyvals_ struct keyvals kv = {}, vm = {};
	struct where_ledger l = REC(struct where_ledger, REC_WHERE_LEDGER);

	assert_int_equal(keyvals_parse(text, &kv), 0);
	assert_int_equal(keyvals_parse("nr_zspages 100\nnr_isolated_anon 0\n", &vm), 0);
	n.meminfo = &kv;
	n.vmstat = &vm;
	n.page_bytes = 4096;
	assert_int_equal(where_ledger_machine(&n, &l), 0);
	return l;
}

static u64 sum(const struct where_ledger *l)
{
	s64 all = where_rest(l);

	for (u32 i = 0; i < WHERE_ROWS; i++)
		if (where_knows(l, i))
			all += (s64)l->bytes[i];
	return (u64)all;
}

/* What is a part of something else is taken from it. */
static void test_rows(void **unused)
{
	struct where_ledger l =
		ledger_of(meminfo, (struct where_numbers){.tmpfs_bytes = 12000 * KIB,
					   .has_tmpfs = true,
					   .stacks_in_vmalloc = true,
					   .percpu_first_bytes = 500 * KIB,
					   .cpu_lists_pages = 10,
					   .has_cpu_lists = true,
					   .sockets_bytes = 5 * MIB,
					   .has_sockets = true});

	(void)unused;
	assert_int_equal(l.bytes[WHERE_CACHE], (100000 + 1000 - 30000) * KIB);
	assert_int_equal(l.bytes[WHERE_TMPFS], 12000 * KIB);
	assert_int_equal(l.bytes[WHERE_SHARED], 18000 * KIB);
	assert_int_equal(l.bytes[WHERE_VMALLOC], 5000 * KIB);
	assert_int_equal(l.bytes[WHERE_STACKS], 4000 * KIB);
	assert_int_equal(l.bytes[WHERE_PERCPU], 1500 * KIB);
	assert_int_equal(l.bytes[WHERE_KERNEL_MISC], 1000 * KIB);
	assert_int_equal(l.bytes[WHERE_FREE_CPU], 10 * 4096);
	assert_int_equal(l.bytes[WHERE_COMPRESSED], 700 * KIB); /* more than zsmalloc has */
	/* lists 203000, of which 100000 are anonymous and 101000 files */
	assert_int_equal(l.bytes[WHERE_SWAP_CACHE], 2000 * KIB);
	assert_true(l.estimated >> WHERE_SWAP_CACHE & 1);
	assert_true(l.estimated >> WHERE_TMPFS & 1); /* swap is in use */
	assert_int_equal(l.bytes[WHERE_SOCKETS], 5 * MIB);
	assert_int_equal(sum(&l), 1000000 * KIB);
}

/* What was not read is in the rest, and no row. */
static void test_unknown(void **unused)
{
	struct where_ledger l = ledger_of("MemTotal: 1000 kB\nMemFree: 900 kB\nVmallocUsed: 0 kB\n",
		(struct where_numbers){});

	(void)unused;
	assert_true(where_knows(&l, WHERE_FREE));
	assert_false(where_knows(&l, WHERE_SLAB));
	assert_false(where_knows(&l, WHERE_VMALLOC));
	assert_false(where_knows(&l, WHERE_SOCKETS));
	assert_false(where_knows(&l, WHERE_TMPFS));
	assert_int_equal(sum(&l), 1000 * KIB);
	assert_int_equal(where_ledger_machine(&(struct where_numbers){}, &l), -ENODATA);
}

/* An estimate takes no more than what no counter has. */
static void test_estimate(void **unused)
{
	struct where_ledger l = ledger_of("MemTotal: 1400 kB\nMemFree: 900 kB\n",
		(struct where_numbers){.has_sockets = true, .sockets_bytes = MIB});

	(void)unused;
	assert_int_equal(l.bytes[WHERE_SOCKETS], 100 * KIB);
	assert_int_equal(where_rest(&l), 0);
	where_set_estimate(&l, WHERE_PIPES, 4096);
	assert_int_equal(l.bytes[WHERE_PIPES], 0);
	where_set(&l, WHERE_ANON, 200 * KIB); /* counters that changed meanwhile */
	assert_int_equal(where_rest(&l), -200 * (s64)KIB);
	assert_int_equal(sum(&l), 1400 * KIB);
}

static void test_hosts(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		_cleanup_keyvals_ struct keyvals info = {}, vm = {};
		_cleanup_zoneinfo_ struct zoneinfo zones = {};
		struct where_numbers n = {.meminfo = &info,
			.vmstat = &vm,
			.page_bytes = 4096,
			.stacks_in_vmalloc = true,
			.has_cpu_lists = true};
		struct where_ledger l = {};
		s64 rest;

		fixture_use(fixture_kernels[i]);
		assert_int_equal(keyvals_read("/proc/meminfo", &info), 0);
		assert_int_equal(keyvals_read("/proc/vmstat", &vm), 0);
		assert_int_equal(zoneinfo_read(&zones), 0);
		vec_each (z, &zones.zones)
			n.cpu_lists_pages += z->pcp_count_pages;
		assert_int_equal(where_ledger_machine(&n, &l), 0);
		assert_int_equal(sum(&l), l.total_bytes);
		rest = where_rest(&l);
		print_message("%s: rest %lld KiB of %llu\n", fixture_kernels[i], rest / 1024,
			l.total_bytes / 1024);
		assert_true(rest > -(s64)(4 * MIB) && rest * 25 < (s64)l.total_bytes);
	}
	sys_root_set("");
}

static struct where_ledger group_of(int version, u64 usage, u64 kernel, const char *text)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	struct where_ledger l = REC(struct where_ledger, REC_WHERE_LEDGER, .cgroup = 5);

	assert_int_equal(keyvals_parse(text, &kv), 0);
	where_ledger_group(version, usage, kernel, &kv, &l);
	assert_int_equal(sum(&l), usage);
	return l;
}

/* memory.stat of version 2: `kernel` has its parts in it, `file` shared memory and swap cache. */
static void test_group_2(void **unused)
{
	struct where_ledger l = group_of(2, 100 * MIB, 0,
		"anon 10485760\nfile 52428800\nkernel 9437184\nkernel_stack 1048576\n"
		"pagetables 2097152\nsec_pagetables 0\npercpu 1048576\nsock 3145728\n"
		"vmalloc 0\nshmem 4194304\nzswap 0\nswapcached 1048576\nslab 4194304\n"
		"slab_reclaimable 3145728\nactive_file 20971520\ninactive_file 20971520\n"
		"file_dirty 1048576\nfile_writeback 0\n");

	(void)unused;
	assert_int_equal(l.bytes[WHERE_ANON], 10 * MIB);
	assert_int_equal(l.bytes[WHERE_SHARED], 4 * MIB);
	assert_int_equal(l.bytes[WHERE_CACHE], (50 - 4 - 1) * MIB);
	assert_int_equal(l.bytes[WHERE_SLAB], 4 * MIB);
	assert_int_equal(l.bytes[WHERE_STACKS], MIB);
	assert_int_equal(l.bytes[WHERE_KERNEL], (9 - 1 - 2 - 1 - 4) * MIB);
	assert_int_equal(l.bytes[WHERE_SOCKETS], 3 * MIB);
	assert_false(where_knows(&l, WHERE_HUGETLB));
	assert_int_equal(where_rest(&l), (100 - 10 - 4 - 45 - 9 - 3) * MIB);
}

/* Of version 1, sums over the groups below; kernel memory comes from a file of its own. */
static void test_group_1(void **unused)
{
	static const char text[] = "cache 1\nrss 1\ntotal_cache 20971520\ntotal_rss 10485760\n"
				   "total_shmem 1048576\ntotal_active_file 4194304\n";
	struct where_ledger l = group_of(1, 40 * MIB, 5 * MIB, text);

	(void)unused;
	assert_int_equal(l.bytes[WHERE_ANON], 10 * MIB);
	assert_int_equal(l.bytes[WHERE_CACHE], 19 * MIB);
	assert_int_equal(l.bytes[WHERE_SHARED], MIB);
	assert_int_equal(l.bytes[WHERE_KERNEL], 5 * MIB);
	l = group_of(1, 40 * MIB, 0, text);
	assert_false(where_knows(&l, WHERE_KERNEL));
}

static size_t row_of(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (!strcmp(cell_at(t, i, "row")->text, name))
			return i;
	fail_msg("no row %s", name);
	return 0;
}

static void test_view(void **unused)
{
	struct where_ledger l = ledger_of(meminfo, (struct where_numbers){});
	struct held_totals held = REC(struct held_totals, REC_HELD_TOTALS, .pipe_bytes = 3 * MIB);
	struct where_owner o = REC(struct where_owner, REC_WHERE_OWNER, .row = WHERE_SLAB,
		.bytes = 7 * MIB, .count = 12, .sample = 1);
	const struct table *t;
	struct fixture f;
	s64 all = 0;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &l);
	view_feed(&f, &o);
	o.row = 10000; /* of a damaged recording */
	view_feed(&f, &o);
	view_feed(&f, &held);
	view_report(&f);
	t = view_table_of(&f, "ledger");
	for (size_t i = 0; i < t->n_rows; i++)
		all += cell_at(t, i, "bytes")->s;
	assert_int_equal(all, 1000000 * KIB);
	assert_int_equal(cell_at(t, row_of(t, "pipes"), "bytes")->s, 3 * MIB);
	assert_cell_text(t, row_of(t, "pipes"), "method", "estimated");
	assert_cell_text(t, row_of(t, "slab"), "method", "exact");
	assert_cell_text(t, row_of(t, "rest"), "method", "difference");
	assert_int_equal(cell_number(t, row_of(t, "slab"), "reclaimable_bytes"), 20000 * KIB);
	t = view_table_of(&f, "owners");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "count"), 12);
	assert_true(table_is_sums(view_table_of(&f, "ledger"))); /* two of them can be compared */
	view_close(&f);
}

/* The nearest limit of the chain is the one with least headroom, not the lowest. */
/* Beside each kind of page the rows of the ledger that it is. */
static void test_census(void **unused)
{
	struct where_ledger l = ledger_of(meminfo, (struct where_numbers){});
	struct where_census s = REC(struct where_census, REC_WHERE_CENSUS, .page_bytes = 4096,
		.looked = 1000, .of = 2000, .has_charged = 1);
	const struct table *t;
	struct fixture f;

	(void)unused;
	s.pages[0] = 400000 / 4 + 10; /* free */
	s.pages[3] = 30000 / 4;       /* shared */
	s.error[3] = 5;
	s.mapped[3] = 100;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &l);
	view_feed(&f, &s);
	view_report(&f);
	t = view_table_of(&f, "census");
	assert_cell_text(t, 0, "kind", "free");
	assert_int_equal(cell_at(t, 0, "difference_bytes")->s, 10 * 4096);
	assert_cell_text(t, 3, "kind", "shared");
	assert_int_equal(cell_number(t, 3, "ledger_bytes"), 30000 * KIB);
	assert_int_equal(cell_number(t, 3, "bytes_error_bytes"), 5 * 4096);
	assert_int_equal(cell_number(t, 3, "mapped_bytes"), 100 * 4096);
	assert_int_equal(cell_at(t, 0, "bytes_error_bytes")->type, CELL_EMPTY);
	assert_int_equal(f.report.notes.n, 1); /* a part of the pages */
	view_close(&f);
}

static void string_feed(struct fixture *f, u32 id, const char *text)
{
	_Alignas(8) char buf[128] = {};
	struct rec_string *r = (void *)buf;

	r->h = (struct rec){.kind = REC_STRING, .size = sizeof(buf)};
	r->id = id;
	r->length = (u32)strlen(text);
	strcpy(r->text, text);
	view_feed(f, r);
}

/* What caches and functions are for is said, and whose maps and rings these are. Who has less than
 * a hundredth of a row is not beside it. */
static void test_owners(void **unused)
{
	struct where_ledger l = ledger_of(meminfo, (struct where_numbers){});
	struct where_owner o = REC(struct where_owner, REC_WHERE_OWNER, .row = WHERE_SLAB,
		.bytes = 7 * MIB, .name = 1, .sample = 1);
	struct held_process p = REC(struct held_process, REC_HELD_PROCESS, .tgid = 7, .name = 4,
		.bpf_bytes = 5 * MIB, .mapped_bytes = 9 * MIB);
	const struct table *t;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	string_feed(&f, 1, "dentry");
	string_feed(&f, 2, "htab_map_alloc");
	string_feed(&f, 3, "server");
	string_feed(&f, 4, "agent");
	view_feed(&f, &l);
	view_feed(&f, &o);
	o.row = WHERE_VMALLOC;
	o.name = 2;
	o.bytes = 10 * KIB;
	view_feed(&f, &o);
	o.row = WHERE_ANON;
	o.name = 3;
	o.tgid = 4711;
	o.bytes = 90 * MIB;
	view_feed(&f, &o);
	view_feed(&f, &p);
	view_report(&f);
	t = view_table_of(&f, "owners");
	assert_int_equal(t->n_rows, 5);
	assert_cell_text(t, 0, "detail", "names of files");
	assert_cell_text(t, 1, "detail", "hash maps of BPF");
	assert_int_equal(cell_at(t, 2, "detail")->type, CELL_EMPTY);
	assert_cell_text(t, 3, "row", "rest");
	assert_cell_text(t, 3, "detail", "rings of packets, perf");
	assert_cell_text(t, 4, "row", "vmalloc");
	assert_cell_text(t, 4, "owner", "agent");
	t = view_table_of(&f, "ledger");
	assert_cell_text(t, row_of(t, "slab"), "mostly", "dentry 7.00 MiB");
	assert_cell_text(t, row_of(t, "anonymous"), "mostly", "server (pid 4711) 90.0 MiB");
	assert_int_equal(cell_at(t, row_of(t, "vmalloc"), "mostly")->type, CELL_EMPTY);
	assert_non_null(strstr(f.report.next.v[0], "memwhy where -p 4711"));
	view_close(&f);
}

/* Files and file systems; what of a row is in none of those; the groups that files keep. */
static void test_files(void **unused)
{
	struct where_ledger l = ledger_of(meminfo, (struct where_numbers){});
	struct where_file file = REC(struct where_file, REC_WHERE_FILE, .sample = 1,
		.row = WHERE_CACHE, .path = 1, .flags = INODES_OPEN | INODES_REMOVED,
		.bytes = 5 * MIB, .cgroup = 9, .cgroup_name = 2);
	struct where_file memfd =
		REC(struct where_file, REC_WHERE_FILE, .sample = 1, .row = WHERE_SHARED, .path = 3,
			.flags = INODES_OPEN | INODES_REMOVED, .bytes = 6 * MIB);
	struct where_mount mount = REC(struct where_mount, REC_WHERE_MOUNT, .sample = 1,
		.row = WHERE_CACHE, .mount = 4, .files = 7, .bytes = 8 * MIB, .partial = 1);
	struct where_removed gone = REC(struct where_removed, REC_WHERE_REMOVED, .sample = 1,
		.name = 2, .files = 3, .bytes = MIB, .path = 1);
	struct where_file old = memfd, wrong = memfd;
	const struct table *t;
	struct fixture f;

	(void)unused;
	old.sample = 0;
	wrong.row = WHERE_ROWS;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	string_feed(&f, 1, "/srv/index");
	string_feed(&f, 2, "job-17");
	string_feed(&f, 3, "memfd:buffer");
	string_feed(&f, 4, "/srv");
	view_feed(&f, &l);
	view_feed(&f, &old);
	view_feed(&f, &file);
	view_feed(&f, &memfd);
	view_feed(&f, &wrong);
	view_feed(&f, &mount);
	view_feed(&f, &gone);
	view_report(&f);
	t = view_table_of(&f, "files");
	assert_int_equal(t->n_rows, 2); /* of the last look, and of rows that there are */
	assert_cell_text(t, 0, "file", "/srv/index");
	assert_cell_text(t, 0, "state", "removed, open");
	assert_cell_text(t, 0, "cgroup", "job-17 (removed)");
	assert_cell_text(t, 1, "state", "open"); /* it never has a name */
	t = view_table_of(&f, "mounts");
	assert_cell_text(t, 0, "mount", "/srv");
	assert_cell_text(t, 0, "looked", "in part");
	assert_int_equal(cell_number(t, 0, "files"), 7);
	assert_cell_text(t, 1, "row", "page_cache");
	assert_int_equal(cell_at(t, 1, "bytes")->s, (s64)l.bytes[WHERE_CACHE] - 8 * (s64)MIB);
	t = view_table_of(&f, "removed_groups");
	assert_cell_text(t, 0, "removed_group", "job-17");
	assert_cell_text(t, 0, "file", "/srv/index");
	assert_int_equal(cell_number(t, 0, "files"), 3);
	view_close(&f);
}

static void test_dying(void **unused)
{
	struct where_ledger l = ledger_of(meminfo, (struct where_numbers){});
	struct cgroup_dying d = REC(struct cgroup_dying, REC_CGROUP_DYING, .version = 1,
		.dying = 1200, .first_dying = 1000, .alive = 30);
	const struct table *t;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &l);
	view_feed(&f, &d);
	view_report(&f);
	t = view_table_of(&f, "dying");
	assert_int_equal(cell_number(t, 0, "dying_groups"), 1200);
	assert_int_equal(cell_at(t, 0, "change_groups")->s, 200);
	assert_true(cell_number(t, 0, "kernel_bytes") >= 1200 * 11 * KIB);
	view_close(&f);
}

static void test_limits(void **unused)
{
	struct where_ledger l = group_of(2, MIB, 0, "anon 1048576\n");
	struct where_limit own = REC(struct where_limit, REC_WHERE_LIMIT, .cgroup = 5,
		.usage_bytes = MIB, .limit_bytes = 10 * MIB, .high_bytes = WHERE_NO_LIMIT);
	struct where_limit above = REC(struct where_limit, REC_WHERE_LIMIT, .cgroup = 4,
		.usage_bytes = 99 * MIB, .limit_bytes = WHERE_NO_LIMIT, .high_bytes = 100 * MIB);
	const struct table *t;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &l);
	view_feed(&f, &own);
	view_feed(&f, &above);
	view_report(&f);
	t = view_table_of(&f, "limits");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "headroom_bytes"), 9 * MIB);
	assert_int_equal(cell_number(t, 1, "headroom_bytes"), MIB);
	assert_int_equal(cell_at(t, 0, "nearest")->type, CELL_EMPTY);
	assert_cell_text(t, 1, "nearest", "yes");
	assert_int_equal(cell_at(t, 1, "limit_bytes")->type, CELL_EMPTY);
	view_close(&f);
}

/* Arenas of a process: blocks in caches are not live, and what is kept is worth a finding. */
static void test_arenas(void **unused)
{
	struct where_ledger l = REC(struct where_ledger, REC_WHERE_LEDGER, .scope = WHERE_PROCESS,
		.tgid = 7, .total_bytes = 100 * MIB);
	struct where_arena a = REC(struct where_arena, REC_WHERE_ARENA, .tgid = 7,
		.used_bytes = 30 * MIB, .fast_bytes = MIB, .cache_bytes = 2 * MIB,
		.kept_bytes = 40 * MIB, .trimmable_bytes = 40 * MIB, .system_bytes = 90 * MIB);
	const struct table *t;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &l);
	view_feed(&f, &a);
	view_feed(&f, &a); /* a later look replaces it */
	view_report(&f);
	t = view_table_of(&f, "arenas");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "live_bytes"), 27 * MIB);
	assert_int_equal(f.report.findings.n, 1);
	assert_string_equal(f.report.findings.v[0].rule, "allocator-keeps");
	view_again(&f);
	a.kept_bytes = MIB;
	view_feed(&f, &a);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	view_close(&f);
}

/* What a later look says replaces an earlier one; what is kept makes a finding, unless it is only
 * known by mappings. */
static void test_runtimes(void **unused)
{
	struct where_ledger l = REC(struct where_ledger, REC_WHERE_LEDGER, .scope = WHERE_PROCESS,
		.tgid = 7, .total_bytes = 100 * MIB);
	struct where_runtime a = REC(struct where_runtime, REC_WHERE_RUNTIME, .tgid = 7,
		.by = MANAGED_JEMALLOC, .known = 0xf, .decay_ms = 10000,
		.bytes = {90 * MIB, 80 * MIB, 30 * MIB, 40 * MIB});
	struct where_runtime b = REC(struct where_runtime, REC_WHERE_RUNTIME, .tgid = 7, .index = 1,
		.by = MANAGED_JAVA, .known = 1 << MANAGED_USED, .bytes[MANAGED_USED] = MIB);
	const struct table *t;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &l);
	for (u32 i = 0; i < 2; i++) {
		view_feed(&f, &a);
		view_feed(&f, &b);
	}
	view_report(&f);
	t = view_table_of(&f, "runtimes");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "committed_bytes"), 80 * MIB);
	assert_int_equal(cell_number(t, 0, "kept_bytes"), 40 * MIB);
	assert_string_equal(cell_at(t, 1, "runtime")->text, "java");
	assert_string_equal(cell_at(t, 1, "method")->text, "counter");
	assert_int_equal(cell_at(t, 1, "committed_bytes")->type, CELL_EMPTY);
	assert_int_equal(f.report.findings.n, 1);
	assert_non_null(strstr(f.report.findings.v[0].title, "50.0 MiB"));
	assert_non_null(strstr(f.report.findings.v[0].try_[0], "Give back 40.0 MiB now"));
	view_again(&f);
	/* free blocks on pages with live ones, where they are many */
	a.bytes[MANAGED_KEPT] = MIB;
	view_feed(&f, &a);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 1);
	assert_non_null(strstr(f.report.findings.v[0].try_[0], "No setting gives back"));
	view_again(&f);
	a.bytes[MANAGED_USED] = 55 * MIB;
	view_feed(&f, &a);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	view_again(&f);
	a.bytes[MANAGED_USED] = 30 * MIB;
	a.bytes[MANAGED_KEPT] = 40 * MIB;
	a.known |= WHERE_BY_MAPPINGS;
	view_feed(&f, &a);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	t = view_table_of(&f, "runtimes");
	assert_int_equal(t->n_rows, 1);
	assert_string_equal(cell_at(t, 0, "method")->text, "mappings");
	view_close(&f);
}

/* Six arenas that keep 10 MiB each: two of them would be filled again. */
static void test_predictions(void **unused)
{
	struct where_ledger l = REC(struct where_ledger, REC_WHERE_LEDGER, .scope = WHERE_PROCESS,
		.tgid = 7, .total_bytes = 100 * MIB);
	const struct finding *last;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	l.parts[WHERE_P_ANON_HUGE] = 60 * MIB;
	l.parts[WHERE_P_HUGE_UNUSED] = 50 * MIB;
	view_feed(&f, &l);
	for (u32 i = 0; i < 6; i++)
		view_feed(&f, &REC(struct where_arena, REC_WHERE_ARENA, .tgid = 7, .index = i,
				      .kept_bytes = (10 + i) * MIB));
	view_report(&f);
	assert_int_equal(f.report.findings.n, 2);
	assert_non_null(strstr(f.report.findings.v[0].try_[1], "save 46.0 MiB"));
	assert_string_equal(f.report.findings.v[1].rule, "huge-unused");
	assert_non_null(strstr(f.report.findings.v[1].try_[0], "50.0 MiB less"));
	assert_null(strstr(f.report.findings.v[1].try_[0], "give or take"));
	assert_memory_equal(f.report.findings.v[1].confidence, "medium", 6);
	view_again(&f);
	l.parts[WHERE_P_HUGE_ERROR] = 3 * MIB;
	l.parts[WHERE_P_HUGE_GUESS] = 1;
	view_feed(&f, &l);
	view_report(&f);
	last = &f.report.findings.v[f.report.findings.n - 1];
	assert_non_null(strstr(last->evidence[0], "give or take 3.00 MiB"));
	assert_memory_equal(last->confidence, "low", 3);
	view_close(&f);
}

/* One page in 64 is looked at, and only half of the time. */
static void test_evictions(void **unused)
{
	const struct table *t;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &REC(struct rec_host, REC_HOST, .page_bytes = 4096));
	view_feed(&f, &REC(struct where_ledger, REC_WHERE_LEDGER, .total_bytes = MIB));
	view_feed(&f, &REC(struct cache_agg, REC_CACHE_AGG, .tgid = 7, .count = 30));
	view_feed(&f, &REC(struct cache_agg, REC_CACHE_AGG, .tgid = 7, .count = 10, .evictor = 9,
			      .flags = CACHE_REFAULT, .total_ns = 500));
	view_feed(&f, &REC(struct cache_agg, REC_CACHE_AGG, .tgid = 7, .count = 5, .evictor = 9,
			      .flags = CACHE_REFAULT | CACHE_BY_KSWAPD, .file_lost = 3));
	view_feed(&f, &REC(struct cache_file, REC_CACHE_FILE, .tgid = 7, .evictor = 9, .count = 4));
	view_feed(&f, &REC(struct cache_file, REC_CACHE_FILE, .tgid = 7, .evictor = 9, .count = 3));
	view_feed(&f, &REC(struct cache_file, REC_CACHE_FILE, .tgid = 7, .count = 2));
	view_feed(&f, &REC(struct cache_sampled, REC_CACHE_SAMPLED, .on_ns = 5, .covered_ns = 10));
	view_report(&f);
	assert_int_equal(f.report.notes.n, 1);
	assert_non_null(strstr(f.report.notes.v[0], "leaves out 1.50 MiB"));
	t = view_table_of(&f, "evicted_files");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_int_equal(cell_number(t, 0, "read_back_bytes"), 7 * 64 * 2 * 4096);
	assert_string_equal(cell_at(t, 1, "evictor")->text, "kswapd");
	assert_int_equal(cell_at(t, 1, "file")->type, CELL_EMPTY);
	t = view_table_of(&f, "evictions");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_int_equal(cell_number(t, 0, "evictor_pid"), 9);
	assert_int_equal(cell_number(t, 0, "read_back_bytes"), 10 * 64 * 2 * 4096);
	assert_int_equal(cell_number(t, 0, "after_ns"), 50);
	assert_string_equal(cell_at(t, 1, "evictor")->text, "kswapd");
	assert_int_equal(cell_at(t, 1, "evictor_pid")->type, CELL_EMPTY);
	view_close(&f);
}

/* A look that was cut short knows less than what there is. */
static void test_pipes_cut(void **unused)
{
	struct where_ledger l = ledger_of(meminfo, (struct where_numbers){});
	struct held_totals held =
		REC(struct held_totals, REC_HELD_TOTALS, .pipe_bytes = 3 * MIB, .cut = 1);
	const struct table *t;
	struct fixture f;

	(void)unused;
	view_open(&f, &where_view, &(struct view_options){}, "where");
	view_feed(&f, &l);
	view_feed(&f, &held);
	view_report(&f);
	t = view_table_of(&f, "ledger");
	for (size_t i = 0; i < t->n_rows; i++)
		assert_string_not_equal(cell_at(t, i, "row")->text, "pipes");
	view_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_estimate),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_group_2),
		cmocka_unit_test(test_group_1),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_arenas),
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test(test_predictions),
		cmocka_unit_test(test_evictions),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_census),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_dying),
		cmocka_unit_test(test_pipes_cut),
	};

	return cmocka_run_group_tests_name("where_view", tests, NULL, NULL);
}
