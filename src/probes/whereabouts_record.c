/* See whereabouts_record.h. */
#include "probes/whereabouts_record.h"

#include <string.h>

#include "capture/names/names.h"
#include "probes/processes/processes.h"

_Static_assert(WHEREABOUTS_NODES == PROCESS_NODES, "the record has as many nodes");

static u32 nodes_with_cpus(const struct host *host)
{
	u32 nodes = 0;

	for (u32 cpu = idset_next(&host->cpus_online, 0); cpu < IDSET_MAX;
		cpu = idset_next(&host->cpus_online, cpu + 1))
		nodes |= host->cpu_node[cpu] < PROCESS_NODES ? 1U << host->cpu_node[cpu] : 0;
	return nodes;
}

int whereabouts_send(struct capture *c, const struct host *host, const struct numa_maps *maps,
	struct groups *ran, const struct whereabouts_of *of)
{
	struct process_numa r = REC_INIT(struct process_numa, REC_PROCESS_NUMA, 0);
	struct whereabouts found;

	whereabouts_read((int)of->pid, host, maps, ran, &found);
	r.h.flags = found.own ? PROCESS_NUMA_OWN : 0;
	r.tgid = of->pid;
	r.nodes = host->nodes;
	r.start_ns = of->start_ns;
	memcpy(r.resident_pages, found.pages, sizeof(r.resident_pages));
	memcpy(r.policy_pages, found.policy_pages, sizeof(r.policy_pages));
	memcpy(r.ran_ns, found.ran_ns, sizeof(r.ran_ns));
	memcpy(r.threads, found.threads, sizeof(r.threads));
	r.threads_total = found.threads_total;
	r.allowed_nodes = found.allowed_nodes;
	r.allowed_memory = found.allowed_memory;
	r.cpu_nodes = nodes_with_cpus(host);
	r.allowed_cpus = names_string(c->names, found.cpus);
	r.policy = names_string(c->names, found.policy);
	if (of->asked || found.policy[0])
		r.command = names_string(c->names, found.command);
	memcpy(r.comm, of->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}
