/*
 * Objects of the kernel that programs have it keep: what they wait for in epoll, what they watch by
 * inotify, keys, locks on files, network namespaces. The slab cache tells how many there are; whose
 * they are is concluded from who has most of the descriptors that they hang on, since to ask the
 * kernel would hold up that program.
 */
#include <string.h>

#include "base/units.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "sys/process/fdlink.h"

#define MANY 100000
/* Measured on 6.18 with one CPU or two: 250 KiB of slab for each, without any device but lo. */
#define NETNS_BYTES (200ULL << 10)
#define NETNS_MANY 100
#define MOST_PART 0.5 /* of the descriptors: who has as many is named */
#define CANDIDATES 4  /* told where it may be any of them */

struct object {
	const char *cache, *what, *descriptors; /* descriptors NULL: they hang on none */
	enum fd_kind kind;
	/* With each: wait queue entry; pinned inode; a key's name and data; tables. */
	u64 beside_bytes;
	const char *why, *try_;
	void (*see)(struct report *r, struct finding *x); /* whose they are; NULL: descriptors */
	u64 many;                                         /* fewer are no finding; 0: MANY */
	/* Each also has several of this cache: where that has fewer objects, these are gone, and
	 * their own are freed later. NULL: there is no such cache. */
	const char *witness;
};

static void see_keys(struct report *r, struct finding *x)
{
	finding_line(r, x->try_, "`cat /proc/key-users`");
}

static void see_locks(struct report *r, struct finding *x)
{
	finding_line(
		r, x->try_, "`awk '{print $5}' /proc/locks | sort | uniq -c | sort -rn | head`");
}

static void see_netns(struct report *r, struct finding *x)
{
	finding_line(r, x->try_, "`lsns -t net`");
}

static const struct object objects[] = {
	{SLAB_EPOLL_NAME, "epoll items", "epoll descriptors", FD_EPOLL, 64,
		"Each descriptor in an epoll set is an item that goes away only when every process "
		"closes the open file: one that another process or a duplicate still holds stays "
		"in the set.",
		"Remove descriptors from the set (EPOLL_CTL_DEL) before they are closed, and use "
		"one set per thread rather than per connection. The kernel's limit is "
		"fs.epoll.max_user_watches.",
		NULL, 0, NULL},
	{SLAB_INOTIFY_NAME, "inotify watches", "inotify and fanotify descriptors", FD_WATCH, 1024,
		"Each watch keeps the inode and name of its directory or file in memory, "
		"unreclaimable.",
		"Watch fewer directories, or whole file systems with fanotify. The kernel's limit "
		"is fs.inotify.max_user_watches.",
		NULL, 0, NULL},
	{SLAB_KEYS_NAME, "keys (keyrings)", NULL, FD_KINDS, 128,
		"A key (add_key, request_key) stays until it expires, is revoked, or no keyring "
		"has it: those in a user's keyring outlive the program that added them.",
		"Let keys expire (KEYCTL_SET_TIMEOUT) or unlink them when they are no longer "
		"needed. The kernel's limits for each user are kernel.keys.maxkeys and "
		"kernel.keys.root_maxkeys. Whose they are (user, and in the third column how "
		"many):",
		see_keys, 0, NULL},
	{SLAB_LOCKS_NAME, "locks on files (fcntl, flock)", NULL, FD_KINDS, 0,
		"Each locked range of a file is an object until it is unlocked or its owner closes "
		"the file, and each new lock is compared with all others of that file.",
		"Unlock what is no longer needed, or lock one range instead of many small ones. "
		"Whose they are (how many, and the pid):",
		see_locks, 0, NULL},
	{SLAB_NETNS_NAME, "network namespaces", "descriptors that may be of namespaces", FD_OTHER,
		NETNS_BYTES,
		"Each network namespace has its own devices, sockets, tables and counters. It "
		"stays while a process is in it or has it open, or while it is mounted (ip netns).",
		"Remove those that nobody needs (ip netns delete), and close descriptors of "
		"/proc/PID/ns/net. Which there are, and who is in them:",
		see_netns, NETNS_MANY,
		/* the last ones removed stay in the cache until others are (seen on 6.18) */
		"sock_inode_cache"},
};

struct owner {
	const struct held_process *most;
	u64 all; /* descriptors */
	u32 n;   /* processes that have some */
};

/* One descriptor of inotify may have any number of watches; one of a namespace keeps that. */
static bool is_owner(const struct owner *o, enum fd_kind kind, u64 all)
{
	if (kind == FD_OTHER)
		return (double)o->most->kinds[kind] >= MOST_PART * (double)all;
	return kind == FD_WATCH ? o->n == 1
				: (double)o->most->kinds[kind] >= MOST_PART * (double)o->all;
}

static struct owner owner_find(const struct held *h, enum fd_kind kind, u64 all)
{
	struct owner o = {};

	if (kind == FD_KINDS)
		return o;
	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_process *p =
			&((const struct held_both *)groups_value(&h->processes, i))->last;

