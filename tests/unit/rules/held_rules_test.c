/* The rules on memory that no process shows, on synthetic records: who is named, and who is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/cache/cache.h"
#include "probes/holders/holders.h"
#include "probes/lookups/lookups.h"
#include "probes/maps/maps.h"
#include "probes/oom/oom.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "rules/rules.h"
#include "rules/rules_fixture.h"
#include "sys/memory/zram.h"
#include "sys/process/fdlink.h"

static void test_tmpfs(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/dev/shm");
	string(&b, 2, "/dev/shm/spool");
	string(&b, 3, "worker");
	PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .directory = 2,
		.used_bytes = 900 * MIB, .limit_bytes = 4096 * MIB, .first_used_bytes = 800 * MIB,
		.files = 12, .found_bytes = 900 * MIB, .directory_bytes = 890 * MIB,
		.directory_files = 11, .opener = 3, .opener_tgid = 77, .opener_files = 4);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "/dev/shm/spool (tmpfs) hold 890 MiB"));
	assert_true(says(f->evidence, "worker (pid 77) has 4 files"));
	assert_true(says(f->evidence, "grew by 100 MiB"));
	/* Others would fail there, too: no limit for what all share. */
	assert_true(says(f->try_, "Many programs share /dev/shm"));
	assert_false(says(f->try_, "remount"));
	assert_false(says(f->undo, "remount"));
	end(&b);

	/* A group that is full of as much is full of these. */
	for (u64 shmem = 400; shmem <= 900; shmem += 500) {
		begin(&b, &rule_hidden_memory, 1);
		string(&b, 1, "/dev/shm");
		PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .used_bytes = 920 * MIB);
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS,
			.cgroup = 42, .usage_bytes = 1000 * MIB, .limit_bytes = 1000 * MIB,
			.shmem_bytes = shmem * MIB, .anon_bytes = 50 * MIB);
		assert_int_equal(only(&b)->cgroup, shmem == 900 ? 42 : 0);
		end(&b);
	}

	/* Little of the machine's memory, and most of what a group may have: of a file that nobody
	 * has open. */
	for (u64 limit = 400; limit <= 800; limit += 400) {
		for (u32 opener = 0; opener <= 3; opener += 3) {
			bool most = limit == 400;

			begin(&b, &rule_hidden_memory, 1);
			string(&b, 1, "/dev/shm");
			string(&b, 3, "worker");
			group(&b, 42, "/billing");
			PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1,
				.used_bytes = 310 * MIB, .opener = opener);
			PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY, .h.flags = CGROUP_HAS_PARTS,
				.cgroup = 42, .usage_bytes = 345 * MIB, .limit_bytes = limit * MIB,
				.shmem_bytes = 310 * MIB, .anon_bytes = 30 * MIB);
			f = only(&b);
			assert_int_equal(f->level, most && !opener ? LEVEL_RISK : LEVEL_NOTE);
			assert_int_equal(
				!!strstr(f->title, "78 % of the limit of cgroup /billing"), most);
			end(&b);
		}
	}

	/* Of processes that were not looked at nothing is said. */
	for (u32 cut = 0; cut < 2; cut++) {
		begin(&b, &rule_hidden_memory, 1);
		string(&b, 1, "/dev/shm");
		PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .used_bytes = 900 * MIB);
		PUT(&b, struct held_totals, REC_HELD_TOTALS, .processes = 80, .cut = cut);
		f = only(&b);
		assert_int_equal(says(f->evidence, "no process has its files open"), !cut);
		assert_int_equal(
			says(f->evidence, "no process that was looked at has its files open"), cut);
		end(&b);
	}

	/* Little of it is nothing. */
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/run");
	PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .used_bytes = 40 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

/* One that is seen through another process than at first is still one. */
static void test_tmpfs_seen_anew(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/proc/70/root/dev/shm");
	string(&b, 2, "/proc/80/root/dev/shm");
	for (u32 i = 1; i <= 2; i++)
		PUT(&b, struct held_files, REC_HELD_FILES, .mount = i, .device = 45,
			.used_bytes = 900 * MIB, .found_bytes = 900 * MIB);
	assert_non_null(strstr(only(&b)->title, "(pid 80) (tmpfs) hold 900 MiB"));
	end(&b);
}

/* What only the first look saw is not told at the end. */
static void test_gone_by_the_end(void **unused)
{
	struct bench b;

	(void)unused;
	for (u64 seconds = 0; seconds <= 10; seconds += 10) {
		begin(&b, &rule_hidden_memory, 1);
		string(&b, 1, "/dev/zram0");
		PUT(&b, struct held_trace, REC_HELD_TRACE, .bytes = 900 * MIB);
		PUT(&b, struct held_segment, REC_HELD_SEGMENT, .id = 5,
			.resident_bytes = 900 * MIB);
		PUT(&b, struct held_disk, REC_HELD_DISK, .device = 1, .memory_bytes = 900 * MIB);
		PUT(&b, struct held_queues, REC_HELD_QUEUES, .queues = 1, .bytes = 900 * MIB);
		PUT_AT(&b, (1 + seconds) * NSEC_PER_SEC, struct held_totals, REC_HELD_TOTALS,
			.processes = 50);
		assert_int_equal(conclude(&b), seconds ? 0 : 4);
		end(&b);
	}
}

static void test_segments(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	PUT(&b, struct held_segment, REC_HELD_SEGMENT, .id = 5, .resident_bytes = 300 * MIB,
		.size_bytes = 300 * MIB, .creator_tgid = 4711);
	PUT(&b, struct held_segment, REC_HELD_SEGMENT, .id = 6, .resident_bytes = 700 * MIB,
		.size_bytes = 700 * MIB, .attached = 3);
	f = only(&b);
	assert_non_null(strstr(f->title, "1 System V shared memory segment that no process has "
					 "attached holds 300 MiB"));
	assert_true(says(f->try_, "ipcrm -m 5"));
	assert_false(says(f->try_, "ipcrm -m 6"));
	end(&b);

	/* A creator that lives on may attach his own again: not in the command, unless all do. */
	for (u64 living = 1; living <= 2; living++) {
		begin(&b, &rule_hidden_memory, 1);
		string(&b, 1, "server");
		for (u64 id = 5; id < 7; id++)
			PUT(&b, struct held_segment, REC_HELD_SEGMENT, .id = id,
				.resident_bytes = 300 * MIB, .size_bytes = 300 * MIB,
				.creator_tgid = (u32)id, .creator = id - 4 <= living);
		f = only(&b);
		assert_true(says(f->try_, living == 1 ? "`ipcrm -m 6`" : "`ipcrm -m 5 -m 6`"));
		assert_true(says(f->try_, living == 1 ? "the creators of 1 more still run"
						      : "Their creators still run"));
		end(&b);
	}
}

/* What is mapped shows in the process: that is no hidden memory. */
/* Attached, and filled by who has detached it again: in no process's resident memory. */
static void test_segments_attached(void **unused)
{
	(void)unused;
	for (u64 resident = 20; resident <= 700; resident += 680) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_hidden_memory, 1);
		string(&b, 1, "daemon");
		PUT(&b, struct held_segment, REC_HELD_SEGMENT, .id = 5, .attached = 1,
			.resident_bytes = 400 * MIB, .creator = 1, .creator_tgid = 7, .removed = 1);
		PUT(&b, struct held_segment, REC_HELD_SEGMENT, .id = 6, .attached = 2,
			.resident_bytes = 300 * MIB);
		PUT(&b, struct held_totals, REC_HELD_TOTALS, .processes = 80, .shown_bytes = 1,
			.resident_shmem_bytes = resident * MIB);
		if (resident == 20) {
			f = only(&b);
			assert_int_equal(f->level, LEVEL_NOTE);
			assert_string_equal(f->title,
				"2 attached System V shared memory segments hold 700 MiB, of which "
				"at least 680 MiB is in no process's resident memory; the largest "
				"was made by daemon (pid 7)");
			assert_true(says(f->evidence, "removed: it goes when nobody has it"));
		} else {
			assert_int_equal(conclude(&b), 0);
		}
		end(&b);
	}
}

static void test_memfd(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "compositor");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.memfd_bytes = 500 * MIB, .shmem_bytes = 10 * MIB, .kinds[FD_DELETED] = 20,
		.unnamed_most_bytes = 90 * MIB, .unnamed_most = 2);
	string(&b, 2, "/run/spool/7 (deleted)");
	assert_non_null(strstr(only(&b)->title, "compositor (pid 9) keeps 500 MiB"));
	assert_true(says(b.report.findings.v[0].evidence, "90.0 MiB, is /run/spool/7 (deleted)"));
	end(&b);
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "compositor");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.memfd_bytes = 500 * MIB, .shmem_bytes = 490 * MIB, .kinds[FD_MEMFD] = 20);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

/* Empty files take no blocks, but their inodes do. */
static void test_inodes(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/dev/shm");
	string(&b, 2, "/dev/shm/sessions");
	PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .directory = 2, .inodes = 2000000,
		.first_inodes = 1900000, .files = 900000, .partial = 1, .directory_files = 890000);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_string_equal(f->rule, "tmpfs-inodes");
	assert_non_null(strstr(f->title, "in /dev/shm/sessions (tmpfs)"));
	assert_true(says(f->evidence, "100000 more"));
	end(&b);
}

