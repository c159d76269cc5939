/*
 * Any bytes as a perf.data file: everything that the reader hands out is looked at, so that a
 * sanitizer sees what is not there. The last byte says in which order, and with how much memory.
 */
#include <stdint.h>
#include <string.h>

#include "../unit/perfdata/perfdata_fixture.h"
#include "perfdata/data_src.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile u64 sum; /* of what is looked at, so that it is */

static void look_at_bytes(const void *p, u64 n)
{
	for (u64 i = 0; i < n; i++)
		sum += ((const u8 *)p)[i];
}

static void look_at_text(const char *text)
{
	sum += text ? strlen(text) : 0;
}

static void look_at_read(const struct perfdata_read *r)
{
	u64 id, lost;

	for (u64 i = 0; i < r->n; i++)
		sum += perfdata_read_value(r, i, &id, &lost) + id + lost;
}

static void look_at_sample(const struct perfdata_sample *s)
{
	enum perfdata_context context = PERFDATA_CONTEXT_NONE;
	struct data_src d;
	u64 i = 0, ip;

	while (perfdata_chain_next(s, &i, &context, &ip))
		sum += ip + context;
	sum += perfdata_chain_cookie(s);
	if (s->read.values)
		look_at_read(&s->read);
	look_at_bytes(s->raw, s->raw_size);
	look_at_bytes(s->branches, s->n_branches * sizeof(*s->branches));
	look_at_bytes(s->branch_counters, s->branch_counters ? s->n_branches * 8 : 0);
	look_at_bytes(s->user.v, s->user.n * 8UL);
	look_at_bytes(s->intr.v, s->intr.n * 8UL);
	look_at_bytes(s->stack, s->stack_size);
	look_at_bytes(s->aux, s->aux_size);
	data_src_decode(s->data_src, &d);
	sum += d.level;
}

static void look_at_record(const struct perfdata_record *r)
{
	switch (r->type) {
	case PERFDATA_SAMPLE:
		look_at_sample(&r->sample);
		break;
	case PERFDATA_MMAP:
	case PERFDATA_MMAP2:
		look_at_text(r->mmap.path);
		look_at_bytes(r->mmap.build_id, r->mmap.build_id_len);
		break;
	case PERFDATA_COMM:
		look_at_text(r->comm.name);
		break;
	case PERFDATA_CGROUP:
		look_at_text(r->cgroup.path);
		break;
	case PERFDATA_READ:
		look_at_read(&r->read.values);
		break;
	case PERFDATA_NAMESPACES:
		look_at_bytes(r->namespaces.v, r->namespaces.n * sizeof(*r->namespaces.v));
		break;
	case PERFDATA_CALLCHAIN_DEFERRED:
		look_at_bytes(r->deferred.ips, r->deferred.n_ips * 8);
		break;
	case PERFDATA_FORK:
	case PERFDATA_EXIT:
	case PERFDATA_LOST:
	case PERFDATA_LOST_SAMPLES:
	case PERFDATA_THROTTLE:
	case PERFDATA_UNTHROTTLE:
	case PERFDATA_SWITCH:
	case PERFDATA_SWITCH_CPU_WIDE:
	case PERFDATA_AUX:
		break;
	default:
		look_at_bytes(r->other.data, r->other.size);
		break;
	}
	if (r->event)
		look_at_text(r->event->name);
}

static void look_at_host(const struct perfdata_host *h)
{
	look_at_text(h->hostname);
	look_at_text(h->release);
	look_at_text(h->version);
	look_at_text(h->arch);
	look_at_text(h->cpu);
	look_at_text(h->cpuid);
	for (u32 i = 0; i < h->argc; i++)
		look_at_text(h->argv[i]);
	vec_each (b, &h->build_ids) {
		look_at_bytes(b->id, b->len);
		look_at_text(b->path);
	}
	for (u32 i = 0; i < 300; i++)
		sum += (u64)perfdata_node_of_cpu(h, i);
	vec_each (m, &h->memory)
		if (m->start >= m->end || perfdata_node_of_memory(h, m->start) < 0)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct perfdata_options o = {};
	const struct perfdata_record *r;
	struct perfdata *p = NULL;
	struct err err = {};
	int rc;

	if (n && data[n - 1] & 1)
		o.max_queued = 1;
	o.unordered = n && data[n - 1] & 2;
	rc = perfdata_open_fd("fuzz", made_fd(data, n), &o, &p, &err);
	if (rc) {
		if (p || err.code >= 0 || !err.msg[0])
			abort();
		return 0;
	}
	while ((rc = perfdata_next(p, &r, &err)) == 1)
		look_at_record(r);
	if (rc && (err.code >= 0 || !err.msg[0]))
		abort();
	if (perfdata_next(p, &r, &err) == 1)
		abort();
	look_at_host(perfdata_host(p));
	perfdata_close(p);
	return 0;
}
