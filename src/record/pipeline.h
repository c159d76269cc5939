/*
 * The one way of records: into the stream's own knowledge, then to each view, then to the log.
 * Live and replayed records take it alike.
 */
#ifndef MEMWHY_RECORD_PIPELINE_H
#define MEMWHY_RECORD_PIPELINE_H

#include "event/log.h"
#include "event/stream.h"
#include "report/view.h"

#define PIPELINE_VIEWS 24

struct pipeline {
	struct sink sink; /* put records here */
	struct stream stream;
	struct {
		const struct view *view;
		void *state;
	} views[PIPELINE_VIEWS];
	size_t n_views;
	struct log_writer *log; /* NULL: no file */
};

int pipeline_init(struct pipeline *p);
int pipeline_add(
	struct pipeline *p, const struct view *view, const struct view_options *o, struct err *err);
/* All kinds there are: those of the stream itself and of every probe. */
int pipeline_schema(struct schema *ret);
int pipeline_log(struct pipeline *p, const struct target *to, struct err *err);
/* Fills the report from all views. */
int pipeline_report(struct pipeline *p, struct report *r);
/* The next interval begins. */
void pipeline_reset(struct pipeline *p);
/* Closes the log: its failures count. */
int pipeline_close_log(struct pipeline *p, struct err *err);
void pipeline_destroy(struct pipeline *p);

struct probe;

/* Opens a file that is to be replayed, while there is the right to. */
int replay_open(const char *path, int *ret_fd, struct err *err);
/* Whether it is what the probe of the command (may be NULL) takes for a recording. */
bool replay_is_foreign(int fd, const struct probe *of);
/* A descriptor for another reader, from the file's beginning, or where a pipe is. -errno. */
int replay_again(int fd);

/*
 * Replays a file into the sink: a recording, or what the probe of the command (may be NULL) takes
 * for one (probe.file_is), if it is a regular file. on_tick is called after each interval of the
 * recording. 0, or -ENODATA when the file is damaged (err says how; what could be read was sent),
 * or -errno.
 */
int replay_run(const char *path, const struct probe *of, struct sink *sink,
	int (*on_tick)(void *arg), void *arg, struct err *err);
/* The same over what replay_open() opened, which stays open. */
int replay_fd(int fd, const char *path, const struct probe *of, struct sink *sink,
	int (*on_tick)(void *arg), void *arg, struct err *err);

#endif
