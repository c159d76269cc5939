/*
 * perf.data files as a whole: records that are no samples and what follows them, pipes, features,
 * compressed records, the order of time with little memory, and files cut at every byte.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "perfdata/perfdata_fixture.h"

#define TYPE                                                                        \
	(PERFDATA_IP | PERFDATA_TID | PERFDATA_TIME | PERFDATA_ADDR | PERFDATA_ID | \
		PERFDATA_STREAM_ID | PERFDATA_CPU)

static const struct made_event two[] = {
	{.sample_type = TYPE,
		.flags = PERFDATA_FLAG_SAMPLE_ID_ALL,
		.name = "loads",
		.ids = {11, 12},
		.n_ids = 2,
		.read_format = PERFDATA_READ_ID},
	{.sample_type = TYPE | PERFDATA_WEIGHT,
		.flags = PERFDATA_FLAG_SAMPLE_ID_ALL,
		.name = "stores",
		.ids = {21, 22},
		.n_ids = 2},
};

static const struct made_sample somewhere = {
	.pid = 70, .tid = 71, .time = 5000, .id = 22, .stream_id = 99, .cpu = 3};

static const struct perfdata_record *next(struct perfdata *p, enum perfdata_type type)
{
	const struct perfdata_record *r;
	struct err err;

	assert_int_equal(perfdata_next(p, &r, &err), 1);
	assert_int_equal(r->type, type);
	return r;
}

static void end(struct perfdata *p)
{
	const struct perfdata_record *r;
	struct err err;

	assert_int_equal(perfdata_next(p, &r, &err), 0);
	assert_int_equal(perfdata_next(p, &r, &err), 0);
}

static void check_where(const struct perfdata_record *r)
{
	assert_int_equal(r->where.pid, 70);
	assert_int_equal(r->where.tid, 71);
	assert_int_equal(r->where.time, 5000);
	assert_int_equal(r->where.id, 22);
	assert_int_equal(r->where.stream_id, 99);
	assert_int_equal(r->where.cpu, 3);
	assert_ptr_not_equal(r->event, NULL);
	assert_int_equal(r->event->sample_type, two[1].sample_type);
}

static void put_numbers(struct made *m, u32 type, u16 misc, const u64 *v, size_t n)
{
	size_t at = made_begin(m, type, misc);

	put_u64s(m, v, n);
	put_trailer(m, &two[1], &somewhere);
	made_end(m, at);
}

static void put_ids(struct made *m, u32 type, const u32 *ids, size_t n, const u64 *v, size_t n_v)
{
	size_t at = made_begin(m, type, 0);

	for (size_t i = 0; i < n; i++)
		put_u32(m, ids[i]);
	put_u64s(m, v, n_v);
	put_trailer(m, &two[1], &somewhere);
	made_end(m, at);
}

static void put_others(struct made *m)
{
	static const u64 numbers[] = {101, 102, 103};
	static const u64 spaces[] = {2, 7, 8, 9, 10}, chain[] = {42, 2, 0x401000, 0x402000};
	static const u32 task[] = {80, 81, 82, 83};
	size_t at;

	put_mmap2(m, &two[1], &somewhere, 0x400000, 0x2000, "/bin/a", NULL);
	put_mmap2(m, &two[1], &somewhere, 0x500000, 0x3000, "/bin/b", "abcdefghijklmnopqrst");
	put_comm(m, &two[1], &somewhere, "comm one", true);
	put_ids(m, PERFDATA_FORK, task, 4, numbers, 1);
	put_ids(m, PERFDATA_EXIT, task, 4, numbers, 1);
	put_numbers(m, PERFDATA_LOST, 0, numbers, 2);
	put_numbers(m, PERFDATA_LOST_SAMPLES, 0, numbers, 1);
	put_numbers(m, PERFDATA_THROTTLE, 0, numbers, 3);
	put_numbers(m, PERFDATA_AUX, 0, numbers, 3);
	put_numbers(m, PERFDATA_SWITCH, PERFDATA_MISC_OUT | PERFDATA_MISC_PREEMPT, numbers, 0);
	put_ids(m, PERFDATA_SWITCH_CPU_WIDE, task, 2, numbers, 0);
	put_ids(m, PERFDATA_NAMESPACES, task, 2, spaces, 5);
	put_numbers(m, PERFDATA_CALLCHAIN_DEFERRED, 0, chain, 4);
	put_numbers(m, PERFDATA_KSYMBOL, 0, numbers, 3);
	at = made_begin(m, PERFDATA_CGROUP, 0);
	put_u64(m, 555);
	put_text(m, "/system.slice");
	put_trailer(m, &two[1], &somewhere);
	made_end(m, at);
}

static void check_maps(struct perfdata *p)
{
	const struct perfdata_record *r = next(p, PERFDATA_MMAP2);

	check_where(r);
	assert_int_equal(r->mmap.pid, 70);
	assert_int_equal(r->mmap.start, 0x400000);
	assert_int_equal(r->mmap.len, 0x2000);
	assert_int_equal(r->mmap.file_offset, 0x1000);
	assert_int_equal(r->mmap.major, 8);
	assert_int_equal(r->mmap.minor, 1);
	assert_int_equal(r->mmap.ino, 4711);
	assert_int_equal(r->mmap.ino_generation, 3);
	assert_int_equal(r->mmap.prot, 5);
	assert_int_equal(r->mmap.flags, 2);
	assert_string_equal(r->mmap.path, "/bin/a");
	assert_int_equal(r->mmap.build_id_len, 0);
	r = next(p, PERFDATA_MMAP2);
	assert_string_equal(r->mmap.path, "/bin/b");
	assert_int_equal(r->mmap.build_id_len, 20);
	assert_memory_equal(r->mmap.build_id, "abcdefghijklmnopqrst", 20);
	r = next(p, PERFDATA_COMM);
	assert_string_equal(r->comm.name, "comm one");
	assert_true(r->comm.exec);
}

static void check_tasks(struct perfdata *p)
{
	const struct perfdata_record *r = next(p, PERFDATA_FORK);

	check_where(r);
	assert_int_equal(r->task.pid, 80);
	assert_int_equal(r->task.ppid, 81);
	assert_int_equal(r->task.tid, 82);
	assert_int_equal(r->task.ptid, 83);
	assert_int_equal(r->task.time, 101);
	next(p, PERFDATA_EXIT);
	r = next(p, PERFDATA_LOST);
	assert_int_equal(r->lost.id, 101);
	assert_int_equal(r->lost.n, 102);
	assert_int_equal(next(p, PERFDATA_LOST_SAMPLES)->lost.n, 101);
	r = next(p, PERFDATA_THROTTLE);
	assert_int_equal(r->throttle.stream_id, 103);
	r = next(p, PERFDATA_AUX);
	assert_int_equal(r->aux.flags, 103);
	r = next(p, PERFDATA_SWITCH);
	assert_true(r->task_switch.out && r->task_switch.preempted);
	check_where(r);
	r = next(p, PERFDATA_SWITCH_CPU_WIDE);
	assert_int_equal(r->task_switch.tid, 81);
	assert_false(r->task_switch.out);
}

static void check_others(struct perfdata *p)
{
	const struct perfdata_record *r;

	check_maps(p);
	check_tasks(p);
	r = next(p, PERFDATA_NAMESPACES);
	assert_int_equal(r->namespaces.n, 2);
	assert_int_equal(r->namespaces.v[1].dev, 9);
	assert_int_equal(r->namespaces.v[1].ino, 10);
	r = next(p, PERFDATA_CALLCHAIN_DEFERRED);
	assert_int_equal(r->deferred.cookie, 42);
	assert_int_equal(r->deferred.n_ips, 2);
	assert_int_equal(r->deferred.ips[1], 0x402000);
	r = next(p, PERFDATA_KSYMBOL);
	assert_int_equal(r->other.size, 24);
	r = next(p, PERFDATA_CGROUP);
	assert_int_equal(r->cgroup.id, 555);
	assert_string_equal(r->cgroup.path, "/system.slice");
	check_where(r);
}

static void other_records(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++)
		for (int pipe = 0; pipe < 2; pipe++) {
			_cleanup_perfdata_ struct perfdata *p = NULL;
			struct made m = {.swap = swap};
			struct err err;

			if (pipe)
				made_pipe(&m, two, 2);
			else
				made_file(&m, two, 2);
			put_others(&m);
			if (!pipe)
				made_records_end(&m);
			assert_int_equal(made_open(&m, NULL, &p, &err), 0);
			check_others(p);
			end(p);
			assert_int_equal(perfdata_events(p), 2);
			assert_string_equal(perfdata_event(p, 1)->name, pipe ? "stores" : "");
			assert_int_equal(perfdata_fields_any(p), TYPE | PERFDATA_WEIGHT);
			str_free(&m.s);
		}
}

static void put_topology(struct made *m, size_t table, int i)
{
	size_t from = m->s.len;

	put_u32(m, 2);
	for (u32 node = 0; node < 2; node++) {
		put_u32(m, node * 3);
		put_u64(m, 1024 * (node + 1));
		put_u64(m, 512);
		put_string(m, node ? "4-5,7,12-15\n" : "0-3\n");
	}
	made_feature(m, table, i, from);
}

static void put_memory(struct made *m, size_t table, int i)
{
	size_t from = m->s.len;

	put_u64(m, 1);
	put_u64(m, 128 << 20);
	put_u64(m, 2);
	put_u64(m, 3);
	put_u64(m, 1);
	put_u64(m, 70); /* bits */
	put_u64(m, 0xf0);
	put_u64(m, 1);
	put_u64(m, 0);
	put_u64(m, 1);
	put_u64(m, 8);
	put_u64(m, 0x0f);
	made_feature(m, table, i, from);
}

