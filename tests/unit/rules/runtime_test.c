/* Advice is for the allocator or runtime that a process has: by its name, or by its code paths. */
#include "rules/rules_fixture.h"

#include "probes/faults/faults.h"
#include "probes/mmcalls/mmcalls.h"
#include "probes/processes/processes.h"
#include "probes/processes/processes.h"
#include "rules/rules.h"

/* A code path: this function of this file, called by something that tells nothing. */
static void path_of(struct bench *b, const char *function, const char *module)
{
	struct {
		struct rec_stack r;
		u32 frames[2];
	} s = {.r = {.h = {sizeof(s), REC_STACK, 0, NSEC_PER_SEC}, .id = 5, .n = 2},
		.frames = {50, 51}};
	struct {
		struct rec_symbol r;
		struct sym_line line;
	} name = {.r = {.h = {sizeof(name), REC_SYMBOL, 0, NSEC_PER_SEC}, .frame = 50, .n = 1},
		.line = {.function = 1}};

	string(b, 1, function);
	string(b, 2, module);
	PUT(b, struct rec_frame, REC_FRAME, .id = 50, .module = 2, .address = 0x1000);
	PUT(b, struct rec_frame, REC_FRAME, .id = 51, .module = 0, .address = 0x2000);
	put(b, &name);
	put(b, &s);
}

static u64 block_bytes = 32 * MIB;

/* The advice for a process of this name, with this code path. */
static const struct finding *touched(
	struct bench *b, const char *comm, const char *function, const char *module, u16 call)
{
	struct rec_task task = {.h = {sizeof(task), REC_TASK, 0, NSEC_PER_SEC}, .tgid = 9};

	begin(b, &rule_touch_again, 1);
	snprintf(task.comm, sizeof(task.comm), "%s", comm);
	put(b, &task);
	path_of(b, function, module);
	for (int i = 0; i < 2; i++)
		PUT(b, struct process_memory, REC_PROCESS_MEMORY, .tgid = 9, .start_ns = 5,
			.first_anon_bytes = 32 * MIB, .anon_bytes = 32 * MIB);
	PUT(b, struct faults_agg, REC_FAULTS_AGG, .tgid = 9,
		.flags = FAULT_ACCESS_KNOWN | FAULT_WRITE | FAULT_ALLOCATED, .count = 1000000,
		.timed = 1000000, .total_ns = 2 * NSEC_PER_SEC, .stack = call ? 0 : 5);
	if (call)
		PUT(b, struct mmcalls_agg, REC_MMCALLS_AGG, .tgid = 9, .call = call, .count = 60,
			.bytes = 60 * block_bytes, .stack = 5);
	PUT(b, struct mmcalls_sampled, REC_MMCALLS_SAMPLED, .on_ns = NSEC_PER_SEC / 2,
		.covered_ns = 10 * NSEC_PER_SEC);
	return only(b);
}

/* Is that told, and for none of the others? */
static void assert_advice(
	const char *comm, const char *function, const char *module, u16 call, const char *advice)
{
	static const char *const all[] = {
		"GLIBC_TUNABLES", "MALLOC_CONF", "TCMALLOC", "GOGC", "-Xms", "semi-space"};
	struct bench b;
	const struct finding *f = touched(&b, comm, function, module, call);

	assert_true(says(f->try_, "allocate the buffer once"));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(says(f->try_, all[i]), !strcmp(all[i], advice));
	end(&b);
}

static void test_runtimes(void **unused)
{
	(void)unused;
	assert_advice("quotes", "runtime.memclrNoHeapPointers", "/bin/quotes", 0, "GOGC");
	assert_advice("quotes", "runtime.sysUnused", "/bin/quotes", MMCALLS_MUNMAP, "GOGC");
	assert_advice("java", "_start", "/bin/java", MMCALLS_MUNMAP, "-Xms");
	assert_advice("jsvc", "os::commit_memory", "/jdk/lib/server/libjvm.so", 0, "-Xms");
	assert_advice("server", "v8::internal::Heap::Scavenge", "/bin/x", 0, "semi-space");
	assert_advice("server", "je_arena_purge", "/bin/x", MMCALLS_MUNMAP, "MALLOC_CONF");
	assert_advice("server", "do_rallocx", "/lib/libjemalloc.so.2", 0, "MALLOC_CONF");
	assert_advice("server", "f", "/lib/libtcmalloc_minimal.so.4", 0, "TCMALLOC");
	assert_advice("server", "_int_free", "/lib/libc.so.6", MMCALLS_BRK, "GLIBC_TUNABLES");
}