static void test_queues(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "producer");
	PUT(&b, struct held_queues, REC_HELD_QUEUES, .queues = 2000, .messages = 100000,
		.bytes = 900 * MIB, .id = 5, .id_bytes = MIB, .sender_tgid = 9, .sender = 1);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_int_equal(f->tgid, 9);
	assert_non_null(strstr(f->title, "producer (pid 9) sends to the fullest"));
	assert_true(says(f->evidence, "no message was ever received"));
	assert_true(says(f->try_, "ipcrm -q 5"));
	end(&b);
}

/* Of thousands of queues those of one sender are told together, and removed so. */
static void test_queues_of_one(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "producer");
	string(&b, 2, "batch");
	PUT(&b, struct held_queues, REC_HELD_QUEUES, .queues = 2000, .messages = 100000,
		.bytes = 900 * MIB, .id = 5, .id_bytes = MIB, .sender_tgid = 9, .sender = 1,
		.most_tgid = 12, .most = 2, .most_queues = 1900, .most_bytes = 850 * MIB,
		.most_uid = 33);
	f = only(&b);
	assert_int_equal(f->tgid, 12);
	assert_non_null(strstr(
		f->title, "batch (pid 12) was the last to send to 1900 of them, which have 850"));
	assert_true(says(f->try_,
		"`awk '$5 > 0 && $6 == 12 { print $2 }' /proc/sysvipc/msg | xargs -rn1 ipcrm -q`"));
	end(&b);

	/* Senders in another namespace have no number here. */
	begin(&b, &rule_hidden_memory, 1);
	PUT(&b, struct held_queues, REC_HELD_QUEUES, .queues = 2000, .messages = 100000,
		.bytes = 900 * MIB, .id = 5, .id_bytes = MIB, .most_queues = 1900,
		.most_bytes = 850 * MIB, .most_uid = 33);
	f = only(&b);
	assert_non_null(strstr(f->title, "a process of user 33"));
	assert_true(says(f->try_, "$8 == 33 { print $2 }"));
	end(&b);
}

/* A disk in memory is named, with what it is used for. */
static void test_disk(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/dev/zram0");
	string(&b, 2, "/var/scratch");
	PUT(&b, struct held_disk, REC_HELD_DISK, .device = 1, .on = 2, .use = ZRAM_MOUNTED,
		.memory_bytes = 900 * MIB, .data_bytes = 1000 * MIB, .size_bytes = 2000 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "/dev/zram0, mounted on /var/scratch holds 900 MiB"));
	assert_true(says(f->evidence, "up to 2000 MiB"));
	assert_true(says(f->try_, "fstrim -v /var/scratch"));
	end(&b);

	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/dev/zram1");
	PUT(&b, struct held_disk, REC_HELD_DISK, .device = 1, .use = ZRAM_RAW,
		.memory_bytes = 900 * MIB, .data_bytes = 1000 * MIB, .size_bytes = 2000 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "The zram disk /dev/zram1 holds"));
	assert_true(says(f->try_, "zramctl -r /dev/zram1"));
	end(&b);

	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/dev/zram1");
	PUT(&b, struct held_disk, REC_HELD_DISK, .device = 1, .memory_bytes = MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void test_trace_buffers(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "soak $(x)");
	string(&b, 2, "/sys/kernel/tracing/instances/soak $(x)");
	PUT(&b, struct held_trace, REC_HELD_TRACE, .instance = 1, .directory = 2,
		.bytes = 900 * MIB, .cpu_bytes = 450 * MIB, .on = 1);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(
		strstr(f->title, "The buffer of the tracing instance soak $(x) holds 900 MiB"));
	assert_true(says(f->try_, "rmdir '/sys/kernel/tracing/instances/soak $(x)'"));
	assert_true(says(
		f->undo, "echo 460800 > '/sys/kernel/tracing/instances/soak $(x)'/buffer_size_kb"));
	assert_false(says(f->try_, "mount -t tracefs"));
	end(&b);

	begin(&b, &rule_hidden_memory, 1); /* that of tracefs, which is not mounted */
	PUT(&b, struct held_trace, REC_HELD_TRACE, .bytes = 900 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "The buffer of the kernel's tracing (ftrace) holds"));
	assert_true(says(f->try_, "mount -t tracefs tracefs /sys/kernel/tracing"));
	assert_true(says(f->undo, "umount /sys/kernel/tracing"));
	assert_false(says(f->try_, "rmdir"));
	assert_true(says(f->try_, "grep . /sys/kernel/tracing/per_cpu/cpu*/buffer_size_kb"));
	assert_false(says(f->undo, "buffer_size_kb"));
	assert_true(says(f->undo, "that you noted"));
	end(&b);

	begin(&b, &rule_hidden_memory, 1); /* of the default size, on many CPUs */
	PUT(&b, struct held_trace, REC_HELD_TRACE, .bytes = 300 * MIB, .cpu_bytes = 1408 << 10);
	f = only(&b);
	assert_false(says(f->try_, "buffer_size_kb"));
	assert_false(says(f->undo, "buffer_size_kb"));
	end(&b);

	begin(&b, &rule_hidden_memory, 1);
	PUT(&b, struct held_trace, REC_HELD_TRACE, .bytes = 3 * MIB, .on = 1);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

/* One finding names who has most, not each. */
static void test_kernel_memory(void **unused)
{
	static const struct {
		struct held_process p;
		const char *says;
	} cases[] = {
		{{.pipe_bytes = 100 * MIB, .pipes = 100, .pipes_measured = 100}, "in unread pipes"},
		{{.unread_bytes = 100 * MIB, .sockets = 10, .sockets_measured = 10},
			"does not read"},
		{{.unsent_bytes = 100 * MIB, .unread_bytes = MIB, .sockets = 10},
			"other side does not read"},
		{{.page_table_bytes = 100 * MIB, .rss_bytes = 10 * MIB}, "Page tables of server"},
		{{.bpf_bytes = 100 * MIB, .kinds[FD_BPF_MAP] = 3}, "BPF maps of server"},
		{{.files = 60000, .kinds[FD_SOCKET] = 60000}, "60.0 k files open (60000 sockets)"},
		{{.files = 60000}, "60.0 k files open: about "}, /* not looked at */
		{{.threads = 5000}, "has 5000 threads"},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct held_process p = cases[i].p;
		const struct finding *f;
		struct bench b;

		begin(&b, cases[i].p.files ? &rule_open_files : &rule_kernel_memory, 1);
		string(&b, 1, "server");
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 1, .files = 300,
			.unread_bytes = 3 * MIB, .sockets = 9, .threads = 80);
		p.h = (struct rec){sizeof(p), REC_HELD_PROCESS, 0, NSEC_PER_SEC};
		p.tgid = 9;
		p.name = 1;
		put(&b, &p);
		f = only(&b);
		assert_non_null(strstr(f->title, cases[i].says));
		assert_non_null(strstr(f->title, "server (pid 9)"));
		assert_true(f->try_[0] && f->undo[0] && f->verify[0] && f->why);
		end(&b);
	}
}

/* What a process had that the first look saw and the second did not is had no more. Where that look
 * was cut short it may only have been left out, unless it is known to have ended. */
static void test_kernel_memory_ended(void **unused)
{
	(void)unused;
	for (u32 looks = 1; looks <= 2; looks++)
		for (u32 cut = 0; cut < 2; cut++) {
			struct bench b;

			begin(&b, &rule_kernel_memory, 1);
			string(&b, 1, "server");
			PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
				.bpf_bytes = 100 * MIB, .kinds[FD_BPF_MAP] = 3,
				.page_table_bytes = 100 * MIB, .rss_bytes = 10 * MIB);
			for (u32 i = 0; i < looks; i++)
				PUT(&b, struct held_totals, REC_HELD_TOTALS, .processes = 50,
					.cut = cut);
			assert_int_equal(conclude(&b), looks == 1 || cut ? 2 : 0);
			PUT(&b, struct held_process, REC_HELD_PROCESS, .h.flags = HELD_ENDED,
				.tgid = 9);
			assert_int_equal(conclude(&b), 0);
			end(&b);
		}
}

