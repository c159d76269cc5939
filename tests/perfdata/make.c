/*
 * Writes a perf.data file whose contents are known, for perf to read too: see
 * tests/native/perfdata.bats. usage: make KIND [swapped] [pipe] [packed] >FILE
 * sources: a sample for each code of perf_mem_data_src, and many combinations of them
 * order: two events on four CPUs, in rounds, out of order in the file
 * any: samples with every field there is, and anything in them; made for the fuzz target
 * A number says how many samples.
 */
#include <stdio.h>

#include "../unit/perfdata/perfdata_fixture.h"

#define TYPE                                                                                \
	(PERFDATA_IDENTIFIER | PERFDATA_IP | PERFDATA_TID | PERFDATA_TIME | PERFDATA_ADDR | \
		PERFDATA_CPU | PERFDATA_PERIOD | PERFDATA_CALLCHAIN | PERFDATA_WEIGHT |     \
		PERFDATA_DATA_SRC | PERFDATA_PHYS_ADDR | PERFDATA_DATA_PAGE_SIZE |          \
		PERFDATA_CODE_PAGE_SIZE)
#define FLAGS (PERFDATA_FLAG_SAMPLE_ID_ALL | 1ULL << 8 | 1ULL << 9 | 1ULL << 13)

static const struct made_event events[] = {
	{.pmu = 4,
		.config = 0x1cd,
		.period = 1000,
		.sample_type = TYPE,
		.flags = FLAGS,
		.name = "mem-loads",
		.ids = {101, 102, 103, 104},
		.n_ids = 4},
	{.pmu = 4,
		.config = 0x82d0,
		.period = 1000,
		.sample_type = TYPE,
		.flags = FLAGS,
		.name = "mem-stores",
		.ids = {201, 202, 203, 204},
		.n_ids = 4},
};

static const struct made_event any[] = {
	{.pmu = 4,
		.period = 1,
		.sample_type = PERFDATA_FIELDS,
		.flags = FLAGS,
		.read_format = PERFDATA_READ_FORMATS,
		.regs_user = 0xff0fff,
		.regs_intr = 0xff,
		.branch_type = PERFDATA_BRANCH_HW_INDEX | PERFDATA_BRANCH_COUNTERS,
		.name = "any",
		.ids = {1},
		.n_ids = 1},
};

static struct made_sample sample_make(u64 i, u64 time)
{
	struct made_sample s = {.id = i % 4 + (i & 4 ? 201 : 101), .cpu = (u32)(i % 4)};

	s.pid = 4000;
	s.tid = 4000 + (u32)(i % 4);
	s.time = time;
	s.ip = 0x401000 + i % 4096;
	s.addr = 0x7f0000000000 + i * 64;
	s.period = 1 + i % 1000;
	s.weight = i % 500;
	s.phys_addr = 0x100000000 + i * 64;
	s.data_page = i & 1 ? 4096 : 2 << 20;
	s.code_page = 4096;
	s.data_src = 0x68100142;
	s.n_ips = 4;
	s.ips[0] = (u64)-512;
	s.ips[1] = s.ip;
	s.ips[2] = 0x402000 + i % 7;
	s.ips[3] = 0x403000;
	return s;
}

static void put_beginning(struct made *m, const struct made_event *e)
{
	struct made_sample none = {.pid = 4000, .tid = 4000};

	put_comm(m, e, &none, "worker", false);
}

/* Each field through all its values, then what follows from a sequence of random numbers. */
static u64 source_value(u64 i)
{
	static const struct {
		unsigned int shift, bits;
		bool set; /* of bits; else a number */
	} fields[] = {{0, 5, true}, {5, 14, true}, {19, 5, true}, {24, 2, true}, {26, 7, true},
		{33, 4, false}, {37, 1, false}, {38, 2, false}, {40, 3, true}, {43, 3, false}};
	u64 seed = i * 0x9e3779b97f4a7c15ULL + 1;

	for (size_t f = 0; f < ARRAY_SIZE(fields); f++) {
		u64 n = fields[f].set ? fields[f].bits : 1ULL << fields[f].bits;

		if (i < n)
			return (fields[f].set ? 1ULL << i : i) << fields[f].shift;
		i -= n;
	}
	made_random(&seed);
	return made_random(&seed) & ((1ULL << 46) - 1);
}

