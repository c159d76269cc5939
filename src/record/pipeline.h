/*
 * The one way of records: into the stream's own knowledge, then to each view, then to the log.
 * Live and replayed records take it alike.
 */
#ifndef MEMWHY_RECORD_PIPELINE_H
#define MEMWHY_RECORD_PIPELINE_H

#include "event/log.h"
#include "event/stream.h"
#include "report/view.h"

#define PIPELINE_VIEWS 64

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
/* All that was fed is reported: names that are of no use any more are forgotten. */
void pipeline_forget(struct pipeline *p);
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

struct replay_takers {
	int (*on_tick)(void *arg);   /* at the end of each interval; may be NULL */
	int (*on_events)(void *arg); /* after some thousand records; may be NULL */
	/* After what was sent about once a second, with a REC_COST, where no interval ended with
	 * it; may be NULL. */
	int (*on_second)(void *arg);
	/* It is to have all names of the file before the first record is handed out, where the
	 * file can be read twice: of stacks they are behind the events. NULL: no. */
	struct stream *names_first;
	void *arg;
};
/*
 * Replays what replay_open() opened, which stays open, into the sink: a recording, or what the
 * probe of the command (may be NULL) takes for one (probe.file_is), if it is a regular file. 0, or
 * -ENODATA when the file is damaged (err says how; what could be read was sent), or -errno.
 */
int replay_fd(int fd, const char *path, const struct probe *of, struct sink *sink,
	const struct replay_takers *takers, struct err *err);

#endif
