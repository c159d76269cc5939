/* What the kernel keeps and what grows is told by when it hurts; what fills a group by the group.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/faults/faults.h"
#include "probes/holders/holders.h"
#include "probes/lookups/lookups.h"
#include "rules/facts.h"
#include "rules/rules.h"
#include "rules/rules_fixture.h"
#include "sys/process/fdlink.h"

static void unread(struct bench *b, u64 seconds, u64 bytes)
{
	struct held_process r = {
		.h = {sizeof(r), REC_HELD_PROCESS, 0, seconds * NSEC_PER_SEC},
		.tgid = 9,
		.name = 1,
		.unread_bytes = bytes,
		.sockets = 9,
	};

	put(b, &r);
}

static void sockets(struct bench *b, u64 first, u64 last)
{
	begin(b, &rule_kernel_memory, 10);
	string(b, 1, "server");
	value(b, SYSTEM_MEMINFO, "MemAvailable", 10240 * MIB, NULL);
	unread(b, 1, first);
	unread(b, 9, last);
}

static void test_when_it_hurts(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	/* 40 MiB a second of 10 GiB */
	sockets(&b, 180 * MIB, 500 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_true(says(f->evidence, "grows by 40.0 MiB a second: at this rate available memory "
				      "(10.0 GiB) lasts 4 minutes"));
	end(&b);
	/* As much, but not growing; or by too little to be judged. */
	sockets(&b, 200 * MIB, 200 * MIB);
	assert_int_equal(only(&b)->level, LEVEL_NOTE);
	end(&b);
	sockets(&b, 180 * MIB, 200 * MIB);
	assert_int_equal(only(&b)->level, LEVEL_NOTE);
	end(&b);
	/* What nobody can mean to have is a risk from 3 % on. */
	sockets(&b, 500 * MIB, 500 * MIB);
	assert_int_equal(only(&b)->level, LEVEL_RISK);
	end(&b);
	/* Growing, but next to nothing yet. */
	sockets(&b, 0, 40 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

/* The same of what is a note by its size alone. */
static void test_other_growth(void **unused)
{
	struct bench b;

	(void)unused;
	for (u64 grown = 0; grown <= 300; grown += 300) {
		const int level = grown ? LEVEL_RISK : LEVEL_NOTE;

		for (u32 of = 0; of < 3; of++) { /* BPF maps, pinned, locked */
			begin(&b, of ? &rule_set_aside : &rule_kernel_memory, 1);
			value(&b, SYSTEM_MEMINFO, "MemAvailable", 10240 * MIB, NULL);
			for (u64 s = 1; s <= 9; s += 8) {
				u64 bytes = (s == 1 ? 400 - grown : 400) * MIB;
				struct held_process r = {
					.h = {sizeof(r), REC_HELD_PROCESS, 0, s * NSEC_PER_SEC},
					.tgid = 9,
					.rss_bytes = 800 * MIB};

				*(of == 0         ? &r.bpf_bytes
					: of == 1 ? &r.pinned_bytes
						  : &r.locked_bytes) = bytes;
				put(&b, &r);
			}
			assert_int_equal(only(&b)->level, level);
			end(&b);
		}
		begin(&b, &rule_hidden_memory, 1);
		value(&b, SYSTEM_MEMINFO, "MemAvailable", 10240 * MIB, NULL);
		for (u64 s = 1; s <= 9; s += 8) {
			struct held_queues q = {
				.h = {sizeof(q), REC_HELD_QUEUES, 0, s * NSEC_PER_SEC},
				.queues = 9,
				.bytes = (s == 1 ? 200 - grown / 2 : 200) * MIB};

			put(&b, &q);
		}
		assert_int_equal(only(&b)->level, level);
		end(&b);
	}
}

/* TCP has a limit of its own, which comes first. */
/* The maps of another look come with it, and go. */
static void test_maps_of_another_look(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_kernel_memory, 1);
	value(&b, SYSTEM_MEMINFO, "MemAvailable", 10240 * MIB, NULL);
	PUT(&b, struct rec_task, REC_TASK, .tgid = 9, .comm = "memwhy");
	for (u64 s = 1; s <= 9; s += 8) {
		struct held_process r = {.h = {sizeof(r), REC_HELD_PROCESS, 0, s * NSEC_PER_SEC},
			.tgid = 9,
			.rss_bytes = 800 * MIB,
			.bpf_bytes = (s == 1 ? 100 : 400) * MIB};

		put(&b, &r);
	}
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void test_tcp(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	sockets(&b, 180 * MIB, 500 * MIB);
	value(&b, SYSTEM_COUNT, "tcp/mem", 200 * MIB, NULL);
	value(&b, SYSTEM_COUNT, "tcp/mem", 520 * MIB, NULL);
	value(&b, SYSTEM_COUNT, "tcp/mem_pressure", 1520 * MIB, NULL);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_true(says(f->evidence, "under pressure in 25 seconds (net.ipv4.tcp_mem: 1.48 GiB)"));
	end(&b);
}

static void test_dentries(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_negative_dentries, 10);
	value(&b, SYSTEM_MEMINFO, "MemAvailable", 10240 * MIB, NULL);
	value(&b, SYSTEM_COUNT, "dentry/negative", 1000000, NULL);
	value(&b, SYSTEM_COUNT, "dentry/negative", 2200000, NULL);
	assert_int_equal(only(&b)->level, LEVEL_RISK);
	end(&b);
}

/* What is little for the machine may be most of what a small group may have: told where that group
 * hits its limit, by who locked it or where the files are. */
static void test_small_group(void **unused)
{
	(void)unused;
	for (u64 hits = 0; hits <= 90; hits += 90) {
		for (int locked = 0; locked < 2; locked++) {
			struct bench b;

			begin(&b, locked ? &rule_set_aside : &rule_hidden_memory, 1);
			named(&b, 42, "/shop");
			PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS,
				.cgroup = 42, .usage_bytes = 60 * MIB, .limit_bytes = 60 * MIB,
				.shmem_bytes = locked ? 0 : 40 * MIB,
				.locked_bytes = locked ? 40 * MIB : 0, .limit_hit_total = hits);
			PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .cgroup = 42,
				.locked_bytes = locked ? 40 * MIB : 0, .rss_bytes = 50 * MIB);
			PUT(&b, struct held_files, REC_HELD_FILES, .mount = 2,
				.used_bytes = 40 * MIB, .found_bytes = 40 * MIB, .files = 4);
			if (!hits) {
				assert_int_equal(conclude(&b), 0);
			} else {
				const struct finding *f = only(&b);

				assert_int_equal(f->level, locked ? LEVEL_NOTE : LEVEL_RISK);
				assert_int_equal(f->cgroup, 42);
				assert_non_null(strstr(f->title, "67 % of the limit of cgroup"));
			}
			end(&b);
		}
	}
}

