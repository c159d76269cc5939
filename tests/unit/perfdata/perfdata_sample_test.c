/*
 * Samples of perf.data files: every layout that sample_type, read_format and the other words of an
 * event can ask for comes out as it was written, in both byte orders, and is refused when it is a
 * byte short.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "perfdata/perfdata_fixture.h"

static void check_words(const u64 *got, const u64 *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
}

static void check_identity(const struct perfdata_record *r, u64 t, const struct made_sample *want)
{
	const struct perfdata_where *w = &r->where;
	bool id = t & (PERFDATA_IDENTIFIER | PERFDATA_ID);

	assert_int_equal(w->have, t & (PERFDATA_IDENTIFIER | PERFDATA_ID | PERFDATA_TID |
					      PERFDATA_TIME | PERFDATA_STREAM_ID | PERFDATA_CPU));
	assert_int_equal(w->id, id ? want->id : 0);
	assert_int_equal(w->pid, t & PERFDATA_TID ? want->pid : 0);
	assert_int_equal(w->tid, t & PERFDATA_TID ? want->tid : 0);
	assert_int_equal(w->time, t & PERFDATA_TIME ? want->time : 0);
	assert_int_equal(w->stream_id, t & PERFDATA_STREAM_ID ? want->stream_id : 0);
	assert_int_equal(w->cpu, t & PERFDATA_CPU ? want->cpu : 0);
	assert_int_equal(r->sample.ip, t & PERFDATA_IP ? want->ip : 0);
	assert_int_equal(r->sample.addr, t & PERFDATA_ADDR ? want->addr : 0);
	assert_int_equal(r->sample.period, t & PERFDATA_PERIOD                    ? want->period
					   : r->event->flags & PERFDATA_FLAG_FREQ ? 0
										  : 4711);
}

static void check_read(const struct perfdata_read *r, u64 f, const struct made_sample *want)
{
	assert_int_equal(r->n, f & PERFDATA_READ_GROUP ? want->n_read : 1);
	assert_int_equal(r->enabled_ns, f & PERFDATA_READ_ENABLED ? want->read[0] : 0);
	assert_int_equal(r->running_ns, f & PERFDATA_READ_RUNNING ? want->read[1] : 0);
	for (u64 i = 0; i < r->n; i++) {
		u64 id, lost;

		assert_int_equal(perfdata_read_value(r, i, &id, &lost), want->read[2 + 3 * i]);
		assert_int_equal(id, f & PERFDATA_READ_ID ? want->read[3 + 3 * i] : 0);
		assert_int_equal(lost, f & PERFDATA_READ_LOST ? want->read[4 + 3 * i] : 0);
	}
}

static void check_regs(const struct perfdata_regs *r, u64 mask, u64 abi, const u64 *want)
{
	assert_int_equal(r->abi, abi);
	assert_int_equal(r->n, abi ? __builtin_popcountll(mask) : 0);
	check_words(r->v, want, r->n);
}

static void check_branches(
	const struct perfdata_sample *s, u64 type, const struct made_sample *want)
{
	assert_int_equal(s->n_branches, want->n_branches);
	assert_int_equal(s->branch_index, type & PERFDATA_BRANCH_HW_INDEX ? want->branch_index : 0);
	check_words((const u64 *)s->branches, want->branches, 3 * s->n_branches);
	if (type & PERFDATA_BRANCH_COUNTERS)
		check_words(s->branch_counters, want->counters, s->n_branches);
	else
		assert_null(s->branch_counters);
}

static void check_weight(const struct perfdata_sample *s, u64 t, u64 want)
{
	if (t & PERFDATA_WEIGHT) {
		assert_int_equal(s->weight, want);
	} else if (t & PERFDATA_WEIGHT_STRUCT) {
		assert_int_equal(s->weight, (u32)want);
		assert_int_equal(s->weight2, want >> 32 & 0xffff);
		assert_int_equal(s->weight3, want >> 48);
	} else {
		assert_int_equal(s->weight, 0);
	}
}

static void check_variable(
	const struct perfdata_sample *s, const struct made_event *e, const struct made_sample *want)
{
	u64 t = e->sample_type;

	if (t & PERFDATA_READ_VALUES)
		check_read(&s->read, e->read_format, want);
	assert_int_equal(s->n_ips, t & PERFDATA_CALLCHAIN ? want->n_ips : 0);
	check_words(s->ips, want->ips, s->n_ips);
	assert_int_equal(s->raw_size, t & PERFDATA_RAW ? want->raw_size : 0);
	assert_memory_equal(s->raw_size ? s->raw : "", want->raw, s->raw_size);
	if (t & PERFDATA_BRANCH_STACK)
		check_branches(s, e->branch_type, want);
	if (t & PERFDATA_REGS_USER)
		check_regs(&s->user, e->regs_user, want->user_abi, want->user);
	if (t & PERFDATA_REGS_INTR)
		check_regs(&s->intr, e->regs_intr, want->intr_abi, want->intr);
	assert_int_equal(s->stack_size, t & PERFDATA_STACK_USER ? want->stack_size : 0);
	assert_int_equal(s->stack_used, s->stack_size ? want->stack_used : 0);
	assert_memory_equal(s->stack_size ? s->stack : "", want->stack, s->stack_size);
	assert_int_equal(s->aux_size, t & PERFDATA_AUX_DATA ? want->aux_size : 0);
	assert_memory_equal(s->aux_size ? s->aux : "", want->aux, s->aux_size);
}

static void check_sample(
	const struct perfdata_record *r, const struct made_event *e, const struct made_sample *want)
{
	const struct perfdata_sample *s = &r->sample;
	u64 t = e->sample_type;

	assert_int_equal(r->type, PERFDATA_SAMPLE);
	assert_int_equal(r->misc, PERFDATA_MODE_USER | PERFDATA_MISC_EXACT_IP);
	check_identity(r, t, want);
	check_variable(s, e, want);
	check_weight(s, t, want->weight);
	assert_int_equal(s->data_src, t & PERFDATA_DATA_SRC ? want->data_src : 0);
	assert_int_equal(s->transaction, t & PERFDATA_TRANSACTION ? want->transaction : 0);
	assert_int_equal(s->phys_addr, t & PERFDATA_PHYS_ADDR ? want->phys_addr : 0);
	assert_int_equal(s->cgroup, t & PERFDATA_CGROUP_ID ? want->cgroup : 0);
	assert_int_equal(s->data_page_size, t & PERFDATA_DATA_PAGE_SIZE ? want->data_page : 0);
	assert_int_equal(s->code_page_size, t & PERFDATA_CODE_PAGE_SIZE ? want->code_page : 0);
}

/* Writes a few samples of an event, reads them, and then once more with the last one short. */
static void round_trip(const struct made_event *e, bool swap, u64 *seed)
{
	struct perfdata_options o = {.unordered = true};
	_cleanup_perfdata_ struct perfdata *p = NULL, *cut = NULL;
	struct made_sample want[3];
	struct made m = {.swap = swap};
	const struct perfdata_record *r;
	size_t last = 0;
	struct err err;

	made_file(&m, e, 1);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		made_any(&want[i], seed);
		last = m.s.len;
		put_sample(&m, e, &want[i], PERFDATA_MODE_USER | PERFDATA_MISC_EXACT_IP);
	}
	made_records_end(&m);
	assert_int_equal(made_open(&m, &o, &p, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(perfdata_next(p, &r, &err), 1);
		check_sample(r, e, &want[i]);
	}
	assert_int_equal(perfdata_next(p, &r, &err), 0);
	if (m.s.len - last >= 16) { /* has any field */
		m.s.len -= 8;
		made_end(&m, last);
		made_records_end(&m);
		assert_int_equal(made_open(&m, &o, &cut, &err), 0);
		assert_int_equal(perfdata_next(cut, &r, &err), 1);
		assert_int_equal(perfdata_next(cut, &r, &err), 1);
		assert_int_equal(perfdata_next(cut, &r, &err), -ENODATA);
		assert_int_equal(perfdata_stats(cut)->malformed, 1);
	}
	str_free(&m.s);
}

