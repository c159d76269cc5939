/* See whereabouts.h. */
#include "sys/process/whereabouts.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sys/process/proc.h"
#include "sys/root.h"
#include "sys/scan.h"

#define RAN_MAX 65536 /* threads whose times are kept */

static u32 nodes_mask(const struct idset *set)
{
	return (u32)set->bits[0] & ((1U << WHEREABOUTS_NODES) - 1);
}

u32 whereabouts_policy_nodes(const char *policy)
{
	const char *nodes = strrchr(policy, ':');
	struct idset set;

	return nodes && !idset_parse(nodes + 1, &set) ? nodes_mask(&set) : 0;
}

/* The pages under one policy. */
struct policy_sum {
	const char *policy;
	u64 bytes;
};

static void whereabouts_mapping_add(const struct numa_maps *maps, const struct numa_map *m,
	u64 page_bytes, struct whereabouts *r)
{
	u32 named = whereabouts_policy_nodes(m->policy);

	for (u32 i = 0; i < m->node_count; i++) {
		const struct numa_pages *p = &maps->nodes.v[m->node_first + i];
		u64 pages = p->pages * m->page_bytes / page_bytes;

		if (p->node >= WHEREABOUTS_NODES)
			continue;
		r->pages[p->node] += pages;
		r->policy_pages[p->node] += named & 1U << p->node ? pages : 0;
	}
}

static u64 bytes_named(const struct numa_maps *maps, const struct numa_map *m)
{
	u32 named = whereabouts_policy_nodes(m->policy);
	u64 bytes = 0;

	for (u32 i = 0; named && i < m->node_count; i++) {
		const struct numa_pages *p = &maps->nodes.v[m->node_first + i];

		bytes += p->node < WHEREABOUTS_NODES && named & 1U << p->node
				 ? p->pages * m->page_bytes
				 : 0;
	}
	return bytes;
}

#define POLICIES 8 /* a process has few different ones */

/* The policy that most pages are under which it names; NULL: none. */
static const char *policy_find(const struct numa_maps *maps)
{
	struct policy_sum sums[POLICIES] = {}, *best = sums;

	vec_each (m, &maps->list) {
		u64 bytes = bytes_named(maps, m);
		u32 i = 0;

		while (bytes && i < POLICIES && sums[i].policy &&
			strcmp(sums[i].policy, m->policy) != 0)
			i++;
		if (!bytes || i == POLICIES)
			continue;
		sums[i].policy = m->policy;
		sums[i].bytes += bytes;
		best = sums[i].bytes > best->bytes ? &sums[i] : best;
	}
	return best->policy;
}

/* A mapping without a policy shows that of the process; the first one, of the program itself,
 * hardly ever has one. */
static void policy_fill(const struct numa_maps *maps, struct whereabouts *r)
{
	const char *policy = policy_find(maps);

	if (!policy)
		return;
	snprintf(r->policy, sizeof(r->policy), "%s", policy);
	r->own = strcmp(policy, maps->list.v[0].policy) != 0;
}

static u64 ticks_ns(u64 ticks)
{
	return ticks * (NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
}

static u64 ran_since(struct groups *ran, int tid, u64 ns)
{
	u32 key = (u32)tid;
	u64 *last, before;

	if (!ran)
		return ns;
	if (ran->n >= RAN_MAX)
		groups_clear(ran);
	last = groups_get(ran, &key);
	if (!last)
		return 0;
	before = *last;
	*last = ns;
	return ns > before ? ns - before : 0;
}

static void thread_count(
	int pid, int tid, const struct host *host, struct groups *ran, struct whereabouts *r)
{
	struct proc_stat st;
	u16 node;

	if (proc_task_stat_read(pid, tid, &st))
		return;
	r->threads_total = MAX(r->threads_total, (u32)st.num_threads);
	if (st.processor < 0 || st.processor >= IDSET_MAX)
		return;
	node = host->cpu_node[st.processor];
	if (node >= WHEREABOUTS_NODES)
		return;
	r->threads[node]++;
	r->ran_ns[node] += ran_since(ran, tid, ticks_ns(st.utime_ticks + st.stime_ticks));
}

static void threads_count(
	int pid, const struct host *host, struct groups *ran, struct whereabouts *r)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	int tid;

	if (proc_iter_open_tasks(pid, &it))
		return;
	for (u32 n = 0; n < WHEREABOUTS_THREADS && proc_iter_next(&it, &tid); n++)
		thread_count(pid, tid, host, ran, r);
}

static u32 cpu_nodes(const struct idset *cpus, const struct host *host)
{
	u32 nodes = 0;

	for (u32 cpu = idset_next(cpus, 0); cpu < IDSET_MAX; cpu = idset_next(cpus, cpu + 1))
		if (host->cpu_node[cpu] < WHEREABOUTS_NODES && idset_has(&host->cpus_online, cpu))
			nodes |= 1U << host->cpu_node[cpu];
	return nodes;
}

/* The lines "Cpus_allowed_list:	0-3,8" and "Mems_allowed_list:	0". */
static void allowed_read(int pid, const struct host *host, struct whereabouts *r)
{
	_cleanup_str_ struct str status = {};
	struct idset set;
	const char *text;
	struct scan s, name;
	char list[1024];

	if (sys_read(&status, "/proc/%d/status", pid))
		return;
	text = str_get(&status);
	while (scan_line(&text, &s)) {
		bool cpus, memory;

		if (!scan_until(&s, ':', &name))
			continue;
		cpus = scan_is(&name, "Cpus_allowed_list");
		memory = scan_is(&name, "Mems_allowed_list");
		if (!cpus && !memory)
			continue;
		scan_blanks(&s);
		if (!scan_copy(&s, list, sizeof(list)) || idset_parse(list, &set))
			continue;
		if (memory) {
			r->allowed_memory = nodes_mask(&set);
			continue;
		}
		r->allowed_nodes = cpu_nodes(&set, host);
		if (strlen(list) < sizeof(r->cpus))
			memcpy(r->cpus, list, strlen(list) + 1);
	}
}

/* What a program wrote over it ("nginx: master process"), and the name of a login shell, cannot be
 * run. */
static bool is_command(const char *text, size_t n)
{
	size_t first = strnlen(text, n);

	return first && text[0] != '-' &&
	       (first < n || (!memchr(text, ' ', n) && !memchr(text, ':', n)));
}

static void command_read(int pid, struct whereabouts *r)
{
	_cleanup_str_ struct str text = {};
	size_t n;

	if (sys_read(&text, "/proc/%d/cmdline", pid) || text.len < 2 || text.buf[text.len - 1])
		return;
	n = text.len - 1;
	if (n >= sizeof(r->command) || memchr(text.buf, WHEREABOUTS_WORD_END, n) ||
		!is_command(text.buf, n))
		return;
	for (size_t i = 0; i < n; i++)
		r->command[i] = text.buf[i] ? text.buf[i] : WHEREABOUTS_WORD_END;
}

void whereabouts_read(int pid, const struct host *host, const struct numa_maps *maps,
	struct groups *ran, struct whereabouts *ret)
{
	*ret = (struct whereabouts){};
	vec_each (m, &maps->list)
		whereabouts_mapping_add(maps, m, host->page_bytes, ret);
	policy_fill(maps, ret);
	threads_count(pid, host, ran, ret);
	allowed_read(pid, host, ret);
	command_read(pid, ret);
}
