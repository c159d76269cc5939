/* The numbers of the machine's ledger: reading them. What they mean is in where_ledger.h. */
#include <errno.h>
#include <string.h>

#include "probes/where/where_inner.h"
#include "probes/where/where_ledger.h"
#include "sys/kernel/kconfig.h"
#include "sys/memory/counts.h"
#include "sys/memory/percpu.h"
#include "sys/memory/unix_queues.h"
#include "sys/memory/vmallocinfo.h"
#include "sys/memory/zram.h"
#include "sys/root.h"

#define VIRTIO_BALLOON_F_DEFLATE_ON_OOM 2
#define BALLOON_DIR "/sys/bus/virtio/drivers/virtio_balloon"
#define HUGE_DIR "/sys/kernel/mm/hugepages"
#define HUGE_SIZE "hugepages-" /* and kilobytes */

/* By the kernel's configuration, else by what lies in vmalloc, which takes longer to read; x86-64
 * has had it by default since 4.9. */
static bool stacks_in_vmalloc(void)
{
	_cleanup_vmallocinfo_ struct vmallocinfo info = {};
	_cleanup_str_ struct str config = {};
	char value[8];

	if (!kconfig_load(&config))
		return !kconfig_get(str_get(&config), "VMAP_STACK", value, sizeof(value)) &&
		       !strcmp(value, "y");
	if (vmallocinfo_read(&info))
		return true;
	vec_each (v, &info.list)
		if (vmalloc_is_stack(v->caller))
			return true;
	return false;
}

/* A balloon that is deflated on OOM leaves MemTotal as it is (fill_balloon(),
 * drivers/virtio/virtio_balloon.c, 4.9 to 6.18); any other one takes its pages from it. */
static bool balloon_in_total(void)
{
	_cleanup_sys_names_ struct sys_names devices = {};
	_cleanup_str_ struct str text = {};
	bool in_total = false;

	if (sys_names(&devices, BALLOON_DIR, "virtio"))
		return false;
	vec_each (name, &devices.list)
		if (!sys_read(&text, BALLOON_DIR "/%s/features", *name) &&
			text.len > VIRTIO_BALLOON_F_DEFLATE_ON_OOM)
			in_total |= text.buf[VIRTIO_BALLOON_F_DEFLATE_ON_OOM] == '1';
	return in_total;
}

static int method_of(struct capture *c, const char *data, const char *path, const char *needs)
{
	int rc = sys_exists("%s", path);

	if (!rc && access(path, R_OK))
		rc = -errno;
	if (!rc)
		return capture_method(c, data, path, NULL);
	if (rc == -ENOENT)
		return capture_missing(c, data, needs, NULL);
	return capture_refused(c, data, "not permitted", rc, NULL);
}

#define QUEUES_DATA "unread data in UNIX sockets"

static int queues_survey(struct capture *c)
{
	struct unix_sockets s = {};
	int rc = unix_sockets_read(&s);

	unix_sockets_free(&s);
	if (!rc)
		return capture_method(c, QUEUES_DATA, "sock_diag", NULL);
	return capture_missing(c, QUEUES_DATA,
		rc == -EOPNOTSUPP ? "the kernel has no such diagnostics" : strerror(-rc),
		rc == -EOPNOTSUPP ? "CONFIG_UNIX_DIAG" : NULL);
}

int where_machine_survey(struct capture *c)
{
	int rc = method_of(c, "totals", "/proc/meminfo", "/proc is not there");

	if (!rc)
		rc = method_of(c, "free pages in lists of cpus", "/proc/zoneinfo",
			"the kernel has no /proc/zoneinfo");
	if (!rc)
		rc = method_of(c, "slab caches", "/proc/slabinfo", "the kernel has no slabinfo");
	if (!rc)
		rc = method_of(c, "users of vmalloc", "/proc/vmallocinfo",
			"the kernel has no /proc/vmallocinfo");
	return rc ? rc : queues_survey(c);
}