/* Page tables as they usually are, and a busy server, are no finding. */
static void test_kernel_memory_quiet(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_kernel_memory, 1);
	string(&b, 1, "database");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.page_table_bytes = 100 * MIB, .rss_bytes = 40960 * MIB, .files = 4000,
		.threads = 400, .pipe_bytes = MIB, .unread_bytes = 4 * MIB, .sockets = 3000);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void test_set_aside(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_set_aside, 1);
	value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 1000, NULL);
	value(&b, SYSTEM_COUNT, "hugepages/2M/free", 900, NULL);
	value(&b, SYSTEM_COUNT, "hugepages/2M/resv", 100, NULL);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "800 of the 1000 reserved 2M pages"));
	assert_true(says(f->try_, "echo 200 > /sys/kernel/mm/hugepages/hugepages-2048kB"));
	assert_true(says(f->undo, "echo 1000 >"));
	assert_int_equal(f->losses, 0);
	end(&b);

	/* One that has a third of memory explains what the rest lacks. */
	begin(&b, &rule_set_aside, 1);
	value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 1400, NULL);
	value(&b, SYSTEM_COUNT, "hugepages/2M/free", 1400, NULL);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_true(f->losses & LOSS_COMPACTION);
	end(&b);

	/* A pool that is in use. */
	begin(&b, &rule_set_aside, 1);
	value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 1000, NULL);
	value(&b, SYSTEM_COUNT, "hugepages/2M/free", 20, NULL);
	assert_int_equal(conclude(&b), 0);
	end(&b);

	begin(&b, &rule_set_aside, 1);
	string(&b, 1, "trader");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.locked_bytes = 3000 * MIB, .rss_bytes = 2900 * MIB);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_non_null(strstr(f->title, "trader (pid 9) has locked"));
	end(&b);

	begin(&b, &rule_set_aside, 1);
	string(&b, 1, "storage");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.pinned_bytes = 3000 * MIB, .kinds[FD_RING] = 8);
	assert_non_null(strstr(only(&b)->title, "storage (pid 9) has pinned 2.93 GiB"));
	end(&b);

	/* What perf events have is memory of the kernel; what is resident it has pinned for others.
	 */
	for (u64 rss = 20; rss <= 4000; rss += 3980) {
		bool perf = rss == 20;

		begin(&b, &rule_set_aside, 1);
		string(&b, 1, "profiler");
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
			.pinned_bytes = 3000 * MIB, .rss_bytes = rss * MIB, .kinds[FD_PERF] = 16);
		f = only(&b);
		assert_int_equal(
			!!strstr(f->title, "(pid 9) has 2.93 GiB of buffers for perf"), perf);
		assert_int_equal(f->losses, perf ? LOSS_KERNEL : 0);
		assert_int_equal(says(f->evidence, "it has 16 perf events open"), perf);
		end(&b);
	}

	begin(&b, &rule_set_aside, 1);
	value(&b, SYSTEM_SYSCTL, "vm.min_free_kbytes", 2 << 20, NULL);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_true(says(f->undo, "vm.min_free_kbytes=2097152"));
	/* The root of 16 times 8 GiB in KiB. */
	assert_true(says(f->try_, "vm.min_free_kbytes=11"));
	end(&b);

	for (u64 scale = 10; scale <= 1000; scale += 495) {
		begin(&b, &rule_set_aside, 1);
		value(&b, SYSTEM_SYSCTL, "vm.watermark_scale_factor", scale, NULL);
		if (conclude(&b)) {
			f = &b.report.findings.v[0];
			assert_int_equal(f->level, scale == 1000 ? LEVEL_RISK : LEVEL_NOTE);
			assert_true(says(f->try_, "vm.watermark_scale_factor=10"));
			assert_true(says(f->undo, scale == 1000 ? "factor=1000" : "factor=505"));
		}
		assert_int_equal(b.report.findings.n, scale >= 500);
		end(&b);
	}
}

static void ksm(struct bench *b, u64 ns, u64 saved)
{
	begin(b, &rule_set_aside, 1);
	value(b, SYSTEM_THREAD, "ksmd", NSEC_PER_SEC, NULL);
	value(b, SYSTEM_THREAD, "ksmd", NSEC_PER_SEC + ns, NULL);
	value(b, SYSTEM_COUNT, "ksm/pages_sharing", saved, NULL);
}

static void test_ksm(void **unused)
{
	struct bench b;

	(void)unused;
	ksm(&b, 3 * NSEC_PER_SEC, MIB);
	assert_non_null(strstr(only(&b)->title, "ksmd takes 30 % of a CPU"));
	end(&b);
	ksm(&b, 3 * NSEC_PER_SEC, 2048 * MIB); /* it earns its time */
	assert_int_equal(conclude(&b), 0);
	end(&b);
	ksm(&b, 0, MIB); /* and of an older recording */
	PUT(&b, struct held_thread, REC_HELD_THREAD, .tid = 40, .cpu_ns = 7 * NSEC_PER_SEC,
		.comm = "ksmd");
	assert_non_null(strstr(only(&b)->title, "ksmd takes 60 % of a CPU"));
	end(&b);
}

static u64 limit_length; /* of each call */

static void limit_met(struct bench *b, u8 call, u8 why, u16 error, u64 value, u64 looks)
{
	begin(b, &rule_limits, 1);
	string(b, 1, "/sys/fs/cgroup/pids/a b/pids.max");
	PUT(b, struct maps_sampled, REC_MAPS_SAMPLED, .on_ns = NSEC_PER_SEC,
		.covered_ns = 9 * NSEC_PER_SEC);
	for (u64 i = 1; i <= looks; i++) {
		struct maps_agg r = {.h = {sizeof(r), REC_MAPS_AGG, 0, i * NSEC_PER_SEC},
			.tgid = 7,
			.call = call,
			.why = why,
			.error = error,
			.object = value,
			.count = 5,
			.length_bytes = 5 * limit_length,
			.where = call == MAPS_FORK ? 1 : 0,
			.comm = "victim"};

		put(b, &r);
	}
}

static void limit(struct bench *b, u8 call, u8 why, u16 error, u64 value)
{
	limit_met(b, call, why, error, value, 2);
}

static void limit_asked(struct bench *b, u8 call, u8 why, u64 value, u64 asked)
{
	limit_length = asked;
	limit_met(b, call, why, 12, value, 2);
	limit_length = 0;
}

static void test_limit_levels(void **unused)
{
	struct bench b;

	(void)unused;
	/* A program that tries once and goes on without. */
	limit_met(&b, MAPS_MMAP, MAPS_WHY_HUGETLB, 12, 0, 1);
	assert_int_equal(only(&b)->level, LEVEL_NOTE);
	end(&b);
	/* Where nobody has made a pool, to ask for it once is no trouble at all; again and again
	 * is. */
	for (u32 times = 1; times <= 2; times++) {
		limit_met(&b, MAPS_MMAP, MAPS_WHY_HUGETLB, 12, 0, times);
		value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 0, NULL);
		assert_int_equal(conclude(&b), times - 1);
		end(&b);
	}
	limit_met(&b, MAPS_MMAP, MAPS_WHY_HUGETLB, 12, 0, 1);
	value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 8, NULL);
	assert_true(says(only(&b)->try_, "Nothing needs to be done, unless"));
	end(&b);
	limit_met(&b, MAPS_MLOCK, MAPS_WHY_MEMLOCK, 12, MIB, 2);
	assert_int_equal(only(&b)->level, LEVEL_RISK);
	end(&b);
	limit_met(&b, MAPS_MMAP, MAPS_WHY_AS, 12, MIB, 1);
	assert_int_equal(only(&b)->level, LEVEL_RISK);
	end(&b);
	/* Many workers that meet one limit are one finding. */
	limit_met(&b, MAPS_FORK, MAPS_WHY_TASKS, 11, 8, 2);
	for (u32 i = 8; i < 12; i++)
		PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = i, .call = MAPS_FORK,
			.why = MAPS_WHY_TASKS, .error = 11, .object = 8, .count = 5,
			.comm = "victim");
	assert_non_null(strstr(only(&b)->title, "victim (pid 7) and others of that name"));
	end(&b);
}