/* Code of others may have the names of glibc's; its call of the kernel is everybody's,
 * and so is where all programs begin. */
static void test_not_known(void **unused)
{
	static const char *const paths[][2] = {{"free_all", "/bin/x"},
		{"__munmap", "/lib/libc.so.6"}, {"sysmalloc", "/bin/x"},
		{"__libc_start_call_main", "/lib/libc.so.6"}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct bench b;
		const struct finding *f =
			touched(&b, "server", paths[i][0], paths[i][1], MMCALLS_MUNMAP);

		assert_true(says(f->try_, "which one it is was not seen"));
		assert_true(says(f->try_, "For glibc malloc()"));
		assert_true(says(f->try_, "Java: -Xms"));
		end(&b);
	}
}

/* malloc() of glibc maps what is larger than 32 MiB whatever its threshold is set to. */
static void test_large_blocks(void **unused)
{
	struct bench b;
	const struct finding *f;

	(void)unused;
	f = touched(&b, "server", "_int_free", "/lib/libc.so.6", MMCALLS_MUNMAP);
	assert_true(says(f->try_, "mmap_threshold=33554432"));
	end(&b);
	block_bytes = 100 * MIB;
	f = touched(&b, "server", "_int_free", "/lib/libc.so.6", MMCALLS_MUNMAP);
	assert_true(says(f->try_, "mmap_max=0:glibc.malloc.trim_threshold=1073741824"));
	assert_false(says(f->try_, "mmap_threshold=33554432"));
	end(&b);
	block_bytes = 32 * MIB;
}

/* A program that makes the calls itself has no use for settings of an allocator. */
static void test_own_calls(void **unused)
{
	struct bench b;
	const struct finding *f =
		touched(&b, "server", "drop_pages", "/bin/server", MMCALLS_MUNMAP);

	(void)unused;
	assert_true(says(f->try_, "Its own code makes these calls (drop_pages)"));
	assert_false(says(f->try_, "glibc"));
	end(&b);
}

/* What grows is looked at by the tools of its own runtime, where that is known. */
static void test_growth(void **unused)
{
	static const char *const told[][2] = {
		{"java", "`jcmd 7 GC.heap_info`"}, {"node", "heap snapshot"}, {"x", "tracemalloc"}};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		struct rec_task task = {
			.h = {sizeof(task), REC_TASK, 0, 0}, .tgid = 7, .cgroup = 42};
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_growth, 1);
		snprintf(task.comm, sizeof(task.comm), "%s", told[i][0]);
		put(&b, &task);
		for (u64 n = 1; n <= 20; n++) {
			struct process_memory m = {
				.h = {sizeof(m), REC_PROCESS_MEMORY, 0, n * NSEC_PER_SEC / 2},
				.tgid = 7,
				.anon_bytes = 10 * MIB + n * MIB,
			};

			put(&b, &m);
		}
		f = only(&b);
		assert_true(says(f->try_, told[i][1]));
		assert_int_equal(says(f->try_, "memwhy leak -p 7"), i == 2);
		end(&b);
	}
}

