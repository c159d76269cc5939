/* See processes_look.h. */
#include "probes/processes/processes_look.h"

#include <errno.h>
#include <string.h>

#include "probes/processes/processes.h"
#include "probes/whereabouts_record.h"
#include "sys/process/smaps.h"
#include "sys/rights.h"
#include "sys/root.h"

/* Cheaper than host_read() on the many machines with one node. */
static bool has_nodes(void)
{
	_cleanup_str_ struct str text = {};
	struct idset nodes;

	return !sys_read(&text, "/sys/devices/system/node/online") &&
	       !idset_parse(str_get(&text), &nodes) && idset_count(&nodes) > 1;
}

int processes_look_open(struct processes_look *l)
{
	if (!has_nodes())
		return 0;
	l->host = calloc(1, sizeof(*l->host));
	if (!l->host)
		return -ENOMEM;
	host_read(l->host);
	return 0;
}

void processes_look_free(struct processes_look *l)
{
	free(l->host);
	numa_maps_free(&l->numa);
	str_free(&l->text);
}

void processes_look_begin(struct processes_look *l)
{
	l->rollup_pages = l->numa_pages = LOOK_PAGES;
	l->left_out = 0;
}

/* Takes what a process needs from what is left. */
static bool processes_look_pages_take(
	struct processes_look *l, u64 *left, const struct process_entry *e)
{
	u64 pages = e->rss_bytes / (u64)sysconf(_SC_PAGESIZE);

	if (pages > *left) {
		l->left_out++;
		return false;
	}
	*left -= pages;
	return true;
}

static void rollup_read(
	struct processes_look *l, const struct process_entry *e, struct process_detail *r)
{
	struct smaps_sum sum;

	if (!processes_look_pages_take(l, &l->rollup_pages, e) ||
		smaps_rollup_read((int)e->pid, &l->text, &sum))
		return;
	r->h.flags |= PROCESS_ROLLUP;
	r->pss_bytes = sum.pss_bytes;
	r->anon_huge_bytes = sum.anon_huge_bytes;
	r->shmem_huge_bytes = sum.shmem_huge_bytes;
	r->file_huge_bytes = sum.file_huge_bytes;
	r->lazy_free_bytes = sum.lazy_free_bytes;
	r->swap_pss_bytes = sum.swap_pss_bytes;
}

int processes_look_detail(struct capture *c, struct processes_look *l,
	const struct process_entry *e, const struct proc_status *status, const char *comm,
	bool rollup)
{
	struct process_detail r = REC_INIT(struct process_detail, REC_PROCESS_DETAIL, 0);

	r.tgid = e->pid;
	r.threads = (u32)status->threads;
	r.start_ns = e->start_ns;
	r.rss_bytes = status->vm_rss_bytes;
	r.rss_anon_bytes = status->rss_anon_bytes;
	r.rss_file_bytes = status->rss_file_bytes;
	r.rss_shmem_bytes = status->rss_shmem_bytes;
	r.rss_peak_bytes = status->vm_hwm_bytes;
	r.swap_bytes = status->vm_swap_bytes;
	r.page_table_bytes = status->vm_pte_bytes;
	r.hugetlb_bytes = status->hugetlb_bytes;
	r.locked_bytes = status->vm_lck_bytes;
	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	if (rollup)
		rollup_read(l, e, &r);
	return capture_emit(c, &r.h);
}

static void comm_read(struct processes_look *l, u32 pid, char comm[COMM_LEN])
{
	if (!sys_read(&l->text, "/proc/%u/comm", pid))
		snprintf(comm, COMM_LEN, "%.*s", (int)strcspn(str_get(&l->text), "\n"),
			str_get(&l->text));
}

int processes_look_numa(struct capture *c, struct processes_look *l, const struct process_entry *e)
{
	struct whereabouts_of of = {.pid = e->pid, .start_ns = e->start_ns};

	if (!l->host || !processes_look_pages_take(l, &l->numa_pages, e) ||
		numa_maps_read((int)e->pid, &l->numa))
		return 0;
	comm_read(l, e->pid, of.comm);
	return whereabouts_send(c, l->host, &l->numa, NULL, &of);
}

bool processes_look_is_bound(const struct process_entry *e)
{
	_cleanup_numa_maps_ struct numa_maps first = {};

	return !numa_maps_read_first((int)e->pid, (int)e->pid, &first) && first.list.n &&
	       whereabouts_policy_nodes(first.list.v[0].policy);
}

/* Our own are readable wherever the kernel has the file; process 1 stands for those of others. */
static int survey_file(struct capture *c, const char *data, const char *file, const char *needs)
{
	_cleanup_str_ struct str text = {};
	char why[96];
	bool has = !sys_read(&text, "/proc/self/%s", file);
	int rc = sys_read(&text, "/proc/1/%s", file);

	if (has && (rc == -EACCES || rc == -EPERM) && !rights_over_others())
		return capture_not_of_others(c, data, file);
	if (has || !rc)
		return capture_method(c, data, file, NULL);
	snprintf(why, sizeof(why), "the kernel has no %s", file);
	return capture_missing(c, data, why, needs);
}

int processes_look_survey(struct capture *c)
{
	int rc = survey_file(
		c, "huge pages of the biggest", "smaps_rollup", "CONFIG_PROC_PAGE_MONITOR=y");

	if (!rc && has_nodes())
		rc = survey_file(c, "NUMA nodes of the biggest", "numa_maps", "CONFIG_NUMA=y");
	return rc;
}
