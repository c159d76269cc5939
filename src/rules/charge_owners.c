/* See kept.h. */
#include "rules/charge_owners.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/holders/holders.h"
#include "probes/lookups/lookups.h"
#include "probes/stalls/stalls.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "sys/calls/syscalls.h"

#define PART 4 /* of the group's memory of the kernel: who has less is not told */
#define MISSES_A_SECOND 2000.0
#define DENTRY_BYTES 192

enum kept_kind { TABLES, SOCKETS, PIPES, MAPS, FILES, STACKS, KINDS };

static const char *const kinds[KINDS] = {"page tables", "socket buffers", "unread pipes",
	"BPF maps", "open files", "kernel stacks of threads"};

/* Processes of one program, in the kind of which they have most together. */
struct keeper {
	const struct held_process *most;
	u64 bytes, most_bytes;
	u32 processes;
	enum kept_kind kind;
};

struct kept_wait_key {
	u64 cgroup;
	s32 syscall;
	u32 reserved;
	char comm[COMM_LEN];
};

struct kept_misses_key {
	u64 cgroup;
	u32 tgid, reserved;
};

struct kept_wait {
	u64 ns;
	u32 tgid; /* the first of that name */
	u32 others;
};

void kept_init(struct kept *k)
{
	groups_init(&k->waits, sizeof(struct kept_wait_key), sizeof(struct kept_wait));
	groups_init(&k->processes, sizeof(u32), sizeof(struct held_process));
	groups_init(&k->misses, sizeof(struct kept_misses_key), sizeof(u64));
	k->on_ns = 0;
}

void kept_reset(struct kept *k)
{
	groups_clear(&k->processes);
	groups_clear(&k->misses);
	groups_clear(&k->waits);
	k->on_ns = 0;
}

void kept_free(struct kept *k)
{
	groups_free(&k->processes);
	groups_free(&k->misses);
	groups_free(&k->waits);
}

static int charge_owners_process_feed(struct kept *k, const struct held_process *r)
{
	struct held_process *p = groups_get(&k->processes, &r->tgid);

	if (!p)
		return -ENOMEM;
	*p = *r;
	return 0;
}

static int misses_feed(struct kept *k, const struct lookups_agg *r)
{
	struct kept_misses_key key = {.cgroup = r->cgroup, .tgid = r->tgid};
	bool proc = !strncmp(r->directory, "/proc/", 6); /* leaves nothing behind */
	u64 *n = proc ? NULL : groups_get(&k->misses, &key);

	if (n)
		*n += r->count;
	return n || proc ? 0 : -ENOMEM;
}

static int wait_feed(struct kept *k, const struct stalls_agg *r)
{
	struct kept_wait_key key = {.cgroup = r->cgroup, .syscall = r->syscall};
	struct kept_wait *w;

	if (r->kind != STALLS_CHARGE)
		return 0;
	memcpy(key.comm, r->comm, sizeof(key.comm) - 1);
	w = groups_get(&k->waits, &key);
	if (!w)
		return -ENOMEM;
	w->ns += r->total_ns;
	w->others += w->tgid && w->tgid != r->tgid;
	if (!w->tgid)
		w->tgid = r->tgid;
	return 0;
}

int kept_feed(struct kept *k, const struct rec *r)
{
	switch (r->kind) {
	case REC_HELD_PROCESS:
		return charge_owners_process_feed(k, (const void *)r);
	case REC_LOOKUPS_AGG:
		return misses_feed(k, (const void *)r);
	case REC_STALLS_AGG:
		return wait_feed(k, (const void *)r);
	case REC_LOOKUPS_SAMPLED:
		k->on_ns += ((const struct lookups_sampled *)r)->on_ns;
		return 0;
	}
	return 0;
}

static u64 kept_of(const struct held_process *p, enum kept_kind kind)
{
	switch (kind) {
	case TABLES:
		return p->page_table_bytes;
	case SOCKETS:
		return MAX(p->unread_bytes, p->unsent_bytes);
	case PIPES:
		return p->pipe_bytes;
	case MAPS:
		return p->bpf_bytes;
	case FILES:
		return p->files * held_file_bytes(p);
	default:
		return p->threads * HELD_THREAD_BYTES;
	}
}

static enum kept_kind kind_most(const struct held_process *p)
{
	enum kept_kind most = TABLES;

	for (enum kept_kind i = TABLES; i < KINDS; i++)
		if (kept_of(p, i) > kept_of(p, most))
			most = i;
	return most;
}