/* Segments that fill a group are told by its limit, and many of them have one command. */
static void test_group(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	named(&b, 42, "/shop");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS, .cgroup = 42,
		.usage_bytes = 1000 * MIB, .limit_bytes = 1000 * MIB, .shmem_bytes = 900 * MIB);
	for (u64 id = 1; id <= 9; id++)
		PUT(&b, struct held_segment, REC_HELD_SEGMENT, .id = id,
			.resident_bytes = 100 * MIB, .size_bytes = 100 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "hold 900 MiB, 90 % of the limit of cgroup /shop"));
	assert_int_equal(f->cgroup, 42);
	assert_int_equal(f->losses, LOSS_GROUP);
	assert_true(says(f->try_, "`ipcrm -m 1 -m 2 -m 3 -m 4 -m 5 -m 6 -m 7 -m 8 -m 9`"));
	end(&b);
}

/* Segments that somebody makes and leaves: when memory is used up, not how much it is now. */
static void test_segments_grow(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (u64 grows = 0; grows <= 1; grows++) {
		begin(&b, &rule_hidden_memory, 10);
		value(&b, SYSTEM_MEMINFO, "MemAvailable", 10240 * MIB, NULL);
		for (u64 look = 0; look < 2; look++) {
			u64 at = (1 + 10 * look) * NSEC_PER_SEC;

			for (u64 id = 0; id < 20 + 20 * look * grows; id++)
				PUT_AT(&b, at, struct held_segment, REC_HELD_SEGMENT, .id = id,
					.resident_bytes = 10 * MIB, .creator_tgid = 1000 + (u32)id,
					.idle_ns = id < 20 ? 60 * NSEC_PER_SEC : NSEC_PER_SEC);
			PUT_AT(&b, at, struct held_segment, REC_HELD_SEGMENT, .id = 99,
				.resident_bytes = (100 + 500 * look) * MIB, .attached = 1);
			PUT_AT(&b, at, struct held_totals, REC_HELD_TOTALS, .processes = 50);
		}
		for (u32 id = 18; id < 40; id++) /* who made the older ones may be another */
			PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 1000 + id, .count = 99,
				.comm = "importer");
		PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 1030, .count = 99,
			.comm = "sh"); /* seen before exec() */
		f = only(&b);
		assert_int_equal(f->level, grows ? LEVEL_RISK : LEVEL_NOTE);
		assert_int_equal(
			!!strstr(f->title, ", and 20.0 MiB more a second, made by importer"),
			grows);
		assert_int_equal(
			says(f->evidence, "at least 19 of them were made since the look began"),
			grows);
		assert_int_equal(says(f->evidence, "(10.0 GiB) lasts 9 minutes"), grows);
		assert_int_equal(says(f->try_, "memwhy maps --like shmsnoop"), grows);
		end(&b);
	}
}