static void put_build_ids(struct made *m, size_t table, int i)
{
	size_t from = m->s.len;

	for (int old = 0; old < 2; old++) {
		size_t at = made_begin(m, PERFDATA_BUILD_ID,
			(u16)(PERFDATA_MODE_USER | (old ? 0 : PERFDATA_MISC_BUILD_ID_SIZE)));

		put_u32(m, ~0U);
		put_bytes(m, "abcdefghijklmnopqrst", 20);
		put_bytes(m, "\x10\0\0\0", 4);
		put_text(m, old ? "/bin/old" : "/bin/new");
		made_end(m, at);
	}
	made_feature(m, table, i, from);
}

static void put_strings(struct made *m, size_t table)
{
	size_t from = m->s.len;

	put_string(m, "host one");
	made_feature(m, table, 1, from);
	from = m->s.len;
	put_string(m, "6.1.0");
	made_feature(m, table, 2, from);
	from = m->s.len;
	put_u32(m, 16);
	put_u32(m, 12);
	made_feature(m, table, 3, from);
	from = m->s.len;
	put_u32(m, 2);
	put_string(m, "perf");
	put_string(m, "mem record");
	made_feature(m, table, 4, from);
}

static void make_features(struct made *m)
{
	size_t table;

	made_file(m, two, 2);
	put_others(m);
	made_records_end(m);
	table = m->s.len;
	made_features(m, 1ULL << PERFDATA_FEAT_BUILD_ID | 1ULL << PERFDATA_FEAT_HOSTNAME |
				 1ULL << PERFDATA_FEAT_OSRELEASE | 1ULL << PERFDATA_FEAT_NRCPUS |
				 1ULL << PERFDATA_FEAT_CMDLINE |
				 1ULL << PERFDATA_FEAT_NUMA_TOPOLOGY |
				 1ULL << PERFDATA_FEAT_MEM_TOPOLOGY);
	put_build_ids(m, table, 0);
	put_strings(m, table);
	put_topology(m, table, 5);
	put_memory(m, table, 6);
}

