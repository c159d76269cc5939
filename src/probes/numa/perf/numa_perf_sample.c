/* Samples and mappings of perf.data in the terms of `numa`, see numa_perf.h. Pure. */
#include "probes/numa/perf/numa_perf.h"

#include <string.h>

#include "perfdata/data_src.h"
#include "sys/process/maps.h"

enum { /* attr.type and attr.config of include/uapi/linux/perf_event.h */
	PMU_SOFTWARE = 1,
	PMU_TRACEPOINT = 2,
	PMU_BREAKPOINT = 5,
	SW_PAGE_FAULTS = 2,
	SW_PAGE_FAULTS_MIN = 5,
	SW_PAGE_FAULTS_MAJ = 6,
};

static u8 processor_source(const struct perfdata_host *h)
{
	if (h->cpuid && !strncmp(h->cpuid, "GenuineIntel", 12))
		return NUMA_PEBS;
	if (h->cpuid &&
		(!strncmp(h->cpuid, "AuthenticAMD", 12) || !strncmp(h->cpuid, "HygonGenuine", 12)))
		return NUMA_IBS;
	if (h->arch && (!strcmp(h->arch, "aarch64") || !strcmp(h->arch, "arm64")))
		return NUMA_SPE;
	return NUMA_PERF;
}

struct numa_perf_event numa_perf_event_of(
	const struct perfdata_event *e, const struct perfdata_host *h)
{
	struct numa_perf_event how = {.source = NUMA_PERF};

	if (!(e->sample_type & PERFDATA_ADDR))
		return how;
	switch (e->pmu) {
	case PMU_SOFTWARE: /* only faults have an address */
		how.accesses = e->config == SW_PAGE_FAULTS || e->config == SW_PAGE_FAULTS_MIN ||
			       e->config == SW_PAGE_FAULTS_MAJ;
		how.source = NUMA_FAULT;
		break;
	case PMU_TRACEPOINT:
		break;
	case PMU_BREAKPOINT:
		how.accesses = true;
		break;
	default:
		how.accesses = true;
		how.has_source = e->sample_type & PERFDATA_DATA_SRC;
		how.source = how.has_source ? processor_source(h) : NUMA_PERF;
		break;
	}
	return how;
}

static u8 op_of(const struct data_src *d)
{
	bool load = d->op & DATA_LOAD, store = d->op & DATA_STORE;

	if (load && store)
		return NUMA_LOAD_STORE;
	if (load)
		return NUMA_LOAD;
	return store ? NUMA_STORE : NUMA_OP_UNKNOWN;
}

static u8 numa_perf_sample_level_of(const struct data_src *d)
{
	bool remote = d->place == DATA_REMOTE;

	if (d->miss) /* where it went instead is not known */
		return NUMA_LEVEL_UNKNOWN;
	switch (d->level) {
	case DATA_L0:
	case DATA_L1:
		return NUMA_L1;
	case DATA_LFB:
		return NUMA_FILL_BUFFER;
	case DATA_L2:
	case DATA_L2_MHB:
		return NUMA_L2;
	case DATA_L3:
	case DATA_L4:
	case DATA_MSC:
		return remote ? NUMA_REMOTE_CACHE : NUMA_L3;
	case DATA_CACHE: /* of the node: it came through the L3 */
		return remote                   ? NUMA_REMOTE_CACHE
		       : d->place == DATA_LOCAL ? NUMA_L3
						: NUMA_LEVEL_UNKNOWN;
	case DATA_RAM:
		return remote                   ? NUMA_REMOTE_RAM
		       : d->place == DATA_LOCAL ? NUMA_LOCAL_RAM
						: NUMA_RAM;
	case DATA_PMEM:
		return NUMA_PMEM;
	case DATA_CXL:
		return NUMA_CXL;
	case DATA_IO:
	case DATA_UNCACHED:
		return NUMA_UNCACHED;
	default:
		return NUMA_LEVEL_UNKNOWN;
	}
}

/* The stack pointer, where user registers were taken: the eighth of x86. */
static u64 stack_pointer(const struct perfdata_record *r, const struct perfdata_host *h)
{
	const u64 sp = 1 << 7;
	u64 mask = r->event->regs_user;

	if (!h->arch || strcmp(h->arch, "x86_64") != 0 || !(mask & sp) || !r->sample.user.n)
		return 0;
	return r->sample.user.v[__builtin_popcountll(mask & (sp - 1))];
}

