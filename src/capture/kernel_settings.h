/*
 * Machine settings changed for the duration of a session. Each is restored, even if memwhy is
 * killed: a small helper process waits until memwhy is gone or says that it is done. If several
 * memwhys change the same setting, the last one restores the value from before the first
 * (capture/lease.h). If that helper was killed too, the next memwhy restores. Owns what was
 * changed.
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

/* Called for each setting that was put back. */
typedef int (*settings_told)(void *arg, const char *path, const char *value, const char *before);

/* Puts back what memwhys changed that were killed before they could. 0, or what told() returned. */
int settings_put_right(settings_told told, void *arg);

/*
 * Changes all of them, or none. A setting that already has the wanted value is not written. `list`
 * then has the previous values: those from before another memwhy changed them, if one is running.
 * -EACCES, -EPERM and the like: err says which.
 */
int settings_change(struct setting *list, size_t n, struct settings **ret, struct err *err);
/* Puts back those that are still as they were set; what others changed meanwhile stays. Returns
 * when it is done. */
void settings_restore(struct settings *s);
/* The process that waits. */
pid_t settings_keeper(const struct settings *s);

#endif