/* Ever more mappings: of what kind they are follows from their guards, where most have one. */
static void test_mappings(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (u32 threads = 1; threads <= 3000; threads += 2999) {
		begin(&b, &rule_kernel_memory, 10);
		string(&b, 1, "server");
		value(&b, SYSTEM_SYSCTL, "vm.max_map_count", 65530, NULL);
		for (u64 look = 0; look < 2; look++)
			PUT_AT(&b, (1 + 9 * look) * NSEC_PER_SEC, struct held_process,
				REC_HELD_PROCESS, .tgid = 9, .name = 1, .threads = threads,
				.vm_bytes = (1000 + 100 * look) * MIB, .mappings = look * 6000,
				.guarded = look * 3000);
		PUT(&b, struct slab_usage, REC_SLAB_CACHE, .name = "vm_area_struct",
			.first_active_objects = 10000, .active_objects = 12000);
		assert_int_equal(conclude(&b), threads > 1 ? 2 : 1); /* these too are many */
		f = &b.report.findings.v[threads > 1];
		assert_string_equal(f->rule, "mappings-leaked");
		assert_int_equal(
			!!strstr(f->title, "6000 mappings, most of them stacks of ended threads"),
			threads == 1);
		assert_int_equal(says(f->try_, "pthread_join"), threads == 1);
		assert_int_equal(says(f->try_, "uniq -c"), threads > 1);
		assert_true(says(f->try_, "memwhy maps --stacks=user --for 30s -p 9"));
		end(&b);
	}
}

/* Others map: its own address space has no room for so many more. */
static void test_mappings_of_others(void **unused)
{
	struct bench b;

	(void)unused;
	for (u64 kib = 24; kib <= 2400; kib *= 100) {
		bool room = kib > 24;

		begin(&b, &rule_kernel_memory, 10);
		string(&b, 1, "server");
		value(&b, SYSTEM_SYSCTL, "vm.max_map_count", 65530, NULL);
		for (u64 look = 0; look < 2; look++)
			PUT_AT(&b, (1 + 9 * look) * NSEC_PER_SEC, struct held_process,
				REC_HELD_PROCESS, .tgid = 9, .name = 1, .threads = 1,
				.vm_bytes = 1000 * MIB + look * kib * 1024,
				.mappings = look * 15129);
		PUT(&b, struct slab_usage, REC_SLAB_CACHE, .name = "vm_area_struct",
			.first_active_objects = 10000, .active_objects = 40000);
		assert_int_equal(conclude(&b), room);
		assert_true(
			!room || strstr(b.report.findings.v[0].title, "about 60 more a second"));
		end(&b);
	}
}

