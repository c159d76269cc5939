/* See fdlink.h. */
#include "sys/process/fdlink.h"

#include "sys/scan.h"

static const struct {
	const char *prefix;
	enum fd_kind kind;
} prefixes[] = {
	{"pipe:[", FD_PIPE},
	{"socket:[", FD_SOCKET},
	{"anon_inode:[eventpoll]", FD_EPOLL},
	{"anon_inode:[eventfd]", FD_EVENT},
	{"anon_inode:[timerfd]", FD_EVENT},
	{"anon_inode:[signalfd]", FD_EVENT},
	{"anon_inode:inotify", FD_WATCH},
	{"anon_inode:[fanotify]", FD_WATCH},
	{"anon_inode:[userfaultfd]", FD_UFFD},
	{"anon_inode:bpf-map", FD_BPF_MAP},
	{"anon_inode:bpf", FD_BPF},
	{"anon_inode:[io_uring]", FD_RING},
	{"anon_inode:[perf_event]", FD_PERF},
	{"/memfd:", FD_MEMFD},
	{"/SYSV", FD_SHARED},
	{"/dev/zero (deleted)", FD_SHARED},
	{"/dmabuf:", FD_DMABUF},
};

enum fd_kind fdlink_parse(const char *text, u64 *ret_inode)
{
	struct scan s = scan_text(text);

	*ret_inode = 0;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		struct scan rest = s;

		if (!scan_lit(&rest, prefixes[i].prefix))
			continue;
		if (prefixes[i].kind == FD_PIPE || prefixes[i].kind == FD_SOCKET)
			scan_u64(&rest, ret_inode);
		return prefixes[i].kind;
	}
	if (text[0] != '/')
		return FD_OTHER;
	return scan_cut_deleted(&s) ? FD_DELETED : FD_FILE;
}