static void make_sources(struct made *m, u64 n)
{
	for (u64 i = 0; i < n; i++) {
		struct made_sample s = sample_make(i, 1000000000 + i * 1000);

		s.data_src = source_value(i);
		put_sample(m, &events[i & 4 ? 1 : 0], &s, PERFDATA_MODE_USER);
	}
}

/* Each round has what four CPUs did, one after the other, and some of what they did before. */
static void make_order(struct made *m, u64 n)
{
	for (u64 round = 0; round * 4000 < n; round++) {
		for (u64 cpu = 0; cpu < 4; cpu++)
			for (u64 i = 0; i < 1000; i++) {
				u64 number = (round * 1000 + i) * 4 + cpu;
				u64 time = 1000000000 + number * 1000;
				struct made_sample s;

				if (cpu == 3 && round)
					time -= 900000; /* was late to be read */
				s = sample_make(number, time);
				put_sample(m, &events[number & 4 ? 1 : 0], &s, PERFDATA_MODE_USER);
			}
		put_round(m);
	}
}

static void make_any(struct made *m, u64 n)
{
	u64 seed = n;

	for (u64 i = 0; i < n; i++) {
		struct made_sample s;

		made_any(&s, &seed);
		s.time = 1000 - i;
		s.id = 1;
		put_sample(m, any, &s, PERFDATA_MODE_USER);
		put_mmap2(m, any, &s, 0x400000, 0x1000, "/bin/a", "abcdefghijklmnopqrst");
		put_comm(m, any, &s, "any", true);
	}
}

static void put_names(struct made *m)
{
	size_t table = m->s.len, from;

	made_features(m, 1ULL << PERFDATA_FEAT_HOSTNAME | 1ULL << PERFDATA_FEAT_EVENT_DESC);
	from = m->s.len;
	put_string(m, "elsewhere");
	made_feature(m, table, 0, from);
	from = m->s.len;
	put_u32(m, ARRAY_SIZE(events));
	put_u32(m, 128);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		put_attr(m, &events[i]);
		put_u32(m, (u32)events[i].n_ids);
		put_string(m, events[i].name);
		put_u64s(m, events[i].ids, events[i].n_ids);
	}
	made_feature(m, table, 1, from);
}

int main(int argc, char **argv)
{
	struct made m = {}, inner = {};
	size_t n_events = ARRAY_SIZE(events);
	const struct made_event *e = events;
	bool pipe = false, packed = false;
	u64 n = 4000;

	for (int i = 2; i < argc; i++) {
		m.swap |= !strcmp(argv[i], "swapped");
		pipe |= !strcmp(argv[i], "pipe");
		packed |= !strcmp(argv[i], "packed");
		n = strtoull(argv[i], NULL, 10) ? strtoull(argv[i], NULL, 10) : n;
	}
	inner.swap = m.swap;
	if (argc > 1 && !strcmp(argv[1], "any"))
		e = any, n_events = 1;
	if (pipe)
		made_pipe(&m, e, n_events);
	else
		made_file(&m, e, n_events);
	put_beginning(&m, e);
	if (e == any)
		make_any(packed ? &inner : &m, n);
	else if (argc > 1 && !strcmp(argv[1], "sources"))
		make_sources(packed ? &inner : &m, n);
	else
		make_order(packed ? &inner : &m, n);
	if (packed)
		put_compressed(&m, &inner.s, 5001, true);
	if (!pipe) {
		made_records_end(&m);
		put_names(&m);
	}
	if (m.s.failed || fwrite(m.s.buf, 1, m.s.len, stdout) != m.s.len)
		return 1;
	str_free(&m.s);
	str_free(&inner.s);
	return fclose(stdout) ? 1 : 0;
}