/* A limit on locked memory is advised where one binds, and put back as it was. */
static void test_locked(void **unused)
{
	static const u64 limits[] = {0, UINT64_MAX, 800 * MIB}; /* 0: an older recording */
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		bool binds = limits[i] == 800 * MIB;

		begin(&b, &rule_set_aside, 1);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .locked_bytes = 500 * MIB,
			.rss_bytes = 600 * MIB, .memlock_bytes = limits[i]);
		f = only(&b);
		assert_int_equal(says(f->try_, "`prlimit --pid 9 --memlock=524288000:`"), binds);
		assert_int_equal(says(f->undo, "`prlimit --pid 9 --memlock=838860800:`"), binds);
		end(&b);
	}
}

/* A pool that nobody uses at all is told louder than the spare part of one in use. */
static void test_pool(void **unused)
{
	struct bench b;

	(void)unused;
	for (u64 used = 0; used <= 100; used += 100) {
		begin(&b, &rule_set_aside, 1);
		value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 300 + used, NULL);
		value(&b, SYSTEM_COUNT, "hugepages/2M/free", 300, NULL);
		assert_int_equal(only(&b)->level, used ? LEVEL_NOTE : LEVEL_RISK);
		end(&b);
	}
}

/* Many processes that map the same memory: their tables are as large as their own memory. */
static void test_tables_of_children(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (u64 own = 5; own <= 500; own *= 100) {
		begin(&b, &rule_kernel_memory, 1);
		string(&b, 1, "server");
		PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 9, .name = 1,
			.children = 80, .threads = 80, .page_table_bytes = 400 * MIB,
			.rss_bytes = 80 * 2048 * MIB, .anon_bytes = 80 * own * MIB,
			.most_shared_bytes = 2048 * MIB);
		if (own == 5) {
			f = only(&b);
			assert_int_equal(f->level, LEVEL_RISK);
			assert_non_null(strstr(f->title, "Page tables of the 80 children of server "
							 "(pid 9) take 400 MiB, 4.9 %"));
			assert_true(says(f->evidence, "each has 5.00 MiB of page tables"));
		} else {
			assert_int_equal(conclude(&b), 0);
		}
		end(&b);
	}
}

/* One that has ended has no kernel stack. */
static void test_zombies(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_kernel_memory, 1);
	PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 9, .children = 5120,
		.zombies = 5120, .threads = 5120);
	assert_non_null(strstr(only(&b)->title, "about 50.0 MiB of kernel structures"));
	end(&b);
}

/* Version 1, without an OOM killer: nothing moves, and no counter says so. */
static void test_hangs(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_cgroup_limit, 1);
	named(&b, 42, "/shop");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS | CGROUP_HANGS,
		.cgroup = 42, .version = 1, .usage_bytes = 100 * MIB, .limit_bytes = 100 * MIB,
		.anon_bytes = 99 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_CRITICAL);
	assert_non_null(
		strstr(f->title, "Tasks of cgroup /shop hang: its memory limit of 100 MiB"));
	assert_true(says(f->try_, "`echo 157286400 > "));
	assert_true(says(f->undo, "`echo 1 > "));
	end(&b);
	/* the kernel calls groups below it under_oom, too */
	begin(&b, &rule_cgroup_limit, 1);
	named(&b, 43, "/shop/small");
	PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS | CGROUP_HANGS,
		.cgroup = 43, .version = 1, .usage_bytes = 10 * MIB, .limit_bytes = 100 * MIB,
		.anon_bytes = 9 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