static void check_nodes(const struct perfdata_host *h)
{
	static const int cpus[] = {0, 0, 0, 0, 3, 3, -1, 3, -1, -1, -1, -1, 3, 3, 3, 3, -1};

	assert_int_equal(h->nodes.n, 2);
	assert_int_equal(h->nodes.v[1].id, 3);
	assert_int_equal(h->nodes.v[1].total_bytes, 2048 << 10);
	for (u32 i = 0; i < ARRAY_SIZE(cpus); i++)
		assert_int_equal(perfdata_node_of_cpu(h, i), cpus[i]);
	assert_int_equal(perfdata_node_of_memory(h, 0), 0);
	assert_int_equal(perfdata_node_of_memory(h, (512 << 20) - 1), 0);
	assert_int_equal(perfdata_node_of_memory(h, 512 << 20), 3);
	assert_int_equal(perfdata_node_of_memory(h, (8ULL * 128 << 20) - 1), 3);
	assert_int_equal(perfdata_node_of_memory(h, 8ULL * 128 << 20), -1);
	assert_int_equal(perfdata_node_of_memory(h, 64ULL * 128 << 20), 3);
	assert_int_equal(perfdata_node_of_memory(h, ~0ULL), -1);
}

static void features(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		_cleanup_perfdata_ struct perfdata *p = NULL;
		struct made m = {.swap = swap};
		const struct perfdata_host *h;
		struct err err;

		make_features(&m);
		assert_int_equal(made_open(&m, NULL, &p, &err), 0);
		h = perfdata_host(p);
		assert_string_equal(h->hostname, "host one");
		assert_string_equal(h->release, "6.1.0");
		assert_null(h->arch);
		assert_int_equal(h->cpus_present, 16);
		assert_int_equal(h->cpus_online, 12);
		assert_int_equal(h->argc, 2);
		assert_string_equal(h->argv[1], "mem record");
		assert_int_equal(h->build_ids.n, 2);
		assert_int_equal(h->build_ids.v[0].len, 16);
		assert_int_equal(h->build_ids.v[1].len, 20);
		assert_string_equal(h->build_ids.v[0].path, "/bin/new");
		check_nodes(h);
		check_others(p);
		end(p);
		str_free(&m.s);
	}
}