static void test_limits(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	limit(&b, MAPS_MPROTECT, MAPS_WHY_MAP_COUNT, 12, 65530);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_string_equal(f->title,
		"mprotect fails in victim (pid 7): vm.max_map_count is reached: 65530 mappings");
	assert_true(says(f->try_, "`sysctl -w vm.max_map_count=131060`"));
	assert_true(says(f->undo, "`sysctl -w vm.max_map_count=65530`"));
	assert_true(says(f->evidence, "ENOMEM 10 times in the 1.0 s watched"));
	end(&b);
	limit(&b, MAPS_MMAP, MAPS_WHY_AS, 12, 512 * MIB);
	f = only(&b);
	assert_non_null(strstr(f->title, "mmap fails in victim (pid 7): RLIMIT_AS"));
	assert_true(says(f->try_, "`prlimit --pid 7 --as=1073741824:`"));
	end(&b);
	/* A call that asks for more than the limit is not helped by twice the limit. */
	limit_asked(&b, MAPS_MLOCK, MAPS_WHY_MEMLOCK, 64 << 10, 4 * MIB);
	f = only(&b);
	assert_true(says(f->try_, "`prlimit --pid 7 --memlock=5308416:`"));
	assert_true(says(f->undo, "`prlimit --pid 7 --memlock=65536:`"));
	assert_true(says(f->evidence, "it asks for 4.00 MiB at a time"));
	end(&b);
	limit_asked(&b, MAPS_MMAP, MAPS_WHY_HUGETLB, 0, 64 * MIB);
	value(&b, SYSTEM_COUNT, "hugepages/2M/nr", 10, NULL);
	f = only(&b);
	assert_true(says(f->try_, "`sysctl -w vm.nr_hugepages=42`"));
	assert_true(says(f->undo, "`sysctl -w vm.nr_hugepages=10`"));
	end(&b);
	/* 10 GiB are half of memory; 9 are promised, and 16 are wanted: (9 + 20) / 20 of it. */
	limit_asked(&b, MAPS_MMAP, MAPS_WHY_STRICT, 0, 16384 * MIB);
	value(&b, SYSTEM_COUNT, "CommitLimit", 10240 * MIB, NULL);
	value(&b, SYSTEM_COUNT, "Committed_AS", 9216 * MIB, NULL);
	value(&b, SYSTEM_COUNT, "vm.overcommit_ratio", 50, NULL);
	f = only(&b);
	assert_true(says(f->try_, "`sysctl -w vm.overcommit_ratio=146`"));
	end(&b);
	limit(&b, MAPS_FORK, MAPS_WHY_TASKS, 11, 8);
	f = only(&b);
	assert_non_null(strstr(f->title, "(pids.max) is reached: 8"));
	assert_true(says(f->try_, "`echo 16 > '/sys/fs/cgroup/pids/a b/pids.max'`"));
	end(&b);
	/* It does not wait for its children: more of them fill a higher limit as well. */
	for (u64 zombies = 0; zombies <= 20; zombies += 20) {
		limit(&b, MAPS_FORK, MAPS_WHY_TASKS, 11, 30);
		PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 9, .children = 900,
			.threads = 900, .zombies = 900); /* another group's */
		PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 7, .children = 29,
			.threads = 29, .zombies = zombies);
		f = only(&b);
		assert_int_equal(
			says(f->evidence, "29 in 29 processes, 20 of them zombies"), zombies > 0);
		assert_int_equal(says(f->try_, "(pid 7) wait for children that end"), zombies > 0);
		end(&b);
	}
	/* Not of a group: of its user, of the machine, or of none that was seen. */
	limit(&b, MAPS_FORK, MAPS_WHY_NPROC, 11, 60);
	f = only(&b);
	assert_non_null(strstr(f->title, "RLIMIT_NPROC is reached: 60 processes and threads"));
	assert_true(says(f->try_, "`prlimit --pid 7 --nproc=120:`"));
	assert_true(says(f->undo, "`prlimit --pid 7 --nproc=60:`"));
	assert_true(says(f->verify, "memwhy check"));
	end(&b);
	limit(&b, MAPS_FORK, MAPS_WHY_PIDS, 11, 3 << 20);
	f = only(&b);
	assert_non_null(strstr(f->title, "kernel.pid_max is reached"));
	assert_true(says(f->try_, "`sysctl -w kernel.pid_max=4194304`"));
	end(&b);
	limit(&b, MAPS_FORK, MAPS_WHY_THREADS, 11, 5000);
	PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 9, .children = 4000,
		.threads = 4100);
	f = only(&b);
	assert_true(says(f->try_, "`sysctl -w kernel.threads-max=10000`"));
	assert_true(says(f->evidence, "on this machine the children of "));
	assert_true(says(f->evidence, "(pid 9) have the most threads, 4100 in 4000 processes"));
	end(&b);
	limit(&b, MAPS_FORK, MAPS_WHY_THREADS, 11, 5000); /* who had them has ended */
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .threads = 4900);
	for (int looks = 0; looks < 2; looks++)
		PUT(&b, struct held_totals, REC_HELD_TOTALS, .processes = 50);
	assert_true(says(only(&b)->evidence, "(pid 9) has the most threads, 4900"));
	end(&b);
	limit(&b, MAPS_FORK, MAPS_WHY_THREADS, 11, 5000); /* a few with many, of those looked at */
	PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 8, .children = 2000,
		.zombies = 2000, .threads = 2000);
	PUT(&b, struct held_children, REC_HELD_CHILDREN, .tgid = 9, .children = 200,
		.threads = 2900);
	PUT(&b, struct held_totals, REC_HELD_TOTALS, .processes = 50, .status_cut = 1);
	assert_true(says(only(&b)->evidence, "of the processes seen the children of "));
	assert_true(says(b.report.findings.v[0].evidence, "2900 in 200 processes"));
	end(&b);
	limit(&b, MAPS_FORK, MAPS_WHY_TASKS, 11, 0);
	f = only(&b);
	assert_non_null(strstr(f->title, "an unknown limit on tasks"));
	assert_non_null(strstr(f->confidence, "the limit was not found"));
	/* Who ends before it is looked at, while another meets a limit that is known. */
	PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 9, .call = MAPS_FORK, .why = MAPS_WHY_TASKS,
		.error = 11, .object = 8, .count = 3, .where = 1, .comm = "server");
	report_destroy(&b.report);
	f = only(&b);
	assert_non_null(strstr(f->title, "fails in server (pid 9): the limit on tasks"));
	assert_true(says(f->evidence, "fork or clone fails in victim (pid 7) too, 10 times"));
	end(&b);
	/* A failure that is nobody's limit, and one that was expected. */
	limit(&b, MAPS_MMAP, MAPS_WHY_UNKNOWN, 12, 0);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	limit(&b, MAPS_BRK, MAPS_WHY_BELOW, 12, 0);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void dentries(struct bench *b, u64 first, u64 last)
{
	begin(b, &rule_negative_dentries, 1);
	value(b, SYSTEM_COUNT, "dentry/negative", first, NULL);
	value(b, SYSTEM_COUNT, "dentry/negative", last, NULL);
}

static void test_negative_dentries(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	dentries(&b, 1000000, 1200000);
	PUT(&b, struct lookups_sampled, REC_LOOKUPS_SAMPLED, .on_ns = NSEC_PER_SEC / 2,
		.covered_ns = 9 * NSEC_PER_SEC);
	PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .tgid = 8, .count = 100, .comm = "other");
	PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .tgid = 7, .count = 900, .cgroup = 42,
		.comm = "victim", .directory = "/var/cache/app");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_int_equal(f->held_bytes, 200000 * 192); /* below what is held and not given back */
	assert_string_equal(f->title, "victim (pid 7) looks up names that do not exist: the kernel "
				      "keeps 1.20 M negative dentries, 220 MiB");
	assert_true(says(f->evidence, "1800 lookups a second that find nothing, 90 % of all"));
	assert_true(says(f->evidence, "looked up in /var/cache/app"));
	end(&b);
	/* None does much, but short workers of one program together do. */
	dentries(&b, 1000000, 1200000);
	for (u32 i = 0; i < 20; i++)
		PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .tgid = 100 + i, .count = 90 + i,
			.comm = "worker");
	PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .tgid = 8, .count = 50, .comm = "other");
	assert_non_null(strstr(only(&b)->title, "20 processes of worker (pid 119 does the most) "
						"look up names that do not exist: the"));
	end(&b);
	/* Many, but nobody who makes more of them; and never more than a risk. */
	dentries(&b, 20000000, 20000000);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "Names that were looked up and do not exist"));
	end(&b);
	/* Who looks for the same names again and again has not made what was there before; unless
	 * reclaim takes away as many as come. */
	for (u32 per_s = 1000; per_s <= 200000; per_s += 199000) {
		bool named = per_s == 200000;

		dentries(&b, 1200000, 1200400);
		PUT(&b, struct lookups_sampled, REC_LOOKUPS_SAMPLED, .on_ns = NSEC_PER_SEC / 2,
			.covered_ns = NSEC_PER_SEC);
		PUT(&b, struct lookups_agg, REC_LOOKUPS_AGG, .tgid = 7, .count = per_s / 2,
			.comm = "victim");
		f = only(&b);
		assert_int_equal(!!strstr(f->title, "victim (pid 7)"), named);
		assert_int_equal(says(f->try_, "memwhy syscalls"), named);
		assert_int_equal(says(f->evidence, "what is there was left earlier"), !named);
		assert_true(says(f->evidence, "victim (pid 7)"));
		end(&b);
	}
	/* Few, but ever more of them: told before they are large. */
	dentries(&b, 20000, 60000);
	assert_int_equal(only(&b)->level, LEVEL_NOTE);
	end(&b);
	/* What builds and shells leave. */
	dentries(&b, 150000, 152000);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

static void test_drop_caches(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_drop_caches, 1);
	value(&b, SYSTEM_VMSTAT, "drop_pagecache", 5, "");
	PUT(&b, struct caches_dropped, REC_CACHES_DROPPED, .tgid = 9, .what = 1, .comm = "cleaner");
	value(&b, SYSTEM_VMSTAT, "drop_pagecache", 8, "");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "(pid 9) throws the page cache away"));
	assert_non_null(strstr(f->title, "3 times"));
	assert_int_equal(f->losses, LOSS_DROPPED);
	end(&b);
	/* Once, and the log is closed to us: still told, of nobody. */
	begin(&b, &rule_drop_caches, 1);
	value(&b, SYSTEM_VMSTAT, "drop_slab", 0, "");
	value(&b, SYSTEM_VMSTAT, "drop_slab", 1, "");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_non_null(strstr(f->title, "Somebody"));
	end(&b);
}

/* Who reads it again is told, and makes it louder; what others push out is no part of it. */
static void test_dropped_is_read(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (int k = 0; k < 2; k++) {
		begin(&b, &rule_drop_caches, 1);
		value(&b, SYSTEM_VMSTAT, "drop_pagecache", 5, "");
		value(&b, SYSTEM_VMSTAT, "drop_pagecache", 8, "");
		PUT(&b, struct cache_sampled, REC_CACHE_SAMPLED, .on_ns = 5 * NSEC_PER_SEC);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .tgid = 7, .evictor = 9,
			.flags = CACHE_REFAULT, .call = k ? CACHE_CALL_DROP : 0, .count = 2000);
		PUT(&b, struct cache_agg, REC_CACHE_AGG, .tgid = 7, .count = 9000);
		f = only(&b);
		assert_int_equal(f->level, k ? LEVEL_WARNING : LEVEL_RISK);
		assert_int_equal(!!strstr(f->title, "(pid 7) reads it again"), k);
		assert_int_equal(
			says(f->evidence, "100 MiB a second of what was dropped is read back"), k);
		end(&b);
	}
}

