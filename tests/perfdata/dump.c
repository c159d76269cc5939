/*
 * Prints what the reader of perf.data files finds, in lines that can be held against those of
 * `perf script`: see tests/native/perfdata.bats. usage: dump [-u] [-q] FILE
 * -u: in the order of the file; -q: only what was counted.
 */
#include <stdio.h>
#include <string.h>

#include "perfdata/data_src.h"
#include "perfdata/perfdata.h"

static void print_sample(const struct perfdata_record *r)
{
	enum perfdata_context context = PERFDATA_CONTEXT_NONE;
	const struct perfdata_sample *s = &r->sample;
	u64 i = 0, ip;

	printf("sample %u %u %u %llu %s %llu %llx %llx", r->where.pid, r->where.tid, r->where.cpu,
		r->where.time / 1000, r->event->name, s->period, s->addr, s->ip);
	printf(" %llx %llu %llx %llu %llu", s->data_src, s->weight, s->phys_addr, s->data_page_size,
		s->code_page_size);
	while (perfdata_chain_next(s, &i, &context, &ip))
		printf(" %llx", ip);
	putchar('\n');
}

static void print_source(u64 value)
{
	struct data_src d;

	data_src_decode(value, &d);
	printf("source %llx op=%u level=%s place=%d snoop=%d lock=%d tlb=%u blk=%d\n", value, d.op,
		data_level_name(d.level), d.place, d.snoop, d.locked, d.tlb,
		d.blocked_data + 2 * d.blocked_address);
}

static void print_record(const struct perfdata_record *r)
{
	switch (r->type) {
	case PERFDATA_SAMPLE:
		print_sample(r);
		if (r->event->sample_type & PERFDATA_DATA_SRC)
			print_source(r->sample.data_src);
		break;
	case PERFDATA_MMAP:
	case PERFDATA_MMAP2:
		printf("mmap %d %d %llx %llx %llx %s\n", (int)r->mmap.pid, (int)r->mmap.tid,
			r->mmap.start, r->mmap.len, r->mmap.file_offset, r->mmap.path);
		break;
	case PERFDATA_COMM:
		printf("comm %u %u %s%s\n", r->comm.pid, r->comm.tid, r->comm.name,
			r->comm.exec ? " exec" : "");
		break;
	case PERFDATA_FORK:
	case PERFDATA_EXIT:
		printf("%s %u %u %u %u\n", r->type == PERFDATA_FORK ? "fork" : "exit", r->task.pid,
			r->task.tid, r->task.ppid, r->task.ptid);
		break;
	default:
		printf("type %d\n", r->type);
		break;
	}
}

static void print_host(const struct perfdata *p)
{
	const struct perfdata_host *h = perfdata_host(p);

	printf("host %s release %s arch %s cpus %u of %u memory %llu nodes %zu\n",
		h->hostname ? h->hostname : "?", h->release ? h->release : "?",
		h->arch ? h->arch : "?", h->cpus_online, h->cpus_present, h->memory_bytes >> 10,
		h->nodes.n);
	printf("cpu %s\n", h->cpu ? h->cpu : "?");
	printf("cmdline");
	for (u32 i = 0; i < h->argc; i++)
		printf(" %s", h->argv[i]);
	printf("\ntimes %llu %llu\n", h->first_ns / 1000, h->last_ns / 1000);
	vec_each (b, &h->build_ids) {
		printf("build-id ");
		for (int i = 0; i < b->len; i++)
			printf("%02x", b->id[i]);
		printf(" %s\n", b->path);
	}
}

int main(int argc, char **argv)
{
	const struct perfdata_record *r;
	struct perfdata_options o = {};
	struct perfdata *p;
	struct err err;
	bool quiet = false;
	int rc, i = 1;

	for (; i < argc - 1; i++) {
		o.unordered |= !strcmp(argv[i], "-u");
		quiet |= !strcmp(argv[i], "-q");
	}
	rc = i < argc ? perfdata_open(argv[i], &o, &p, &err) : err_set(&err, -22, "no file");
	if (rc) {
		fprintf(stderr, "%s\n%s\n", err.msg, err.hint);
		return 2;
	}
	while ((rc = perfdata_next(p, &r, &err)) == 1)
		if (!quiet)
			print_record(r);
	print_host(p);
	printf("records %llu samples %llu skipped %llu malformed %llu late %llu\n",
		perfdata_stats(p)->records, perfdata_stats(p)->samples, perfdata_stats(p)->skipped,
		perfdata_stats(p)->malformed, perfdata_stats(p)->late);
	if (rc)
		fprintf(stderr, "%s\n%s\n", err.msg, err.hint);
	perfdata_close(p);
	return rc ? 4 : 0;
}