/* A file cut anywhere gives the records before, an error in words, and nothing else. */
static void cut_everywhere(void **state)
{
	struct made m = {};
	size_t whole;

	(void)state;
	make_features(&m);
	for (whole = m.s.len; whole-- > 1;) {
		_cleanup_perfdata_ struct perfdata *p = NULL;
		const struct perfdata_record *r;
		struct err err = {};
		int rc;

		m.s.len = whole;
		rc = made_open(&m, NULL, &p, &err);
		while (!rc && (rc = perfdata_next(p, &r, &err)) == 1)
			rc = 0;
		assert_int_equal(rc, whole < 8 ? -EINVAL : -ENODATA);
		assert_int_equal(err.code, rc);
		assert_true(err.msg[0]);
	}
	str_free(&m.s);
}

static struct made_sample at_time(u64 time, u64 id)
{
	struct made_sample s = {.time = time, .id = id, .ip = time, .addr = time * 2};

	return s;
}

/* Rounds of four runs each, of which one is late by a round. */
static void make_rounds(struct made *m, u64 rounds, u64 *seed)
{
	for (u64 round = 0; round < rounds; round++) {
		for (u64 cpu = 0; cpu < 5; cpu++)
			for (u64 i = 0; i < 50; i++) {
				u64 late = cpu == 4 && round ? 1000 : 0;
				struct made_sample s = at_time(
					1 + round * 1000 - late + i * 20 + made_random(seed) % 20,
					cpu & 1 ? 11 : 21);

				put_sample(m, &two[cpu & 1 ? 0 : 1], &s, 0);
			}
		put_round(m);
	}
}