static struct made_event event_of(u64 type, u64 *seed)
{
	struct made_event e = {.sample_type = type, .period = 4711, .ids = {7}, .n_ids = 1};

	e.flags = made_random(seed) & PERFDATA_FLAG_FREQ;

	e.read_format = made_random(seed) & PERFDATA_READ_FORMATS;
	e.branch_type = made_random(seed) & (PERFDATA_BRANCH_HW_INDEX | PERFDATA_BRANCH_COUNTERS);
	e.regs_user = made_random(seed);
	e.regs_intr = made_random(seed) & made_random(seed);
	return e;
}

static void every_field_and_pair(void **state)
{
	u64 seed = 1;

	(void)state;
	for (int i = 0; i < 25; i++)
		for (int j = i; j < 25; j++)
			for (int swap = 0; swap < 2; swap++) {
				struct made_event e = event_of(1ULL << i | 1ULL << j, &seed);

				round_trip(&e, swap, &seed);
			}
}

static void any_combination(void **state)
{
	u64 seed = 2;

	(void)state;
	for (int i = 0; i < 6000; i++) {
		struct made_event e = event_of(made_random(&seed) & PERFDATA_FIELDS, &seed);

		round_trip(&e, i & 1, &seed);
	}
	for (int swap = 0; swap < 2; swap++) {
		struct made_event e = event_of(PERFDATA_FIELDS, &seed);

		round_trip(&e, swap, &seed);
	}
}