static void test_daemon_kill(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	/* A whole group at once is one finding, named after the largest. */
	begin(&b, &rule_daemon_kill, 1);
	for (u32 i = 0; i < 3; i++)
		PUT(&b, struct daemon_kill, REC_DAEMON_KILL, .tgid = 5, .victim_tgid = 20 + i,
			.signal = 9, .victim_cgroup = 7, .rss_pages = i == 1 ? 2560 : 256,
			.comm = "systemd-oomd", .victim_comm = "tab");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_CRITICAL);
	assert_int_equal(f->tgid, 21);
	assert_non_null(strstr(f->title, "systemd-oomd killed tab (pid 21) and 2 more"));
	assert_true(says(f->evidence, "3 processes: 12.0 MiB resident"));
	assert_true(says(f->try_, "journalctl -u systemd-oomd"));
	assert_non_null(strstr(f->confidence, "medium"));
	end(&b);
	/* Asked to end, then killed: one process. */
	begin(&b, &rule_daemon_kill, 1);
	PUT(&b, struct daemon_kill, REC_DAEMON_KILL, .victim_tgid = 20, .signal = 15,
		.comm = "earlyoom", .victim_comm = "tab");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_WARNING);
	assert_non_null(strstr(f->title, "earlyoom terminated: tab (pid 20)"));
	end(&b);
	begin(&b, &rule_daemon_kill, 1);
	for (u32 signal = 15; signal >= 9; signal -= 6)
		PUT(&b, struct daemon_kill, REC_DAEMON_KILL, .victim_tgid = 20, .signal = signal,
			.comm = "earlyoom", .victim_comm = "tab");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_CRITICAL);
	assert_true(says(f->evidence, "1 process:"));
	end(&b);
	/* Two of a group: both are asked, then both are killed. */
	begin(&b, &rule_daemon_kill, 1);
	for (u32 signal = 15; signal >= 9; signal -= 6)
		for (u32 i = 0; i < 2; i++)
			PUT(&b, struct daemon_kill, REC_DAEMON_KILL, .victim_tgid = 20 + i,
				.signal = signal, .comm = "earlyoom", .victim_comm = "tab");
	assert_true(says(only(&b)->evidence, "2 processes:"));
	end(&b);
}

/* Workers of one program are one trouble; one of them that has most of it is told alone. */
static void test_programs(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_open_files, 1);
	string(&b, 1, "python3 ws.py");
	string(&b, 2, "other");
	for (u32 i = 0; i < 12; i++)
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 20 + i, .name = 1,
			.files = 17000 + i, .kinds[FD_EVENT] = 17000);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 2, .files = 18000);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_RISK);
	assert_int_equal(f->tgid, 31);
	assert_non_null(
		strstr(f->title, "python3 ws.py (12 processes, pid 31 has the most) has 204 k"));
	end(&b);
	begin(&b, &rule_open_files, 1);
	string(&b, 1, "server");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 1, .files = 30000);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 7, .name = 1, .files = 300);
	assert_non_null(strstr(only(&b)->title, "server (pid 8) has 30.0 k files"));
	end(&b);
}

/* Of a process at two looks, ten seconds apart. */
static void files_put(struct bench *b, u64 first, u64 last, u64 most)
{
	struct held_process p = {.tgid = 9, .name = 1, .start_ns = 5, .files = first};

	p.h = (struct rec){sizeof(p), REC_HELD_PROCESS, 0, NSEC_PER_SEC};
	put(b, &p);
	p.h.time_ns = 11 * NSEC_PER_SEC;
	p.files = last;
	p.files_max = most;
	put(b, &p);
}

/* Few open files, but as fast as they come its limit is near: told before the calls fail. */
static void test_files_soon(void **unused)
{
	static const struct {
		u64 first, last, most;
		const char *says; /* NULL: nothing */
	} cases[] = {
		{1500, 3000, 20000, "limit of 20000 is reached in 113 s"},
		{1500, 3000, 200000, NULL},                       /* in more than ten minutes */
		{2800, 3000, 4096, NULL},                         /* few more */
		{100, 900, 1024, NULL},                           /* it may be starting */
		{3000, 1500, 20000, NULL}, {1500, 3000, 0, NULL}, /* the limit is not known */
		{9000, 12000, 20000, "limit of 20000"}, /* one finding, the nearer trouble */
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;

		begin(&b, &rule_open_files, 1);
		string(&b, 1, "server");
		files_put(&b, cases[i].first, cases[i].last, cases[i].most);
		if (cases[i].says) {
			const struct finding *f = only(&b);

			assert_non_null(strstr(f->title, cases[i].says));
			assert_int_equal(f->level, LEVEL_RISK);
		} else {
			assert_int_equal(conclude(&b), 0);
		}
		end(&b);
	}
}

/* Threads that are ever more, before they are many; another memwhy's maps end with its look. */
static void test_more_threads(void **unused)
{
	struct bench b;

	(void)unused;
	for (u64 more = 0; more <= 200; more += 200) {
		begin(&b, &rule_kernel_memory, 1);
		string(&b, 1, "pool");
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 1,
			.threads = 600);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 1,
			.threads = 600 + more);
		assert_int_equal(conclude(&b), more != 0);
		if (more) {
			const struct finding *f = &b.report.findings.v[0];

			assert_true(f->losses & LOSS_SPACE);
			assert_non_null(
				strstr(f->title, "pool (pid 8) has 800 threads, and ever more:"));
			assert_true(says(f->try_, "`memwhy count --stacks=user --for 10s -p 8 "
						  "sched:sched_process_fork`"));
		}
		end(&b);
	}
	for (int own = 0; own < 2; own++) {
		begin(&b, &rule_kernel_memory, 1);
		string(&b, 1, "tracer");
		PUT(&b, struct rec_task, REC_TASK, .tgid = 8, .comm = "memwhy-dyn");
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = own ? 8 : 9, .name = 1,
			.bpf_bytes = 300 * MIB);
		assert_int_equal(conclude(&b), !own);
		end(&b);
	}
}

/* Who writes has it in his buffers, but it is the other one who does not read. */
static void test_reader(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_kernel_memory, 1);
	PUT(&b, struct rec_host, REC_HOST, .cpus = 2, .nodes = 1, .page_bytes = 4096,
		.memory_bytes = 24576 * MIB);
	string(&b, 1, "client");
	string(&b, 2, "server");
	string(&b, 3, "127.0.0.1:80");
	string(&b, 4, "127.0.0.1:4711");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 1,
		.unsent_bytes = 500 * MIB, .sockets = 9, .peer = 3, .local = 4);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 2,
		.unread_bytes = 50 * MIB, .sockets = 9, .local = 3);
	f = only(&b);
	assert_int_equal(f->tgid, 9);
	/* little of it has arrived, and all of it waits for the reader */
	assert_int_equal(f->level, LEVEL_RISK);
	assert_non_null(strstr(f->title, "server (pid 9) does not read its sockets: 500 MiB"));
	assert_true(says(f->evidence, "client (pid 8) writes to it"));
	end(&b);
}

static void test_maps_of_nobody(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_kernel_memory, 1);
	string(&b, 1, "/sys/fs/bpf/flows 0");
	PUT(&b, struct held_maps, REC_HELD_MAPS, .maps = 4, .bytes = 640 * MIB, .pinned = 4,
		.id = 7, .id_bytes = 160 * MIB, .path = 1, .name = "flows0");
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_non_null(strstr(f->title, "4 BPF maps that no process has open take 640 MiB"));
	assert_non_null(strstr(f->title, "flows0"));
	assert_true(says(f->try_, "`rm '/sys/fs/bpf/flows 0'`"));
	end(&b);
}

#define LOOK_NS (10500 * NSEC_PER_MSEC) /* the last look; the first one is after a second */

static void looked(struct bench *b, u64 ns, u32 cut, u32 refused)
{
	PUT_AT(b, ns, struct held_totals, REC_HELD_TOTALS, .processes = 50, .cut = cut,
		.refused = refused);
}

/* Shared memory that one process fills; a file system that grows is told as that. */
static void shared(struct bench *b, const struct view *rule, u64 files_grown)
{
	begin(b, rule, 1);
	string(b, 1, "ring");
	string(b, 2, "/dev/shm");
	value(b, SYSTEM_MEMINFO, "MemAvailable", 4096 * MIB, NULL);
	looked(b, NSEC_PER_SEC, 0, 0);
	for (u64 i = 0; i < 20; i++) {
		struct system_value v = {
			.h = {sizeof(v), REC_SYSTEM_VALUE, 0, NSEC_PER_SEC + i * NSEC_PER_SEC / 2},
			.source = SYSTEM_MEMINFO,
			.value = (100 + 10 * i) * MIB,
			.name = "Shmem"};

		put(b, &v);
	}
	PUT(b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1, .start_ns = 1,
		.shmem_bytes = 90 * MIB);
	PUT_AT(b, LOOK_NS, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.start_ns = 1, .shmem_bytes = 280 * MIB);
	looked(b, LOOK_NS, 0, 0);
	if (files_grown)
		PUT(b, struct held_files, REC_HELD_FILES, .mount = 2, .used_bytes = files_grown,
			.found_bytes = files_grown);
}

