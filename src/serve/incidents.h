/*
 * The directory of incidents: recordings of the minutes before something happened, each with the
 * report that was made of it. Owns their names, their number and the space they take.
 */
#ifndef MEMWHY_SERVE_INCIDENTS_H
#define MEMWHY_SERVE_INCIDENTS_H

#include <limits.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#define INCIDENTS_DIR "/var/lib/memwhy/incidents"

struct incident_limits {
	u64 most;       /* incidents that are kept */
	u64 most_bytes; /* that all of them may take */
	u64 min_free;   /* bytes of the file system that are left to others */
};

struct incident {
	u64 number;
	u64 time;      /* seconds since 1970 */
	char kind[32]; /* "oom-kill" */
	char name[96]; /* of its file */
	u64 bytes;     /* of all its files */
};

struct incident_list {
	VEC(struct incident) v; /* oldest first */
	u64 bytes;
};

/* -errno; an empty list where there is no such directory. */
int incidents_list(const char *dir, struct incident_list *ret);
void incident_list_free(struct incident_list *l);
/* What lies on disk of an incident: NAME.mw, and its report as text and as a page. */
enum incident_file { INCIDENT_RECORDING, INCIDENT_TEXT, INCIDENT_PAGE, INCIDENT_FILES };

void incident_path(
	char ret[PATH_MAX], const char *dir, const struct incident *i, enum incident_file file);
/* Reads it, if it is ours. Where others may write to the directory they put links there, to what
 * only we may read, and FIFOs. 0 or -errno. */
int incident_read(
	const char *dir, const struct incident *i, enum incident_file file, struct str *out);
/* Makes the directory where it is not there, for its owner alone. */
int incidents_prepare(const char *dir, struct err *err);
/*
 * Makes room for one more, of about so many bytes, and names it: the oldest go, as far as `most`
 * and `most_bytes` need it. -ENOSPC: min_free would not be left; nothing was removed.
 */
int incident_begin(const char *dir, const struct incident_limits *limits, const char *kind,
	u64 expected_bytes, struct incident *ret);
/* Puts what was written on the disk, which may take a while. */
void incident_sync(const char *dir, const struct incident *i);
void incident_remove(const char *dir, const struct incident *i);

#endif
