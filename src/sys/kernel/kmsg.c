/* See kmsg.h. */
#include "sys/kernel/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "sys/kernel/klog.h"
#include "sys/root.h"
#include "sys/scan.h"

#define LOOK_NS NSEC_PER_SEC /* reading all of a log of 128 KiB takes half a millisecond */

struct kmsg {
	int fd;     /* of /dev/kmsg; below 0: syslog(2) is asked instead */
	char *text; /* what it said last */
	size_t size;
	u64 looked_ns;
	struct klog log;
};

/* msg_add_ext_text() of kernel/printk/printk.c writes what is not printable, and the backslash, as
 * \xHH. */
static void kmsg_text_copy(char *out, size_t size, struct scan s)
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
	kmsg_text_copy(ret->text, sizeof(ret->text), s);
	return 0;
}

static int device_open(enum kmsg_from from)
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

/* Reads all of the log once more, at most once in LOOK_NS. 1: it did. */
static int text_read(struct kmsg *k)
{
	u64 now = clock_mono_ns();
	int rc;

	if (k->text && now < k->looked_ns + LOOK_NS)
		return 0;
	rc = klog_text(&k->text, &k->size);
	if (rc)
		return rc;
	k->looked_ns = now;
	klog_begin(&k->log, k->text);
	return 1;
}

static int text_open(struct kmsg *k, enum kmsg_from from)
{
	static struct kmsg_record r;
	const char *text;
	int rc;

	if (*sys_root()) /* the log of this machine is none of a captured tree */
		return -ENOENT;
	rc = text_read(k);
	if (rc < 0)
		return rc;
	text = k->text;
	if (*text && klog_parse(&text, &r) == -ENODATA)
		return -ENODATA;
	while (from == KMSG_NOW && klog_next(&k->log, &r))
		;
	return 0;
}

int kmsg_open(enum kmsg_from from, struct kmsg **ret)
{
	struct kmsg *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return -ENOMEM;
	k->fd = device_open(from);
	if (k->fd < 0 && text_open(k, from)) {
		rc = k->fd;
		kmsg_close(k);
		return rc;
	}
	*ret = k;
	return 0;
}

const char *kmsg_name(const struct kmsg *k)
{
	return k->fd >= 0 ? "/dev/kmsg" : "syslog(2), once a second";
}

void kmsg_hurry(struct kmsg *k)
{
	k->looked_ns = 0;
}

static int device_read(int fd, struct kmsg_record *ret)
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

int kmsg_read(struct kmsg *k, struct kmsg_record *ret)
{
	int rc;

	if (k->fd >= 0)
		return device_read(k->fd, ret);
	rc = klog_next(&k->log, ret);
	if (rc)
		return rc;
	rc = text_read(k);
	return rc == 1 ? klog_next(&k->log, ret) : rc;
}

void kmsg_close(struct kmsg *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	free(k->text);
	free(k);
}