static void test_shared_growth(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	shared(&b, &rule_shared_growth, 0);
	f = only(&b);
	assert_int_equal(f->tgid, 9);
	assert_non_null(strstr(f->title, "ring (pid 9) grows steadily: 20.0 MiB of shared memory"));
	assert_true(says(f->evidence, "rose by 190 MiB"));
	assert_true(says(f->evidence, "(4.00 GiB) lasts 3 minutes"));
	end(&b);
	shared(&b, &rule_shared_growth, 0);
	value(&b, SYSTEM_MEMINFO, "MemAvailable", 200 * MIB, NULL);
	assert_true(says(only(&b)->evidence, "(200 MiB) lasts 10 seconds"));
	end(&b);
	shared(&b, &rule_shared_growth, 190 * MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	shared(&b, &rule_hidden_memory, 190 * MIB);
	assert_string_equal(only(&b)->rule, "tmpfs-files");
	end(&b);
}

/* Nobody has it open or mapped: who wrote as much, and at whose sockets descriptors wait. Nothing
 * is said where not all processes were looked at. */
static void test_unseen_growth(void **unused)
{
	struct bench b;
	enum { BOTH, WRITTEN, NEITHER, BORN, SEGMENT, FEW, CUT, REFUSED, SCOPED, KINDS };

	(void)unused;
	for (int k = 0; k < KINDS; k++) {
		const struct finding *f;

		shared(&b, &rule_shared_growth, 0);
		string(&b, 3, "compositor");
		string(&b, 4, "client");
		for (u64 i = 0; i < 2; i++) {
			u64 ns = i ? LOOK_NS : NSEC_PER_SEC;

			PUT_AT(&b, ns, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 3,
				.shmem_bytes = 90 * MIB, .start_ns = 2,
				.in_flight =
					k == BOTH || k == FEW ? 5 + i * (k == FEW ? 1 : 145) : 0);
			PUT_AT(&b, ns, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 4,
				.start_ns = 1, .written_ns = i * 9 * NSEC_PER_SEC,
				.written_bytes = k <= WRITTEN ? i * 180 * MIB : 0);
		}
		if (k == BORN)
			PUT_AT(&b, LOOK_NS, struct held_process, REC_HELD_PROCESS, .tgid = 10,
				.start_ns = 5, .memfd_bytes = 190 * MIB);
		if (k == SEGMENT)
			PUT_AT(&b, LOOK_NS, struct held_segment, REC_HELD_SEGMENT, .id = 5,
				.resident_bytes = 190 * MIB);
		looked(&b, LOOK_NS, k == CUT, k == REFUSED);
		if (k == SCOPED)
			PUT(&b, struct rec_session, REC_SESSION, .command = "check",
				.scope = "process 9");
		if (k >= BORN && k != FEW) {
			assert_int_equal(conclude(&b), 0);
			end(&b);
			continue;
		}
		f = only(&b);
		assert_non_null(strstr(f->title,
			"Shared memory grows by 20.0 MiB a second in files that no process has"));
		assert_int_equal(
			!!strstr(f->title,
				": compositor (pid 9) does not receive them, most likely sent by "
				"client (pid 8)"),
			k == BOTH);
		assert_int_equal(
			!!strstr(f->title, "mapped, most likely by client (pid 8)"), k == WRITTEN);
		assert_int_equal(says(f->evidence, "150 descriptors (5 at first) wait in messages"),
			k == BOTH);
		assert_int_equal(says(f->try_, "scm_fds /proc/9/fdinfo"), k == BOTH);
		assert_int_equal(says(f->try_, "--for 10s -p 8`"), k <= WRITTEN);
		assert_int_equal(f->tgid, k == BOTH ? 9 : k == WRITTEN ? 8 : 0);
		end(&b);
	}
	/* Of a process that began with the look, or was small then, the probe knows by how much. */
	shared(&b, &rule_shared_growth, 0);
	PUT_AT(&b, LOOK_NS, struct held_process, REC_HELD_PROCESS, .tgid = 8, .name = 1,
		.start_ns = 2, .shmem_bytes = 200 * MIB, .shmem_grown_bytes = 195 * MIB);
	PUT_AT(&b, LOOK_NS, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.start_ns = 1, .shmem_bytes = 90 * MIB);
	assert_true(says(only(&b)->evidence, "rose by 195 MiB, to 200 MiB"));
	end(&b);
}

/* Others fill and free shared memory meanwhile: the machine's goes up and down. */
/* What nothing shows, whether it grows or not: a risk where descriptors wait for who receives them;
 * nothing where it is not known what is shown, or not all was looked at. */
static void test_hidden(void **unused)
{
	enum { WAITING, NOBODY, SHOWN, UNKNOWN, CUT, KINDS };

	(void)unused;
	for (int k = 0; k < KINDS; k++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_shared_growth, 1);
		string(&b, 1, "relay");
		value(&b, SYSTEM_MEMINFO, "Shmem", 500 * MIB, NULL);
		if (k != NOBODY)
			PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
				.in_flight = 20);
		PUT_AT(&b, LOOK_NS, struct held_totals, REC_HELD_TOTALS, .processes = 50,
			.cut = k == CUT,
			.shown_bytes = k == UNKNOWN ? 0
				       : k == SHOWN ? 480 * MIB
						    : 200 * MIB);
		if (k >= SHOWN) {
			assert_int_equal(conclude(&b), 0);
			end(&b);
			continue;
		}
		f = only(&b);
		assert_int_equal(f->level, k == WAITING ? LEVEL_RISK : LEVEL_NOTE);
		assert_non_null(strstr(
			f->title, "300 MiB of shared memory is in files that no process has open"));
		assert_int_equal(
			!!strstr(f->title, "20 descriptors wait to be received by relay (pid 9)"),
			k == WAITING);
		assert_int_equal(says(f->try_, "scm_fds /proc/9/fdinfo"), k == WAITING);
		assert_int_equal(f->tgid, k == WAITING ? 9 : 0);
		end(&b);
	}
}

static void test_shared_growth_in_noise(void **unused)
{
	(void)unused;
	for (int what = 0; what < 4;
		what++) { /* maps it; only touches what is; sends it; neither */
		struct bench b;

		begin(&b, &rule_shared_growth, 1);
		string(&b, 1, "loader");
		value(&b, SYSTEM_MEMINFO, "MemAvailable", 4096 * MIB, NULL);
		looked(&b, NSEC_PER_SEC, 0, 0);
		for (u64 i = 0; i < 20; i++) {
			u64 ns = NSEC_PER_SEC + i * NSEC_PER_SEC / 2;
			struct system_value v = {.h = {sizeof(v), REC_SYSTEM_VALUE, 0, ns},
				.source = SYSTEM_MEMINFO,
				.value = (100 + (what % 2 ? 0 : 10 * i) + (i % 4 == 1 ? 90 : 0)) *
					 MIB,
				.name = "Shmem"};
			struct process_memory m = {
				.h = {sizeof(m), REC_PROCESS_MEMORY, PROCESS_EXACT, ns},
				.tgid = 9,
				.rss_shmem_bytes = (what < 2 ? 50 + 10 * i : 50) * MIB};

			put(&b, &v);
			put(&b, &m);
		}
		for (u64 i = 0; i < 2; i++)
			PUT_AT(&b, i ? LOOK_NS : NSEC_PER_SEC, struct held_process,
				REC_HELD_PROCESS, .tgid = 9, .name = 1, .start_ns = 1,
				.shmem_bytes = (what < 2 ? 50 + 190 * i : 50) * MIB,
				.in_flight = what == 2 ? 30 + 100 * i : 0);
		looked(&b, LOOK_NS, 0, 0);
		if (what % 2) {
			assert_int_equal(conclude(&b), 0);
		} else {
			const struct finding *f = only(&b);

			assert_int_equal(f->tgid, 9);
			assert_int_equal(f->level, what ? LEVEL_RISK : LEVEL_NOTE); /* young */
			assert_non_null(strstr(f->title,
				what ? "no process has open or mapped: loader (pid 9) does not"
				     : "loader (pid 9) grows steadily: 20.0 MiB of shared"));
			assert_int_equal(
				says(f->evidence, "130 descriptors (30 at first)"), !!what);
		}
		end(&b);
	}
}

static void writer(struct bench *b, u32 tgid, u32 name, u64 bytes)
{
	PUT(b, struct held_process, REC_HELD_PROCESS, .tgid = tgid, .name = name,
		.written_bytes = bytes, .written_ns = 9 * NSEC_PER_SEC);
}

/* What came all at once is told as new, and who wrote it; a small part of what there is is not. */
static void test_tmpfs_new(void **unused)
{
	(void)unused;
	for (u64 before = 4; before <= 4004; before += 4000) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_hidden_memory, 10);
		string(&b, 1, "/dev/shm");
		string(&b, 2, "node log.js");
		value(&b, SYSTEM_MEMINFO, "MemAvailable", 65536 * MIB, NULL);
		for (u64 i = 0; i <= 10; i++)
			PUT_AT(&b, (i + 1) * NSEC_PER_SEC, struct held_files, REC_HELD_FILES,
				.mount = 1, .first_used_bytes = before * MIB,
				.used_bytes = (before + (i > 4 ? 420 : 0)) * MIB,
				.found_bytes = before * MIB);
		writer(&b, 77, 2, 380 * MIB);
		f = only(&b);
		assert_int_equal(!!strstr(f->title, "; 420 MiB of it came in the last 10 s, most "
						    "likely by node log.js (pid 77)"),
			before == 4);
		assert_int_equal(!!strstr(f->title, "node log.js"), before == 4);
		end(&b);
	}
}

/* Who opens files, writes and closes them is known by how much he wrote to no disk; where two
 * wrote as much, it may be either. */