/* The code path tells what is taken beside the heap: its own tools have that. */
static void test_parts(void **unused)
{
	static const struct {
		const char *comm, *function, *module, *told;
		const char *why; /* NULL: nothing in particular */
	} cases[] = {
		{"api", "runtime.stackpoolalloc", "/bin/api", "pprof/goroutine", NULL},
		{"api", "runtime.mallocgc", "/bin/api", "pprof/heap", NULL},
		{"java", "Metaspace::allocate", "/jdk/libjvm.so", "VM.classloader_stats", NULL},
		{"java", "Unsafe_SetMemory0", "/jdk/libjvm.so", "java.nio.Direct",
			"outside the Java heap, by direct buffers"},
		{"java", "G1CollectedHeap::allocate", "/jdk/libjvm.so", "GC.heap_info", NULL},
		{"node", "v8::internal::Builtin_TypedArrayPrototypeFill", "/bin/node", "external",
			"outside the V8 heap, by buffers"},
		{"node", "v8::internal::Heap::Scavenge", "/bin/node", "heapsnapshot-signal", NULL},
		{"x", "ArrayBuffer_fill", "/bin/x", "tracemalloc", NULL},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rec_task task = {
			.h = {sizeof(task), REC_TASK, 0, 0}, .tgid = 7, .cgroup = 42};
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_growth, 1);
		snprintf(task.comm, sizeof(task.comm), "%s", cases[i].comm);
		put(&b, &task);
		path_of(&b, cases[i].function, cases[i].module);
		for (u64 n = 1; n <= 20; n++) {
			struct process_memory m = {
				.h = {sizeof(m), REC_PROCESS_MEMORY, 0, n * NSEC_PER_SEC / 2},
				.tgid = 7,
				.anon_bytes = 10 * MIB + n * MIB,
			};

			put(&b, &m);
		}
		PUT(&b, struct faults_agg, REC_FAULTS_AGG, .tgid = 7, .count = 100, .stack = 5,
			.flags = FAULT_ACCESS_KNOWN | FAULT_WRITE | FAULT_ALLOCATED);
		f = only(&b);
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++)
			assert_int_equal(says(f->try_, cases[k].told), k == i);
		assert_true(!cases[i].why || strstr(f->why, cases[i].why));
		end(&b);
	}
}

/* A heap that may not be as large as what there is: what grows is beside it. */
static void test_beside(void **unused)
{
	static const char *const comms[] = {"java", "node"};
	static const char *const beside[] = {"allocateDirect", "process.memoryUsage()"};
	static const char *const inside[] = {"GC.heap_info", "heap snapshot"};

	(void)unused;
	for (int i = 0; i < 4; i++) {
		struct rec_task task = {
			.h = {sizeof(task), REC_TASK, 0, 0}, .tgid = 7, .cgroup = 42};
		bool is_beside = i < 2;
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_growth, 1);
		snprintf(task.comm, sizeof(task.comm), "%s", comms[i % 2]);
		put(&b, &task);
		for (u64 n = 1; n <= 20; n++) {
			struct process_memory m = {
				.h = {sizeof(m), REC_PROCESS_MEMORY, 0, n * NSEC_PER_SEC / 2},
				.tgid = 7,
				.anon_bytes = 700 * MIB + n * MIB,
				.heap_limit_bytes = is_beside ? 64 * MIB : 1024 * MIB,
			};

			put(&b, &m);
		}
		f = only(&b);
		assert_int_equal(says(f->evidence, "allow its heap 64.0 MiB"), is_beside);
		assert_int_equal(says(f->try_, beside[i % 2]), is_beside);
		assert_int_equal(says(f->try_, inside[i % 2]), !is_beside);
		end(&b);
	}
}

/* A Java heap has its addresses from the start: what maps as much as it takes is no part of it. */
static void test_beside_mapped(void **unused)
{
	(void)unused;
	for (u64 maps = 0; maps < 2; maps++) {
		struct rec_task task = {
			.h = {sizeof(task), REC_TASK, 0, 0}, .tgid = 7, .comm = "java"};
		const struct finding *f;
		struct bench b;

		begin(&b, &rule_growth, 1);
		put(&b, &task);
		for (u64 n = 1; n <= 20; n++) {
			struct process_memory m = {
				.h = {sizeof(m), REC_PROCESS_MEMORY, 0, n * NSEC_PER_SEC / 2},
				.tgid = 7,
				.anon_bytes = 70 * MIB + n * MIB,
				.vm_bytes = 3000 * MIB + n * maps * MIB,
				.heap_limit_bytes = 64 * MIB,
			};

			put(&b, &m);
		}
		f = only(&b);
		assert_int_equal(says(f->evidence, "address space grows by as much"), maps);
		assert_int_equal(says(f->try_, "allocateDirect"), maps);
		assert_int_equal(says(f->try_, "GC.heap_info"), !maps);
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_own_calls),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_beside_mapped),
	};

	return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
