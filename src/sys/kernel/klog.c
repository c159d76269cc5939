/* See klog.h. */
#include "sys/kernel/klog.h"

#include <errno.h>
#include <sys/klog.h>

#include "sys/scan.h"

#define LOG_READ_ALL 3 /* SYSLOG_ACTION_READ_ALL, syslog(2) */
#define LOG_SIZE 10    /* SYSLOG_ACTION_SIZE_BUFFER */
#define LOG_MAX (16 << 20)

int klog_text(char **text, size_t *size)
{
	int log = klogctl(LOG_SIZE, NULL, 0), n;

	if (log < 0)
		return -errno;
	log = MIN(log, LOG_MAX);
	if (*size <= (size_t)log) {
		char *larger = realloc(*text, (size_t)log + 1);

		if (!larger)
			return -ENOMEM;
		*text = larger;
		*size = (size_t)log + 1;
	}
	n = klogctl(LOG_READ_ALL, *text, log);
	if (n < 0)
		n = -errno;
	(*text)[MAX(n, 0)] = '\0';
	return MIN(n, 0);
}

/* "[  123.456789]" of print_time() in kernel/printk/printk.c */
static bool time_take(struct scan *s, u64 *ret_us)
{
	struct scan at = *s;
	const char *dot;
	u64 seconds, us;

	if (!scan_lit(&at, "[") || !scan_u64(&at, &seconds) || seconds > UINT32_MAX ||
		!scan_lit(&at, "."))
		return false;
	dot = at.p;
	if (!scan_u64(&at, &us) || at.p - dot != 6 || !scan_lit(&at, "]"))
		return false;
	*ret_us = seconds * 1000000 + us;
	*s = at;
	return true;
}

/* "[   T12]", "[    C0]" of print_caller(), with CONFIG_PRINTK_CALLER */
static void caller_skip(struct scan *s)
{
	struct scan at = *s;
	u64 id;

	if (!scan_len(&at) || *at.p != '[')
		return;
	at.p++;
	if ((scan_lit(&at, "T") || scan_lit(&at, "C")) && scan_u64(&at, &id) && scan_lit(&at, "]"))
		*s = at;
}

int klog_parse(const char **text, struct kmsg_record *ret)
{
	u32 priority;
	struct scan s;
	u64 time_us;

	if (!scan_line(text, &s) || !scan_lit(&s, "<") || !scan_u32(&s, UINT32_MAX, &priority) ||
		!scan_lit(&s, ">"))
		return -EINVAL;
	if (!time_take(&s, &time_us))
		return -ENODATA;
	caller_skip(&s);
	if (scan_len(&s) && *s.p == ' ')
		s.p++;
	ret->priority = priority;
	ret->sequence = 0;
	ret->time_us = time_us;
	scan_copy(&s, ret->text, sizeof(ret->text)); /* longer is cut */
	return 0;
}

void klog_begin(struct klog *k, const char *text)
{
	k->next = text;
	k->met = 0;
	k->begun = true;
}

static bool was_given(struct klog *k, u64 time_us)
{
	return time_us < k->last_us || (time_us == k->last_us && ++k->met <= k->given);
}

int klog_next(struct klog *k, struct kmsg_record *ret)
{
	while (k->next && *k->next) {
		const char *next = k->next;

		if (klog_parse(&next, ret)) {
			k->next = next;
			continue;
		}
		if (k->begun && k->given && ret->time_us > k->last_us) {
			k->begun = false;
			return -EPIPE;
		}
		k->begun = false;
		k->next = next;
		if (was_given(k, ret->time_us))
			continue;
		if (ret->time_us != k->last_us)
			k->given = 0;
		k->last_us = ret->time_us;
		k->met = ++k->given;
		return 1;
	}
	return 0;
}
