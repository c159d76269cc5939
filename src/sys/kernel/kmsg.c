/* See kmsg.h. */
#include "sys/kernel/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/units.h"
#include "sys/root.h"
#include "sys/scan.h"

/* msg_add_ext_text() of kernel/printk/printk.c writes what is not printable, and the backslash, as
 * \xHH. */
static void text_copy(char *out, size_t size, struct scan s)
{
	size_t n = 0;

	while (s.p < s.end && n < size - 1) {
		int high = -1, low = -1;

		if (scan_len(&s) >= 4 && s.p[0] == '\\' && s.p[1] == 'x') {
			high = hex_value(s.p[2]);
			low = hex_value(s.p[3]);
		}
		if (high >= 0 && low >= 0 && (high || low)) {
			out[n++] = (char)(high << 4 | low);
			s.p += 4;
		} else {
			out[n++] = *s.p++;
		}
	}
	out[n] = '\0';
}

int kmsg_parse(const char *record, struct kmsg_record *ret)
{
	struct scan s, head;
	u32 priority;
	u64 sequence, time_us;

	if (!scan_line(&record, &s) || !scan_until(&s, ';', &head))
		return -EINVAL;
	if (!scan_u32(&head, UINT32_MAX, &priority) || !scan_lit(&head, ",") ||
		!scan_u64(&head, &sequence) || !scan_lit(&head, ",") || !scan_u64(&head, &time_us))
		return -EINVAL;
	ret->priority = priority;
	ret->sequence = sequence;
	ret->time_us = time_us;
	text_copy(ret->text, sizeof(ret->text), s);
	return 0;
}

int kmsg_open(enum kmsg_from from)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "/dev/kmsg"), fd;

	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (from == KMSG_NOW && lseek(fd, 0, SEEK_END) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int kmsg_read(int fd, struct kmsg_record *ret)
{
	char buf[KMSG_RECORD_MAX + 1];
	ssize_t n;

	for (;;) {
		n = read(fd, buf, sizeof(buf) - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return !n || errno == EAGAIN ? 0 : -errno;
		buf[n] = '\0';
		if (!kmsg_parse(buf, ret))
			return 1;
	}
}
