/*
 * Prints what the reader of perf.data files finds, in lines that can be held against those of
 * `perf script`: see tests/native/perfdata.bats. usage: dump [-u] [-q] FILE
 * -u: in the order of the file; -q: only what was counted.
 */
#include <stdio.h>
#include <string.h>

#include "perfdata/perfdata.h"

#include "../unit/data/data_source_name.h"

/* As perf writes sizes of pages. */
static void print_pages(const char *key, u64 n)
{
	const char *unit = "BKMG";

	if (!n) {
		printf(" %s=N/A", key);
		return;
	}
	for (; n / 1024 > 1 && *unit != 'G'; unit++)
		n /= 1024;
	printf(" %s=%llu%c", key, n, *unit);
}

static void print_sample(const struct perfdata_record *r)
{
	enum perfdata_context context = PERFDATA_CONTEXT_NONE;
	const struct perfdata_sample *s = &r->sample;
	const char *separator = " chain=";
	u64 i = 0, ip;

	printf("sample pid=%d tid=%d cpu=%03u time=%llu.%09llu event=%s period=%llu addr=%llx",
		(int)r->where.pid, (int)r->where.tid, r->where.cpu, r->where.time / 1000000000,
		r->where.time % 1000000000, r->event->name, s->period, s->addr);
	printf(" src=%llx weight=%llu ip=%llx phys=%llx", s->data_src, s->weight, s->ip,
		s->phys_addr);
	print_pages("dpage", s->data_page_size);
	print_pages("cpage", s->code_page_size);
	while (perfdata_chain_next(s, &i, &context, &ip)) {
		printf("%s%llx", separator, ip);
		separator = ",";
	}
	putchar('\n');
}

static void print_set(const char *key, unsigned int set, const char *const *names)
{
	const char *separator = "";

	printf(" %s=", key);
	for (unsigned int i = 0; set >> i; i++)
		if (set >> i & 1) {
			printf("%s%s", separator, names[i]);
			separator = ",";
		}
}

static void print_source(u64 value)
{
	static const char *const ops[] = {"LOAD", "STORE", "PFETCH", "EXEC"};
	static const char *const tlbs[] = {"hit", "miss", "L1", "L2", "Walker", "Fault"};
	static const char *const blks[] = {"Data", "Addr"};
	struct data_src d;

	data_src_decode(value, &d);
	printf("source src=%llx", value);
	print_set("op", d.op, ops);
	print_set("tlb", d.tlb, tlbs);
	print_set("blk", d.blocked_data + 2U * d.blocked_address, blks);
	printf(" lock=%d hitm=%d level=%s\n", d.locked, d.snoop == DATA_SNOOP_HITM,
		d.level < DATA_LEVELS ? level_names[d.level].plain : "");
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