/* Files in a hugetlbfs that nobody maps: pages in use less those that processes have. */
static void test_pool_files(void **unused)
{
	struct bench b;

	(void)unused;
	for (u64 mapped = 0; mapped <= 600; mapped += 600) {
		begin(&b, &rule_set_aside, 1);
		value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 310, NULL);
		value(&b, SYSTEM_COUNT, "hugepages/2M/free", 10, NULL);
		PUT(&b, struct held_totals, REC_HELD_TOTALS, .processes = 50,
			.hugetlb_bytes = mapped * MIB);
		if (mapped)
			assert_int_equal(conclude(&b), 0);
		else
			assert_non_null(
				strstr(only(&b)->title, "600 MiB of huge pages are in use"));
		end(&b);
	}
}

static void test_unevictable(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_set_aside, 1);
	value(&b, SYSTEM_MEMINFO, "Unevictable", 930 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "Mlocked", 30 * MIB, NULL);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE); /* a GPU's buffers are no trouble */
	assert_non_null(strstr(f->title, "900 MiB cannot be reclaimed and is not locked by mlock"));
	end(&b);
}

/* A container's /dev/shm is reached through one of its processes. */
static void test_elsewhere(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/proc/7/root/dev/shm");
	PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .used_bytes = 900 * MIB,
		.limit_bytes = 4096 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "Files in /dev/shm in the mount namespace of victim "
					 "(pid 7) (tmpfs) hold 900 MiB"));
	assert_true(says(f->try_, "`nsenter -t 7 -m mount -o remount,size=1152000k /dev/shm`"));
	assert_true(says(f->undo, "`nsenter -t 7 -m mount -o remount,size=4194304k /dev/shm`"));
	assert_true(says(f->verify, "`nsenter -t 7 -m df -k /dev/shm`"));
	end(&b);
}

/* Who removes names that do not come again leaves as much behind as who looks for them in vain. */
static void test_removed_names(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_negative_dentries, 10);
	value(&b, SYSTEM_COUNT, "dentry/negative", 1000000, NULL);
	value(&b, SYSTEM_COUNT, "dentry/negative", 1020000, NULL);
	PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .tgid = 7, .count = 900, .removed = 890);
	PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .tgid = 8, .count = 90000,
		.directory = "/proc/77/fd");
	assert_non_null(strstr(only(&b)->title,
		"victim (pid 7) creates and removes files with ever new names: the kernel keeps"));
	end(&b);
}

static void zombies(struct bench *b, u64 second, u64 n, u64 room)
{
	PUT_AT(b, second * NSEC_PER_SEC, struct held_children, REC_HELD_CHILDREN, .tgid = 9,
		.name = 1, .child = 1, .children = n + 2, .zombies = n, .threads = n + 2,
		.room = room, .limit = 2);
}

/* Who does not wait for what it starts: by when nobody can start anything. */
static void test_zombies_soon(void **unused)
{
	static const struct {
		u64 last, room;
		int level;
	} told[] = {{1300, 30000, LEVEL_WARNING}, {1300, 200000, LEVEL_RISK}, {1300, 4000000, -1},
		{310, 30000, -1}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_kernel_memory, 1);
		string(&b, 1, "supervisor");
		string(&b, 2, "kernel.pid_max");
		zombies(&b, 1, 300, told[i].room);
		zombies(&b, 11, told[i].last, told[i].room);
		assert_int_equal(conclude(&b), told[i].level >= 0);
		if (told[i].level >= 0) {
			f = &b.report.findings.v[0];
			assert_int_equal(f->level, told[i].level);
			assert_int_equal(f->tgid, 9);
			assert_non_null(strstr(f->title,
				"supervisor (pid 9) does not wait for children that end: 1300 are "
				"kept (zombies), 100 more a second, and kernel.pid_max is"));
		}
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zombies_soon),
		cmocka_unit_test(test_when_it_hurts),
		cmocka_unit_test(test_other_growth),
		cmocka_unit_test(test_maps_of_another_look),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_dentries),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_small_group),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_mappings_of_others),
		cmocka_unit_test(test_segments_grow),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_tables_of_children),
		cmocka_unit_test(test_zombies),
		cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_pool_files),
		cmocka_unit_test(test_unevictable),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_removed_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