static u64 read_ordered(const struct made *m, const struct perfdata_options *o, u64 want)
{
	_cleanup_perfdata_ struct perfdata *p = NULL;
	const struct perfdata_record *r;
	u64 n = 0, last = 0, late = 0;
	struct err err;
	int rc;

	assert_int_equal(made_open(m, o, &p, &err), 0);
	for (; (rc = perfdata_next(p, &r, &err)) == 1; n++) {
		assert_int_equal(r->sample.addr, r->where.time * 2);
		late += r->where.time < last;
		last = MAX(last, r->where.time);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(n, want);
	if (!o || !o->unordered)
		assert_int_equal(perfdata_stats(p)->late, late);
	return late;
}

static void ordered(void **state)
{
	struct perfdata_options little = {.max_queued = 1}, none = {.unordered = true};
	struct made m = {}, packed = {}, inner = {};
	u64 seed = 5;

	(void)state;
	made_file(&m, two, 2);
	make_rounds(&m, 300, &seed);
	made_records_end(&m);
	assert_int_equal(read_ordered(&m, NULL, 300 * 250), 0);
	assert_true(read_ordered(&m, &little, 300 * 250) > 0);
	assert_true(read_ordered(&m, &none, 300 * 250) > 0);
	made_pipe(&packed, two, 2);
	make_rounds(&inner, 300, &seed);
	for (int v2 = 0; v2 < 2; v2++) {
		packed.s.len = 0;
		made_pipe(&packed, two, 2);
		put_compressed(&packed, &inner.s, 777, v2);
		assert_int_equal(read_ordered(&packed, NULL, 300 * 250), 0);
	}
	str_free(&m.s);
	str_free(&packed.s);
	str_free(&inner.s);
}

static void open_error(const struct made *m, const char *words)
{
	struct perfdata *p = NULL;
	struct err err = {};

	assert_true(made_open(m, NULL, &p, &err) < 0);
	assert_null(p);
	assert_non_null(strstr(err.msg, words));
}

static void refused(void **state)
{
	static const struct made_event apart[] = {{.sample_type = PERFDATA_IP | PERFDATA_ID},
		{.sample_type = PERFDATA_IP | PERFDATA_TID | PERFDATA_ID}};
	struct made m = {};
	size_t table;

	(void)state;
	str_add(&m.s, "PERFFILE a long time ago");
	open_error(&m, "first format");
	str_clear(&m.s);
	str_add(&m.s, "\177ELF and so on");
	open_error(&m, "is not a perf.data file");
	str_clear(&m.s);
	open_error(&m, "is empty");
	made_file(&m, apart, 2);
	made_records_end(&m);
	open_error(&m, "cannot be distinguished");
	str_clear(&m.s);
	made_file(&m, two, 2);
	put_others(&m);
	made_records_end(&m);
	table = m.s.len;
	made_features(&m, 1ULL << PERFDATA_FEAT_DIR_FORMAT);
	made_feature(&m, table, 0, m.s.len);
	open_error(&m, "in a directory");
	str_free(&m.s);
}

/* What perf writes when it is killed: records, and a head that does not say how many. */
static void unclosed(void **state)
{
	_cleanup_perfdata_ struct perfdata *p = NULL;
	const struct perfdata_record *r;
	struct made m = {};
	struct err err;

	(void)state;
	made_file(&m, two, 2);
	put_others(&m);
	assert_int_equal(made_open(&m, NULL, &p, &err), 0);
	check_others(p);
	assert_int_equal(perfdata_next(p, &r, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "not closed in order"));
	str_free(&m.s);
}

/* Traces behind a record are stepped over; what cannot be unpacked costs no more than itself. */
static void stepped_over(void **state)
{
	_cleanup_perfdata_ struct perfdata *p = NULL;
	const struct perfdata_record *r;
	struct made m = {}, inner = {};
	struct err err;
	size_t at;

	(void)state;
	made_pipe(&m, two, 2);
	at = made_begin(&m, PERFDATA_AUXTRACE, 0);
	put_u64(&m, 100000);
	for (int i = 0; i < 4; i++)
		put_u64(&m, 0);
	made_end(&m, at);
	for (int i = 0; i < 100000 / 8; i++)
		put_u64(&m, ~0ULL);
	at = made_begin(&m, PERFDATA_TRACING_DATA, 0);
	put_u32(&m, 13);
	made_end(&m, at);
	put_u64s(&m, (u64[]){1, 2}, 2);
	put_comm(&m, &two[0], &somewhere, "after", false);
	put_others(&inner);
	at = m.s.len;
	put_compressed(&m, &inner.s, 60000, false);
	m.s.buf[at + 20] ^= 0x55;
	put_comm(&m, &two[0], &somewhere, "last", false);
	assert_int_equal(made_open(&m, NULL, &p, &err), 0);
	assert_string_equal(next(p, PERFDATA_COMM)->comm.name, "after");
	while (perfdata_next(p, &r, &err) == 1 && strcmp(r->comm.name, "last"))
		;
	assert_string_equal(r->comm.name, "last");
	assert_int_equal(perfdata_next(p, &r, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "cannot be unpacked"));
	str_free(&m.s);
	str_free(&inner.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_records),
		cmocka_unit_test(features),
		cmocka_unit_test(cut_everywhere),
		cmocka_unit_test(ordered),
		cmocka_unit_test(refused),
		cmocka_unit_test(unclosed),
		cmocka_unit_test(stepped_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