static void test_tmpfs_writer(void **unused)
{
	(void)unused;
	for (int two = 0; two < 2; two++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_hidden_memory, 1);
		string(&b, 1, "/dev/shm");
		string(&b, 2, "python3 spool.py");
		string(&b, 3, "proxy");
		value(&b, SYSTEM_MEMINFO, "MemAvailable", 4096 * MIB, NULL);
		for (u64 i = 0; i <= 10; i++) {
			struct held_files r = {
				.h = {sizeof(r), REC_HELD_FILES, 0, (i + 1) * NSEC_PER_SEC},
				.mount = 1,
				.used_bytes = (200 + 20 * i) * MIB,
				.first_used_bytes = 200 * MIB,
				.found_bytes = (200 + 20 * i) * MIB};

			put(&b, &r);
		}
		writer(&b, 8, 2, 185 * MIB); /* of 180 */
		writer(&b, 9, 3, two ? 190 * MIB : 9000 * MIB);
		f = only(&b);
		if (!two) {
			assert_true(says(f->evidence, "python3 spool.py (pid 8), or its children"));
			assert_true(says(f->evidence, "wrote 20.6 MiB a second to no disk"));
			assert_non_null(strstr(f->title,
				"by 20.0 MiB a second, most likely by python3 spool.py (pid 8)"));
		} else {
			assert_true(says(f->evidence, "who wrote them is not known"));
			assert_null(strstr(f->title, "most likely"));
		}
		end(&b);
	}
}

/* Files that were removed are told by who has them open, not as files of a directory. */
static void test_removed(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_hidden_memory, 1);
	string(&b, 1, "/dev/shm");
	PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .directory = 1,
		.used_bytes = 900 * MIB, .found_bytes = MIB);
	assert_int_equal(conclude(&b), 0);
	end(&b);
}

/* A hard limit that is lower than what is needed is raised with the other, and both come back. */
static void test_hard_limit(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (u64 hard = 1024; hard <= 4096; hard *= 4) {
		begin(&b, &rule_limits, 1);
		PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_OTHER, .detail = 41,
			.why = MAPS_WHY_FILES, .error = 24, .object = 1024, .hard = hard,
			.count = 5, .comm = "victim");
		f = only(&b);
		assert_true(says(f->try_, hard == 1024 ? "`prlimit --pid 7 --nofile=2048:2048`"
						       : "`prlimit --pid 7 --nofile=2048:`"));
		assert_int_equal(says(f->try_, "needs CAP_SYS_RESOURCE"), hard == 1024);
		assert_true(says(f->try_, "set LimitNOFILE= in the unit that starts it, the item "
					  "nofile in /etc/"));
		assert_false(says(f->evidence, "is available"));
		assert_true(says(f->undo, hard == 1024 ? "`prlimit --pid 7 --nofile=1024:1024`"
						       : "`prlimit --pid 7 --nofile=1024:`"));
		end(&b);
	}
}

/* Files that a look does not find are not "0 files". */
static void test_tmpfs_without_files(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	for (u32 files = 0; files < 2; files++) {
		begin(&b, &rule_hidden_memory, 1);
		string(&b, 1, "/dev/shm");
		PUT(&b, struct held_files, REC_HELD_FILES, .mount = 1, .files = files,
			.used_bytes = 900 * MIB);
		f = only(&b);
		assert_int_equal(says(f->evidence, "/dev/shm holds 900 MiB in 1 file; the"), files);
		assert_int_equal(says(f->evidence, "no file was found there: another mount may "
						   "hide them"),
			!files);
		assert_false(says(f->evidence, "in 0 files"));
		end(&b);
	}
}

static void short_worker(struct bench *b, u64 parent_soft, u64 start_ns)
{
	begin(b, &rule_limits, 1);
	string(b, 1, "bash job.sh");
	for (u32 i = 0; i < 2; i++) /* the second has another one's number */
		PUT(b, struct maps_agg, REC_MAPS_AGG, .tgid = 7 + i, .call = MAPS_MMAP,
			.why = MAPS_WHY_AS, .error = 12, .object = 64 * MIB, .hard = UINT64_MAX,
			.count = 5, .comm = "victim", .start_ns = start_ns, .parent_tgid = 6,
			.parent = 1, .parent_soft = parent_soft, .parent_hard = UINT64_MAX,
			.cgroup = 5);
}

/* Whoever reads of a worker that lives for two seconds cannot change its limit any more: who starts
 * it can. */
static void test_limit_of_short(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	short_worker(&b, 64 * MIB, UINT64_MAX);
	f = only(&b);
	assert_true(says(f->try_, "has ended: change the limit where"));
	assert_true(says(f->try_, "inherits its limit from bash job.sh (pid 6), which started it"));
	assert_true(says(f->try_, "`prlimit --pid 6 --as=134217728:`"));
	assert_true(says(f->undo, "`prlimit --pid 6 --as=67108864:`"));
	assert_true(says(f->try_, "`ulimit -v 131072`"));
	assert_false(says(f->try_, "--pid 7"));
	end(&b);
	short_worker(&b, UINT64_MAX, 1); /* one after the other */
	f = only(&b);
	assert_true(says(f->try_, "Such processes are short-lived"));
	assert_true(says(f->try_, "bash job.sh (pid 6), which started the process, has another "
				  "limit (none)"));
	assert_false(says(f->try_, "`prlimit "));
	end(&b);
	/* Of a unit it is said how, and one that is old keeps its number. */
	short_worker(&b, 64 * MIB, UINT64_MAX);
	named(&b, 5, "/system.slice/a.service/b");
	f = only(&b);
	assert_true(says(f->try_, "LimitAS=134217728 into the [Service] section of a.service, and "
				  "restart it: `systemctl edit a.service`"));
	end(&b);
}

/* Who holds what the limit is on is named beside who is refused. */
static void test_holders_of_limits(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	for (u32 where = 0; where <= 2; where += 2) { /* of the machine, of a mount */
		begin(&b, &rule_limits, 1);
		string(&b, 1, "python3 hold.py");
		string(&b, 2, "/dev/pts");
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
			.terminals = 3000);
		PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_OTHER, .detail = 257,
			.why = MAPS_WHY_TERMINALS, .error = 28, .object = 3072,
			.hard = where ? 0 : 4096, .where = where, .count = 5, .comm = "victim");
		f = only(&b);
		assert_non_null(strstr(f->title, "openat fails in victim (pid 7)"));
		assert_non_null(
			strstr(f->title, "; python3 hold.py (pid 9) has the most open, 3000"));
		assert_true(says(f->try_, "/proc/9/fdinfo/"));
		assert_true(says(f->try_,
			where ? "remount,max=6144 /dev/pts`" : "sysctl -w kernel.pty.max=8192`"));
		assert_true(says(f->undo,
			where ? "remount,max=3072 /dev/pts`" : "sysctl -w kernel.pty.max=4096`"));
		end(&b);
	}

	begin(&b, &rule_limits, 1); /* who has more than there may be there has those of others */
	string(&b, 1, "python3 hold.py");
	string(&b, 2, "/dev/pts");
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1, .terminals = 3000);
	PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_OTHER, .detail = 257,
		.why = MAPS_WHY_TERMINALS, .error = 28, .object = 64, .where = 2, .count = 5,
		.comm = "victim");
	assert_null(strstr(only(&b)->title, "hold.py"));
	end(&b);

	begin(&b, &rule_limits, 1);
	string(&b, 1, "java -Xmx8g");
	string(&b, 2, "postgres");
	value(&b, SYSTEM_MEMINFO, "Committed_AS", 12 * 1024 * MIB, NULL);
	value(&b, SYSTEM_MEMINFO, "CommitLimit", 12 * 1024 * MIB, NULL);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
		.data_bytes = 9 * 1024 * MIB, .rss_bytes = 300 * MIB);
	PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 10, .name = 2,
		.data_bytes = 1024 * MIB);
	PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_MMAP, .why = MAPS_WHY_STRICT,
		.error = 12, .count = 5, .length_bytes = 5 * 1024 * MIB, .comm = "victim");
	f = only(&b);
	assert_int_equal(f->tgid, 7);
	assert_non_null(
		strstr(f->title, "; java -Xmx8g (pid 9) has most of it, 9.00 GiB of 12.0 GiB"));
	assert_true(says(f->evidence, "of which 300 MiB is resident"));
	assert_true(says(f->evidence, "postgres (pid 10) has 1.00 GiB"));
	assert_true(says(f->try_, "`pmap -x 9"));
	end(&b);
}

/* What is set aside is a warning where others wait for memory meanwhile, and of no group. */
static void test_aside_costs(void **unused)
{
	for (int waits = 0; waits < 4; waits++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_set_aside, 1);
		string(&b, 1, "java");
		for (u64 n = 0; n < 2; n++) {
			value(&b, SYSTEM_VMSTAT, "allocstall_normal", n * (waits & 1) * 500, NULL);
			PUT_AT(&b, (1 + n * 10) * NSEC_PER_SEC, struct system_pressure,
				REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY,
				.some_total_us = n * (u64)(waits >> 1) * 500000);
		}
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
			.locked_bytes = 600 * MIB, .rss_bytes = 700 * MIB);
		f = only(&b);
		assert_int_equal(f->level, waits == 3 ? LEVEL_WARNING : LEVEL_NOTE);
		assert_int_equal(!!(f->losses & LOSS_RECLAIM), waits == 3);
		assert_int_equal(says(f->evidence, "others lack it"), waits == 3);
		end(&b);
	}
	(void)unused;
}

