/* See origin.h. */
#include "record/origin.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "sys/host.h"

int origin_begin(struct capture *c, const char *command, const char *scope, u64 begin_ns)
{
	struct rec_session session = REC_INIT(struct rec_session, REC_SESSION, begin_ns);

	session.wall_ns = clock_wall_ns() - (clock_mono_ns() - begin_ns);
	snprintf(session.command, sizeof(session.command), "%s", command);
	snprintf(session.scope, sizeof(session.scope), "%.199s", scope);
	session.options = (c->opt.each ? SESSION_EACH : 0) |
			  (c->opt.user_stacks || c->opt.kernel_stacks ? SESSION_STACKS : 0) |
			  (c->opt.least_bytes ? SESSION_NO_SUMS : 0) |
			  (c->opt.gentle ? SESSION_GENTLE : 0);
	snprintf(session.by, sizeof(session.by), "%.63s", c->opt.by ? c->opt.by : "");
	return capture_emit(c, &session.h);
}

int origin_send(struct capture *c, const char *command, const char *scope)
{
	struct rec_host host = REC_INIT(struct rec_host, REC_HOST, 0);
	_cleanup_free_ struct host *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	host_read(h);
	host.cpus = h->cpus;
	host.nodes = h->nodes;
	host.page_bytes = h->page_bytes;
	host.pageblock_order = h->pageblock_order;
	host.memory_bytes = h->mem_total_bytes;
	host.huge_page_bytes = h->page_bytes << h->pageblock_order;
	snprintf(host.kernel, sizeof(host.kernel), "%.63s", h->release);
	rc = capture_emit(c, &host.h);
	return rc ? rc : origin_begin(c, command, scope, clock_mono_ns());
}

int origin_check(struct err *err)
{
	static const char *const needed[] = {"/proc/self/stat", "/sys/devices/system/cpu/possible"};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (access(needed[i], R_OK))
			return err_set(err, -EOPNOTSUPP,
				"%s cannot be read: memwhy needs /proc and /sys", needed[i]);
	return 0;
}
