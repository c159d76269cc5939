/*
 * Who changed which setting of the machine, and what it was before: a file in /run/memwhy for each
 * memwhy that changed some. Its owner holds a lock on it (flock) as long as it lives, so that a
 * process that was killed is known by a lock that nobody has. Owns these files; reads and writes no
 * setting.
 */
#ifndef MEMWHY_CAPTURE_LEASE_H
#define MEMWHY_CAPTURE_LEASE_H

#include "base/vec.h"
#include "capture/kernel_settings.h"

#define LEASE_NAME 64

struct lease {
	char path[96], value[SETTING_LEN], before[SETTING_LEN];
	char owner[LEASE_NAME]; /* the name of its file */
	bool held;              /* its owner lives */
};

typedef VEC(struct lease) lease_vec;

/*
 * The directory, locked against other memwhys: to be given to leases_close(). It is made if `make`
 * says so; else -ENOENT where there is none. -EPERM: others may write into it.
 */
int leases_open(bool make, int *ret_dir);
void leases_close(int dir);

/* Appends all but those of the owner `but` (may be NULL), oldest first of each owner. */
int leases_read(int dir, const char *but, lease_vec *out);
/* One that is held, of this setting, or NULL. */
const struct lease *leases_find(const lease_vec *leases, const char *path);
/* Writes a lease of those that change. The caller holds it as long as ret_lock, or a copy of that
 * in a child, is open. */
int lease_make(
	int dir, const struct setting *list, size_t n, char ret_owner[LEASE_NAME], int *ret_lock);
void lease_end(int dir, const char *owner);

#endif