/* What reclaim has to leave to one group, where others wait for memory and it does not. */
static void test_protected(void **unused)
{
	static const struct {
		u64 min, low, wait_us, own_us;
		u32 level;
		const char *title; /* NULL: nothing is said */
		bool unknown;      /* who waits: the group has no PSI of its own */
	} cases[] = {
		{600 * MIB, 0, 500000, 0, 1, "memory.min keeps 600 MiB of cgroup /db from reclaim",
			false},
		{0, 600 * MIB, 500000, 0, 1, "memory.low keeps 600 MiB of cgroup /db from reclaim",
			false},
		{CGROUP_USAGE_NONE, 0, 500000, 0, 1, "memory.min keeps 640 MiB of cgroup /db",
			false},
		{600 * MIB, 0, 0, 0, 1, NULL, false},
		{600 * MIB, 0, 500000, 0, 1, NULL, true},
		{600 * MIB, 0, 500000, 400000, 1, NULL, false},
		{600 * MIB, 0, 500000, 0, 2, NULL, false}, /* those above it may have none */
		{4 * MIB, 0, 500000, 0, 1, NULL, false},
	};
	struct bench b;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct finding *f;

		begin(&b, &rule_set_aside, 1);
		group(&b, 42, "/db");
		for (u64 n = 0; n < 2; n++) {
			value(&b, SYSTEM_VMSTAT, "allocstall_normal", n * 500, NULL);
			PUT_AT(&b, (1 + n * 10) * NSEC_PER_SEC, struct system_pressure,
				REC_SYSTEM_PRESSURE, .resource = SYSTEM_MEMORY,
				.some_total_us = n * cases[i].wait_us);
		}
		PUT(&b, struct cgroup_usage, REC_CGROUP_MEMORY,
			.h.flags = CGROUP_PROTECTED | (cases[i].unknown ? 0 : CGROUP_HAS_PRESSURE),
			.cgroup = 42, .version = 2, .level = cases[i].level,
			.usage_bytes = 640 * MIB, .limit_bytes = CGROUP_USAGE_NONE,
			.high_bytes = CGROUP_USAGE_NONE, .some_total_us = cases[i].own_us,
			.min_bytes = cases[i].min, .low_bytes = cases[i].low);
		if (!cases[i].title) {
			assert_int_equal(conclude(&b), 0);
			end(&b);
			continue;
		}
		f = only(&b);
		assert_int_equal(f->level, LEVEL_WARNING);
		assert_int_equal(f->losses, LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP);
		assert_non_null(strstr(f->title, cases[i].title));
		assert_true(says(f->evidence, "others lack it: tasks waited for memory 5.0 %"));
		assert_true(says(f->try_, i == 2 ? "echo 335544320 > /sys/fs/cgroup/db/memory.min"
						 : "echo 314572800 > /sys/fs/cgroup/db/memory."));
		assert_true(says(f->undo, i == 2 ? "echo max > " : "echo 629145600 > "));
		end(&b);
	}
}

/* Arrays of large pipes are in no slab cache. */
static void test_large_blocks(void **unused)
{
	for (u64 known = 0; known < 2; known++) {
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_slab_growth, 1);
		string(&b, 1, "relay");
		PUT(&b, struct slab_usage, REC_SLAB_CACHE, .name = SLAB_LARGE_NAME,
			.bytes = 500 * MIB, .first_bytes = 490 * MIB);
		PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1, .pipes = 2000,
			.slots_bytes = known * 400 * MIB);
		f = only(&b);
		assert_string_equal(f->rule, "large-blocks");
		assert_int_equal(f->tgid, known ? 9 : 0);
		assert_int_equal(f->level, known ? LEVEL_RISK : LEVEL_NOTE);
		assert_int_equal(!!strstr(f->title, "Pipes of relay (pid 9) take 400 MiB"), known);
		assert_true(says(f->try_, known ? "leak --kernel --stacks=kernel --for 30s -p 9"
						: "leak --kernel --for 60s"));
		end(&b);
	}
	(void)unused;
}

static void test_other_limits(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	for (u32 number = 29; number <= 68; number += 39) { /* shmget, msgget */
		begin(&b, &rule_limits, 1);
		PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_OTHER,
			.detail = number, .why = MAPS_WHY_IPC, .error = 28, .count = 5,
			.comm = "victim");
		f = only(&b);
		assert_int_equal(!!strstr(f->title,
					 "System V segments as kernel.shmmni, or as much memory in "
					 "them as kernel.shmall allows"),
			number == 29);
		assert_true(says(f->try_, "`nsenter -t 7 -i ipcs -u`"));
		assert_non_null(strstr(f->confidence, "its value was not read"));
		assert_int_equal(says(f->try_, "sysctl kernel.shmall`"), number == 29);
		end(&b);
	}
	begin(&b, &rule_limits, 1);
	string(&b, 1, "/run/sessions");
	PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_OTHER, .detail = 257,
		.why = MAPS_WHY_INODES, .error = 28, .object = 5000, .where = 1, .count = 5,
		.comm = "victim");
	f = only(&b);
	assert_string_equal(f->title,
		"openat fails in victim (pid 7): the tmpfs at /run/sessions has no free inode: it "
		"is limited to 5000 files and directories");
	assert_true(says(f->try_, "remount,nr_inodes=10000 /run/sessions`"));
	assert_true(says(f->undo, "remount,nr_inodes=5000 /run/sessions`"));
	end(&b);
	begin(&b, &rule_limits, 1);
	string(&b, 1, "/dev/shm");
	PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_OTHER, .detail = 1,
		.why = MAPS_WHY_FULL, .error = 28, .object = 64 * MIB, .where = 1, .count = 5,
		.comm = "victim");
	f = only(&b);
	assert_string_equal(
		f->title, "write fails in victim (pid 7): the tmpfs at /dev/shm is full: 64.0 MiB");
	assert_true(says(f->try_, "`nsenter -t 7 -m mount -o remount,size=131072k /dev/shm`"));
	assert_true(says(f->undo, "size=65536k /dev/shm"));
	assert_true(says(f->verify, "memwhy check"));
	end(&b);
	begin(&b, &rule_limits, 1);
	PUT(&b, struct maps_agg, REC_MAPS_AGG, .tgid = 7, .call = MAPS_OTHER, .detail = 41,
		.why = MAPS_WHY_FILES, .error = 24, .object = 1024, .count = 5, .comm = "victim");
	f = only(&b);
	assert_string_equal(f->title,
		"socket fails in victim (pid 7): RLIMIT_NOFILE is reached: 1024 open files");
	assert_true(says(f->try_, "`prlimit --pid 7 --nofile=2048:`"));
	end(&b);
}

/* What nobody reads is of no use however little of the machine's memory it is, where it is much. */
static void test_unread(void **unused)
{
	(void)unused;
	for (u64 mib = 200; mib <= 300; mib += 100) {
		for (int pipes = 0; pipes < 2; pipes++) {
			struct bench b;

			begin(&b, &rule_kernel_memory, 1);
			PUT(&b, struct rec_host, REC_HOST, .cpus = 2, .nodes = 1,
				.page_bytes = 4096, .memory_bytes = 24576 * MIB);
			string(&b, 1, "worker");
			PUT(&b, struct held_process, REC_HELD_PROCESS, .tgid = 9, .name = 1,
				.unread_bytes = pipes ? 0 : mib * MIB,
				/* of two ends of a host, with what the kernel needs for it */
				.unsent_bytes = pipes ? 0 : (mib + 10) * MIB,
				.pipe_bytes = pipes ? mib * MIB : 0, .pipes = 100, .sockets = 100,
				.pipes_measured = 100, .sockets_measured = 100);
			assert_int_equal(only(&b)->level, mib == 300 ? LEVEL_RISK : LEVEL_NOTE);
			end(&b);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tmpfs),
		cmocka_unit_test(test_tmpfs_seen_anew),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_gone_by_the_end),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_segments_attached),
		cmocka_unit_test(test_memfd),
		cmocka_unit_test(test_inodes),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_queues_of_one),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_trace_buffers),
		cmocka_unit_test(test_kernel_memory),
		cmocka_unit_test(test_kernel_memory_ended),
		cmocka_unit_test(test_kernel_memory_quiet),
		cmocka_unit_test(test_set_aside),
		cmocka_unit_test(test_ksm),
		cmocka_unit_test(test_negative_dentries),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limit_levels),
		cmocka_unit_test(test_drop_caches),
		cmocka_unit_test(test_dropped_is_read),
		cmocka_unit_test(test_daemon_kill),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_files_soon),
		cmocka_unit_test(test_more_threads),
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_maps_of_nobody),
		cmocka_unit_test(test_shared_growth),
		cmocka_unit_test(test_unseen_growth),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_shared_growth_in_noise),
		cmocka_unit_test(test_tmpfs_writer),
		cmocka_unit_test(test_tmpfs_new),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_hard_limit),
		cmocka_unit_test(test_limit_of_short),
		cmocka_unit_test(test_tmpfs_without_files),
		cmocka_unit_test(test_other_limits),
		cmocka_unit_test(test_holders_of_limits),
		cmocka_unit_test(test_aside_costs),
		cmocka_unit_test(test_protected),
		cmocka_unit_test(test_large_blocks),
	};

	return cmocka_run_group_tests_name("held_rules", tests, NULL, NULL);
}