static void source_take(const struct data_src *d, struct numa_sample *s)
{
	s->op = op_of(d);
	s->level = numa_perf_sample_level_of(d);
	s->h.flags |= d->place == DATA_REMOTE ? NUMA_REMOTE : 0;
	s->h.flags |= d->place == DATA_LOCAL ? NUMA_LOCAL : 0;
	s->h.flags |= d->snoop == DATA_SNOOP_HITM ? NUMA_HITM : 0;
	s->h.flags |= d->tlb & DATA_TLB_MISS ? NUMA_TLB_MISS : 0;
}

static void nodes_take(
	const struct perfdata_record *r, const struct perfdata_host *h, struct numa_sample *s)
{
	u64 phys = r->sample.phys_addr;

	s->cpu = r->where.have & PERFDATA_CPU ? (s32)r->where.cpu : -1;
	s->cpu_node = s->cpu >= 0 ? perfdata_node_of_cpu(h, r->where.cpu) : -1;
	s->page_node = phys ? perfdata_node_of_memory(h, phys) : -1;
	if (s->page_node >= 0) {
		s->node_from = NUMA_PAGE_FRAME;
	} else if (s->level == NUMA_LOCAL_RAM && s->cpu_node >= 0) {
		s->page_node = s->cpu_node;
		s->node_from = NUMA_PAGE_LEVEL;
	}
}

bool numa_perf_sample(const struct perfdata_record *r, const struct perfdata_host *h,
	const struct numa_perf_event *how, struct numa_sample *ret)
{
	struct numa_sample s = {.h = {sizeof(s), REC_NUMA_SAMPLE, 0, r->where.time}};
	u32 mode = r->misc & PERFDATA_MISC_MODE;
	struct data_src d;

	data_src_decode(r->sample.data_src, &d);
	if (data_src_use(&d, how->has_source, r->sample.addr) == DATA_NO_ACCESS)
		return false;
	s.tgid = r->where.pid;
	s.tid = r->where.tid;
	s.address = r->sample.addr;
	s.ip = r->sample.ip;
	s.sp = stack_pointer(r, h);
	s.weight = r->sample.period;
	s.latency = how->has_source ? (u32)MIN(r->sample.weight, (u64)~0U) : 0;
	s.source = how->source;
	if (how->has_source)
		source_take(&d, &s);
	s.h.flags |= s.latency ? NUMA_CYCLES : 0;
	s.h.flags |= mode == PERFDATA_MODE_KERNEL ? NUMA_IN_KERNEL : 0;
	nodes_take(r, h, &s);
	if (r->sample.data_page_size)
		s.page_shift = (u8)(63 - __builtin_clzll(r->sample.data_page_size));
	*ret = s;
	return true;
}

const char *numa_perf_path(const char *path)
{
	return strncmp(path, "//", 2) != 0 ? path : "";
}

/* Flags are those of mmap(2). perf puts mappings that were there before at time 0; of those in
 * MMAP records it is only known whether they can be executed. */
void numa_perf_mapping(const struct perfdata_record *r, struct numa_mapping *ret)
{
	const u32 map_shared = 1, map_growsdown = 0x100;
	const struct perfdata_mmap *p = &r->mmap;
	struct numa_mapping m = {.h = {sizeof(m), REC_NUMA_MAP, 0, r->where.time}};
	u32 prot = p->prot;

	if (r->type == PERFDATA_MMAP)
		prot = r->misc & PERFDATA_MISC_DATA ? 1 : 5;
	m.tgid = p->pid;
	m.tid = p->tid;
	m.start = p->start;
	m.bytes = p->len;
	m.offset = p->file_offset;
	m.inode = p->ino;
	m.device = p->major << 20 | (p->minor & 0xfffff);
	m.what = r->where.time ? NUMA_MAP_NOW : NUMA_MAP_HELD;
	m.shared = r->type == PERFDATA_MMAP2 && p->flags & map_shared;
	m.prot = prot & 7;
	m.kind = (u8)mapping_classify(numa_perf_path(p->path), m.shared);
	m.h.flags = p->flags & map_growsdown ? NUMA_MAP_GROWS : 0;
	*ret = m;
}
