/*
 * Settings of the machine that were asked to be changed for the time of a session: each is put back
 * as it was, also where memwhy is killed. A small process of its own sees to that: it waits until
 * memwhy is gone, or says that it is over. Where several memwhys change the same, the last one puts
 * back what was before the first (capture/lease.h); where that process was killed too, the next
 * memwhy does. Owns what was changed.
 */
#ifndef MEMWHY_CAPTURE_KERNEL_SETTINGS_H
#define MEMWHY_CAPTURE_KERNEL_SETTINGS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/util.h"

#define SETTINGS_MAX 8
#define SETTING_LEN 32

struct setting {
	const char *path; /* a file with one word, as sys_path() takes it. It must outlive the
			     settings */
	char value[SETTING_LEN];
	char before[SETTING_LEN]; /* filled in */
};

struct settings;

/* Is told of a setting that was put right. */
typedef int (*settings_told)(void *arg, const char *path, const char *value, const char *before);

/* Puts back what memwhys changed that were killed before they could. 0, or what told() said. */
int settings_put_right(settings_told told, void *arg);

/*
 * Changes all of them, or none. Where one already is as it should be nothing is written. In `list`
 * is then what they were before: before another memwhy changed them, where one is at work. -EACCES,
 * -EPERM and the like: err says which.
 */
int settings_change(struct setting *list, size_t n, struct settings **ret, struct err *err);
/* Puts back those that are still as they were set; what others changed meanwhile stays. Returns
 * when it is done. */
void settings_restore(struct settings *s);
/* The process that waits. */
pid_t settings_keeper(const struct settings *s);

#endif