		o.all += p->kinds[kind];
		o.n += p->kinds[kind] > 0;
		if (p->kinds[kind] && (!o.most || p->kinds[kind] > o.most->kinds[kind] ||
					      (p->kinds[kind] == o.most->kinds[kind] &&
						      p->files > o.most->files)))
			o.most = p;
	}
	if (o.most && !is_owner(&o, kind, all))
		o.most = NULL;
	return o;
}

/* ": of a (pid 7) or b (pid 9)", of few. */
static const char *candidates_text(
	struct report *r, const struct held *h, const struct owner *o, enum fd_kind kind)
{
	const char *text = "";

	if (o->most || kind != FD_WATCH || o->n > CANDIDATES)
		return "";
	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_process *p =
			&((const struct held_both *)groups_value(&h->processes, i))->last;

		if (p->kinds[kind])
			text = report_text(
				r, "%s%s%s", text, text[0] ? " or " : ": of ", held_name(r, p));
	}
	return text;
}

static const struct slab_usage *cache_find(const struct facts *f, const char *name)
{
	for (size_t i = 0; i < f->slabs.n; i++) {
		const struct slab_usage *s = groups_value(&f->slabs, i);

		if (!strncmp(s->name, name, sizeof(s->name)) ||
			!strncmp(s->also, name, sizeof(s->also)))
			return s;
	}
	return NULL;
}

static void kernel_objects_tell(struct report *r, const struct held *h, const struct object *o,
	const struct slab_usage *s, int level, u64 bytes)
{
	struct owner owner = owner_find(h, o->kind, s->active_objects);
	bool merged = strncmp(s->name, o->cache, sizeof(s->name)) != 0;
	/* What a merged cache has most is not known, unless somebody has such descriptors. */
	struct finding *x =
		merged && !owner.all ? NULL : report_finding(r, level, "kernel-objects");
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = bytes;
	x->losses = LOSS_KERNEL;
	x->grown_bytes = counter_rise(s->first_bytes, s->bytes);
	x->tgid = owner.most ? owner.most->tgid : 0;
	x->title = report_text(r, "%s%s%s %s kept by the kernel, about %s%s",
		owner.most ? report_text(r, "%s has most of the %s: ", held_name(r, owner.most),
				     o->descriptors)
			   : "",
		merged ? "up to " : "", fmt_count(a, s->active_objects), o->what,
		fmt_bytes(b, bytes), candidates_text(r, h, &owner, o->kind));
	x->confidence = merged ? "low: other objects are in the number, as the kernel merged their "
				 "caches; that most are these is inferred from open descriptors"
			: owner.most ? "medium: high for the number; that they belong to this "
				       "process is inferred from its descriptors"
				     : "high for the number; whose they are is not known";
	finding_line(r, x->evidence, "cache %.64s%s: %llu objects, %s; %s", s->name,
		merged ? report_text(r, ", into which the kernel merged %s", o->cache) : "",
		s->active_objects, fmt_bytes(a, s->bytes), held_share(r, bytes));
	if (s->active_objects > s->first_active_objects)
		finding_line(r, x->evidence, "%llu more in %.0f s",
			s->active_objects - s->first_active_objects, report_seconds(r));
	if (owner.most)
		finding_line(r, x->evidence, "%s has %u of %llu %s, and %llu open files",
			held_name(r, owner.most), owner.most->kinds[o->kind], owner.all,
			o->descriptors, owner.most->files);
	x->why = o->why;
	finding_line(r, x->try_, "%s", o->try_);
	if (o->see)
		o->see(r, x);
	if (o->kind == FD_WATCH)
		finding_line(r, x->try_,
			"Count them by process (the kernel holds up who adds watches while it "
			"counts): `grep -sc ^inotify /proc/[0-9]*/fdinfo/* | grep -v ':0$' | sort "
			"-t: -k2 -rn | head`");
	if (owner.most)
		finding_line(r, x->try_,
			"See where it creates them: `memwhy leak --kernel --for 30s -p %u`",
			owner.most->tgid);
	else
		finding_line(r, x->try_,
			"If there are ever more, see who creates them: `memwhy leak --kernel --for "
			"30s`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep %s /proc/slabinfo`", report_text(r, "%.64s", s->name));
}

static int kernel_objects_rule_report(void *v, struct report *r)
{
	const struct held *h = v;

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		const struct object *o = &objects[i];
		const struct slab_usage *s = cache_find(&h->facts, o->cache);
		const struct slab_usage *w = o->witness ? cache_find(&h->facts, o->witness) : s;
		u64 bytes = s ? s->bytes + s->active_objects * o->beside_bytes : 0;
		u64 many = o->many ? o->many : MANY;
		int level = s && s->active_objects >= many ? held_level(r, bytes) : -1;

		/* Ever more of them are told before they are large. */
		if (level < 0 && s && s->active_objects >= 2 * s->first_active_objects + many / 2)
			level = LEVEL_NOTE;
		if (level >= 0 && w && w->active_objects >= s->active_objects)
			kernel_objects_tell(r, h, o, s, level, bytes);
	}
	return 0;
}

const struct view rule_kernel_objects = HELD_RULE(kernel_objects_rule_report);
