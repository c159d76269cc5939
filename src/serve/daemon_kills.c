/* See daemon_kills.h. */
#include "serve/daemon_kills.h"

#include <string.h>

#include "base/clock.h"
#include "base/util.h"

/* systemd-oomd waits as long after each; who asks a process to end kills it before. */
#define SAME_NS (15 * NSEC_PER_SEC)

/* These end groups, the others one process at a time. */
static bool ends_groups(const char comm[COMM_LEN])
{
	return !strncmp(comm, "systemd-oomd", COMM_LEN) || !strncmp(comm, "oomd", COMM_LEN);
}

bool daemon_kill_begins(struct daemon_kills *d, const struct daemon_kill *r)
{
	u64 subject = ends_groups(r->comm) ? r->victim_cgroup : r->victim_tgid;
	size_t oldest = 0;

	for (size_t i = 0; i < DAEMON_KILLS; i++) {
		bool goes_on = d->v[i].last_ns && r->h.time_ns <= d->v[i].last_ns + SAME_NS;

		if (goes_on && d->v[i].subject == subject &&
			!strncmp(d->v[i].comm, r->comm, COMM_LEN)) {
			d->v[i].last_ns = MAX(d->v[i].last_ns, r->h.time_ns);
			return false;
		}
		if (d->v[i].last_ns < d->v[oldest].last_ns)
			oldest = i;
	}
	memcpy(d->v[oldest].comm, r->comm, COMM_LEN);
	d->v[oldest].subject = subject;
	d->v[oldest].last_ns = r->h.time_ns;
	return true;
}
