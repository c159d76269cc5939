/* See processes_family.h. */
#include "probes/processes/processes_family.h"

#include <errno.h>
#include <string.h>

#include "capture/names/names.h"
#include "probes/processes/processes.h"
#include "sys/process/proc.h"

#define ANCESTORS 8
#define FAMILIES_MAX 4096

void processes_families_init(struct processes_families *f)
{
	groups_init(&f->all, sizeof(struct family_key), sizeof(struct family));
}

void processes_families_free(struct processes_families *f)
{
	groups_free(&f->all);
}

/* Up to the first ancestor of another name. */
static struct family_key processes_family_key_of(
	const struct processes_table *t, const struct process_entry *e)
{
	const struct process_entry *p = e;
	struct family_key k = {};

	memcpy(k.comm, e->comm, sizeof(k.comm));
	k.leader = e->pid;
	for (int i = 0; i < ANCESTORS && p && p->ppid > 1; i++) {
		const struct process_entry *parent = processes_find(t, p->ppid);

		if (!parent || memcmp(parent->comm, e->comm, sizeof(e->comm)) != 0) {
			/* Brothers of a parent that does something else belong together, too. */
			if (p == e)
				k.leader = p->ppid;
			break;
		}
		k.leader = parent->pid;
		p = parent;
	}
	return k;
}

static void family_add(struct family *f, const struct process_entry *e)
{
	f->processes++;
	f->anon_bytes += e->anon_bytes;
	f->rss_bytes += e->rss_bytes;
	if (e->began_ns)
		f->oldest_ns = MIN(f->oldest_ns ? f->oldest_ns : e->began_ns, e->began_ns);
	/* Of those about as big the oldest: it has its name. */
	if (!f->biggest || e->anon_bytes > f->biggest_bytes + f->biggest_bytes / 8) {
		f->biggest = e->pid;
		f->biggest_bytes = e->anon_bytes;
	}
}

static bool family_stays(void *arg, const void *key, const void *value)
{
	(void)arg;
	(void)key;
	return ((const struct family *)value)->processes > 0;
}

int processes_families_sum(
	struct processes_families *f, const struct processes_table *t, u64 now_ns)
{
	for (size_t i = 0; i < f->all.n; i++) {
		struct family *old = groups_value(&f->all, i);

		old->processes = old->biggest = 0;
		old->anon_bytes = old->rss_bytes = old->biggest_bytes = old->oldest_ns = 0;
	}
	vec_each (e, &t->list) {
		struct family_key k;
		struct family *fam;

		if (!e->comm[0] || !(e->flags & ENTRY_MATCHES))
			continue;
		k = processes_family_key_of(t, e);
		if (f->all.n >= FAMILIES_MAX && !groups_find(&f->all, &k))
			continue;
		fam = groups_get(&f->all, &k);
		if (!fam)
			return -ENOMEM;
		family_add(fam, e);
	}
	if (f->all.n >= FAMILIES_MAX / 2) /* room for those that begin */
		groups_filter(&f->all, family_stays, NULL);
	for (size_t i = 0; i < f->all.n; i++) {
		struct family *fam = groups_value(&f->all, i);

		if (fam->seen)
			continue;
		fam->seen = true;
		fam->first_ns = now_ns;
		fam->first_processes = fam->processes;
		fam->first_anon_bytes = fam->anon_bytes;
	}
	return 0;
}

static u64 grown(const struct family *f)
{
	return f->anon_bytes > f->first_anon_bytes ? f->anon_bytes - f->first_anon_bytes : 0;
}

static int family_send(struct capture *c, const struct family_key *k, struct family *f)
{
	struct process_family r = REC_INIT(struct process_family, REC_PROCESS_FAMILY, 0);
	char leader[PROC_COMM_MAX];
	int rc;

	r.leader = k->leader;
	r.biggest = f->biggest;
	r.processes = f->processes;
	r.first_processes = f->first_processes;
	r.anon_bytes = f->anon_bytes;
	r.first_anon_bytes = f->first_anon_bytes;
	r.rss_bytes = f->rss_bytes;
	r.first_ns = f->first_ns;
	r.oldest_ns = f->oldest_ns;
	memcpy(r.comm, k->comm, sizeof(r.comm));
	f->sends = true; /* from here on at each sample: that it stopped is worth knowing */
	rc = f->biggest ? names_task(c->names, f->biggest, 0, k->comm, 0) : 0;
	if (!rc && !proc_comm_read((int)k->leader, leader))
		rc = names_task(c->names, k->leader, 0, leader, 0);
	return rc ? rc : capture_emit(c, &r.h);
}

int processes_families_send(struct processes_families *f, struct capture *c)
{
	u32 sent = 0;
	int rc = 0;

	for (size_t i = 0; i < f->all.n && !rc; i++)
		sent += ((const struct family *)groups_value(&f->all, i))->sends;
	for (size_t i = 0; i < f->all.n && !rc; i++) {
		struct family *fam = groups_value(&f->all, i);
		bool begins = !fam->sends && sent < FAMILIES_SENT && fam->processes > 1 &&
			      grown(fam) > PROCESSES_GROWN_BYTES;

		sent += begins;
		if (begins || fam->sends)
			rc = family_send(c, groups_key(&f->all, i), fam);
	}
	return rc;
}