/* All of its program that are in the group. */
static struct keeper keeper_sum(
	const struct kept *k, const struct report *r, u64 cgroup, const struct held_process *one)
{
	struct keeper sum = {.kind = kind_most(one)};

	for (size_t i = 0; i < k->processes.n; i++) {
		const struct held_process *p = groups_value(&k->processes, i);
		u64 bytes = kept_of(p, sum.kind);

		if (!bytes || (p != one && (!one->name || p->name != one->name)) ||
			!report_cgroup_within(r, p->cgroup, cgroup))
			continue;
		sum.processes++;
		sum.bytes += bytes;
		if (bytes > sum.most_bytes) {
			sum.most_bytes = bytes;
			sum.most = p;
		}
	}
	return sum;
}

static struct keeper keeper_find(const struct kept *k, const struct report *r, u64 cgroup)
{
	struct keeper best = {};

	for (size_t i = 0; i < k->processes.n; i++) {
		const struct held_process *p = groups_value(&k->processes, i);
		struct keeper sum;

		if (!report_cgroup_within(r, p->cgroup, cgroup))
			continue;
		sum = keeper_sum(k, r, cgroup, p);
		if (sum.bytes > best.bytes)
			best = sum;
	}
	return best;
}

const char *kept_text(struct report *r, const struct kept *k, const struct cgroup_usage *cg,
	u32 *ret_tgid, bool *ret_unread)
{
	struct keeper best = keeper_find(k, r, cg->cgroup);
	const struct held_process *p = best.most;
	const char *name, *which;
	char a[UNIT_BUF];

	if (!p || best.bytes * PART < cg->kernel_bytes)
		return "";
	name = stream_string(r->stream, p->name);
	which = best.processes > 1 ? report_text(r, "%u processes, pid %u has the most",
					     best.processes, p->tgid)
				   : report_text(r, "pid %u", p->tgid);
	*ret_tgid = p->tgid;
	*ret_unread = best.kind == SOCKETS || best.kind == PIPES;
	return report_text(r, "%s (%s) has %s in %s", name ? name : report_program(r, p->tgid),
		which, fmt_bytes(a, best.bytes), kinds[best.kind]);
}

const char *kept_names_text(struct report *r, const struct kept *k, const struct facts *f,
	const struct cgroup_usage *cg, u32 *ret_tgid)
{
	u64 kept = facts_last(f, "dentry/negative") * DENTRY_BYTES, misses = 0, most = 0;
	u32 tgid = 0;
	double rate;

	for (size_t i = 0; i < k->misses.n; i++) {
		const struct kept_misses_key *key = groups_key(&k->misses, i);
		u64 n = *(const u64 *)groups_value(&k->misses, i);

		if (!report_cgroup_within(r, key->cgroup, cg->cgroup))
			continue;
		misses += n;
		if (n <= most)
			continue;
		most = n;
		tgid = key->tgid;
	}
	rate = (double)misses * 1e9 / (double)MAX(k->on_ns, 1ULL);
	if (rate < MISSES_A_SECOND || kept * PART < cg->kernel_bytes)
		return "";
	if (most * 2 < misses)
		tgid = 0;
	if (tgid)
		*ret_tgid = tgid;
	return report_text(r,
		"%s up %.0f nonexistent names a second, and the kernel keeps each (negative "
		"dentries)",
		tgid ? report_text(r, "%s looks", report_process(r, tgid)) : "its tasks look",
		rate);
}

/* Calls that make the kernel's entries for files that are there. */
static bool looks_up_files(const char *call)
{
	static const char *const parts[] = {"stat", "open", "access", "getdents", "xattr"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(call, parts[i]))
			return true;
	return false;
}

const char *kept_files_text(
	struct report *r, const struct kept *k, const struct cgroup_usage *cg, u32 *ret_tgid)
{
	const struct kept_wait_key *key = NULL;
	const struct kept_wait *most = NULL;
	const char *call;
	u64 all = 0;

	for (size_t i = 0; i < k->waits.n; i++) {
		const struct kept_wait_key *at = groups_key(&k->waits, i);
		const struct kept_wait *w = groups_value(&k->waits, i);

		if (!report_cgroup_within(r, at->cgroup, cg->cgroup))
			continue;
		all += w->ns;
		if (most && w->ns <= most->ns)
			continue;
		most = w;
		key = at;
	}
	call = most && most->ns * 2 >= all && most->ns ? syscall_name(key->syscall) : NULL;
	if (!call || !looks_up_files(call))
		return "";
	*ret_tgid = most->tgid;
	return report_text(r,
		"probably inodes and dentries of files that %.16s (%spid %u) looks up: its %s() "
		"waits longest for room",
		key->comm, most->others ? "several, " : "", most->tgid, call);
}