static void every_read_format(void **state)
{
	u64 seed = 3;

	(void)state;
	for (u64 f = 0; f <= PERFDATA_READ_FORMATS; f++)
		for (int swap = 0; swap < 2; swap++) {
			struct made_event e = event_of(PERFDATA_READ_VALUES | PERFDATA_IP, &seed);

			e.read_format = f;
			round_trip(&e, swap, &seed);
		}
}

/* Counts that do not fit the record must not be believed. */
static void great_counts(void **state)
{
	static const u64 counted[] = {PERFDATA_CALLCHAIN, PERFDATA_BRANCH_STACK,
		PERFDATA_READ_VALUES, PERFDATA_STACK_USER, PERFDATA_AUX_DATA};
	static const u64 counts[] = {5, 1ULL << 31, 1ULL << 61, 1ULL << 62, 1ULL << 63, ~0ULL};
	const struct perfdata_record *r;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		for (size_t j = 0; j < ARRAY_SIZE(counts); j++) {
			struct made_event e = {.sample_type = counted[i],
				.read_format = PERFDATA_READ_GROUP | PERFDATA_READ_ID};
			_cleanup_perfdata_ struct perfdata *p = NULL;
			struct made m = {};
			size_t at;

			made_file(&m, &e, 1);
			at = made_begin(&m, PERFDATA_SAMPLE, 0);
			put_u64(&m, counts[j]);
			put_u32(&m, 5);
			made_end(&m, at);
			made_records_end(&m);
			assert_int_equal(made_open(&m, NULL, &p, &err), 0);
			assert_int_equal(perfdata_next(p, &r, &err), -ENODATA);
			assert_non_null(strstr(err.msg, "1 malformed record"));
			str_free(&m.s);
		}
}

static void chains(void **state)
{
	static const u64 ips[] = {(u64)-128, 0xffffffff81000001, 0xffffffff81000002, (u64)-512,
		0x401000, 0x402000, (u64)-640, 42, (u64)-33, 0x55};
	static const struct {
		u64 ip;
		enum perfdata_context context;
	} want[] = {
		{0xffffffff81000001, PERFDATA_CONTEXT_KERNEL},
		{0xffffffff81000002, PERFDATA_CONTEXT_KERNEL},
		{0x401000, PERFDATA_CONTEXT_USER},
		{0x402000, PERFDATA_CONTEXT_USER},
		{0x55, PERFDATA_CONTEXT_UNKNOWN},
	};
	struct perfdata_sample s = {.n_ips = ARRAY_SIZE(ips), .ips = ips};
	enum perfdata_context context = PERFDATA_CONTEXT_NONE;
	u64 i = 0, ip;

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(want); n++) {
		assert_true(perfdata_chain_next(&s, &i, &context, &ip));
		assert_int_equal(ip, want[n].ip);
		assert_int_equal(context, want[n].context);
	}
	assert_false(perfdata_chain_next(&s, &i, &context, &ip));
	assert_int_equal(perfdata_chain_cookie(&s), 42);
	s.n_ips = 6;
	assert_int_equal(perfdata_chain_cookie(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_and_pair),
		cmocka_unit_test(any_combination),
		cmocka_unit_test(every_read_format),
		cmocka_unit_test(great_counts),
		cmocka_unit_test(chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