int where_machine_open(struct capture *c, struct where *w)
{
	int rc = where_machine_survey(c), first = percpu_first_read(&w->percpu_first_bytes);

	w->stacks_in_vmalloc = stacks_in_vmalloc();
	w->balloon_in_total = balloon_in_total();
	if (rc)
		return rc;
	if (!first)
		return capture_method(
			c, "per-cpu memory outside of MemTotal", "the kernel's log", NULL);
	if (!capture_named(c)) /* too little for a line of check */
		return 0;
	return capture_refused(c, "per-cpu memory outside of MemTotal",
		first == -ENODATA ? "the kernel's log no longer has its beginning"
				  : "the kernel's log is closed",
		first, NULL);
}

static void cpu_lists_read(struct where *w, struct where_numbers *n)
{
	if (zoneinfo_read(&w->zones))
		return;
	n->has_cpu_lists = true;
	vec_each (z, &w->zones.zones)
		n->cpu_lists_pages += z->pcp_count_pages;
}

static int tmpfs_read(struct where *w, struct where_numbers *n)
{
	int rc = memfs_read(&w->memfs);

	n->has_tmpfs = !rc;
	vec_each (m, &w->memfs.list)
		n->tmpfs_bytes += m->used_bytes;
	return rc == -ENOMEM ? rc : 0;
}

/* What TCP and UDP count, in pages, is for all network namespaces. */
static int sockets_read(struct where_numbers *n)
{
	struct unix_sockets s = {};
	u64 tcp, udp;
	int rc = unix_sockets_read(&s);

	n->has_sockets = !rc;
	if (!rc)
		n->sockets_bytes = unix_sockets_pages_bytes(&s);
	unix_sockets_free(&s);
	if (!count_read("tcp/mem", &tcp)) {
		n->has_sockets = true;
		n->sockets_bytes += tcp * n->page_bytes;
		if (!count_read("udp/mem", &udp))
			n->sockets_bytes += udp * n->page_bytes;
	}
	return rc == -ENOMEM ? rc : 0;
}

static void huge_read(struct where_numbers *n)
{
	_cleanup_sys_names_ struct sys_names sizes = {};

	if (sys_names(&sizes, HUGE_DIR, HUGE_SIZE))
		return;
	vec_each (name, &sizes.list) {
		u64 kib = strtoull(*name + strlen(HUGE_SIZE), NULL, 10), v;

		if (!sys_read_u64(&v, HUGE_DIR "/%s/free_hugepages", *name))
			n->huge_free_bytes += v * kib << 10;
		if (!sys_read_u64(&v, HUGE_DIR "/%s/resv_hugepages", *name))
			n->huge_reserved_bytes += v * kib << 10;
	}
}

static int zram_read(struct where_numbers *n)
{
	_cleanup_zram_devices_ struct zram_devices all = {};
	int rc = zram_devices_read(&all);

	vec_each (z, &all.list) {
		n->zram_bytes += z->stat.memory_bytes;
		n->zram_data_bytes += z->stat.data_bytes;
	}
	return rc;
}

int where_machine_send(struct capture *c, struct where *w)
{
	struct where_ledger l = REC_INIT(struct where_ledger, REC_WHERE_LEDGER, 0);
	struct where_numbers n = {
		.page_bytes = (u64)sysconf(_SC_PAGESIZE),
		.stacks_in_vmalloc = w->stacks_in_vmalloc,
		.percpu_first_bytes = w->percpu_first_bytes,
		.balloon_in_total = w->balloon_in_total,
	};
	int rc = tmpfs_read(w, &n);

	if (!rc)
		rc = sockets_read(&n);
	if (!rc)
		rc = zram_read(&n);
	huge_read(&n);
	/* last and together: these are to be of one time */
	cpu_lists_read(w, &n);
	if (!rc && !keyvals_read("/proc/vmstat", &w->vmstat))
		n.vmstat = &w->vmstat;
	if (!rc && !keyvals_read("/proc/meminfo", &w->meminfo))
		n.meminfo = &w->meminfo;
	if (rc || where_ledger_machine(&n, &l))
		return rc;
	l.sample = w->sample;
	return capture_emit(c, &l.h);
}
