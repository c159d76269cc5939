/*
 * The kernel's log as syslog(2) gives it: all of it as one text at each call, in lines
 * "<priority>[seconds.microseconds] text". Owns that format, and which lines are new since the text
 * before; knows no message. For where /dev/kmsg is missing or closed, as in a container.
 */
#ifndef MEMWHY_SYS_KLOG_H
#define MEMWHY_SYS_KLOG_H

#include "sys/kernel/kmsg.h"

/* Where in the log a reader is. Zeroed: at its oldest line. */
struct klog {
	const char *next; /* in the text that was begun last */
	u64 last_us;      /* of the last line given */
	u32 given, met;   /* lines of that time: given by now, met in this text */
	bool begun;       /* no line of this text was met yet */
};

/* All that the log holds now, into *text, which has *size bytes and is made larger where that is
 * too little: begin with NULL and 0; the caller frees it. Needs CAP_SYSLOG where
 * kernel.dmesg_restrict is set. 0, -ENOMEM, -EPERM, … */
int klog_text(char **text, size_t *size);
/* Goes on in @text, a later reading of the log, behind what was given of the one before. It must
 * live until the next call. */
void klog_begin(struct klog *k, const char *text);
/*
 * 1: *ret is the next line, with no sequence number. 0: there is none in this text. -EPIPE: the
 * last line given is gone, and others may be (overwritten, or cleared by dmesg -C); the next call
 * continues after them. Lines are distinguished by their time, which the log keeps in order but for
 * microseconds between CPUs.
 */
int klog_next(struct klog *k, struct kmsg_record *ret);
/* Takes a line off *text. -EINVAL: not such a line. -ENODATA: it has no time (printk.time is off). */
int klog_parse(const char **text, struct kmsg_record *ret);

#endif
