/* See pipeline.h. */
#include "record/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/progress.h"
#include "base/target.h"
#include "probes/probe.h"

#define EVENTS_EACH 4096 /* records, after which single events are taken */

static int pipeline_put(struct sink *sink, const struct rec *r)
{
	struct pipeline *p = (struct pipeline *)sink; /* its first member */
	int rc = 0;

	/* Nobody asks for names where nothing is made of the records but a file. */
	if (p->n_views || !stream_is_name(r))
		rc = stream_feed(&p->stream, r);
	for (size_t i = 0; i < p->n_views && !rc; i++)
		rc = p->views[i].view->feed(p->views[i].state, r);
	if (rc || !p->log || task_is_over(r)) /* a file has names for all of it */
		return rc;
	/* A full disk does not end the session: the log keeps the failure for pipeline_close_log.
	 */
	log_writer_sink(p->log)->put(log_writer_sink(p->log), r);
	/* Sent about once a second: what came before survives us. */
	if (r->kind == REC_COST)
		log_writer_flush(p->log, NULL);
	return 0;
}

int pipeline_init(struct pipeline *p)
{
	*p = (struct pipeline){.sink = {pipeline_put}};
	return stream_init(&p->stream);
}

int pipeline_add(
	struct pipeline *p, const struct view *view, const struct view_options *o, struct err *err)
{
	_cleanup_free_ void *state = calloc(1, MAX(view->size, 1UL));
	int rc;

	if (!state || p->n_views == PIPELINE_VIEWS)
		return err_errno(err, -ENOMEM, "preparing the report");
	rc = view->init(state, o, err);
	if (rc)
		return rc;
	p->views[p->n_views].view = view;
	p->views[p->n_views++].state = take_ptr(state);
	return 0;
}

int pipeline_schema(struct schema *ret)
{
	int rc = schema_add(ret, meta_kinds, meta_kinds_n);

	for (size_t i = 0; i < probes_n && !rc; i++)
		rc = schema_add(ret, probes[i]->kinds, probes[i]->n_kinds);
	return rc;
}

int pipeline_log(struct pipeline *p, const struct target *to, struct err *err)
{
	_cleanup_free_ struct schema *s = calloc(1, sizeof(*s));

	if (!s || pipeline_schema(s))
		return err_errno(err, -ENOMEM, "%s", to->path);
	return log_writer_open(to, s, &p->log, err) ? -EINVAL : 0; /* a file of no use was named */
}

int pipeline_report(struct pipeline *p, struct report *r)
{
	int rc = 0;

	for (size_t i = 0; i < p->n_views && !rc; i++)
		rc = p->views[i].view->report(p->views[i].state, r);
	return rc;
}

void pipeline_reset(struct pipeline *p)
{
	for (size_t i = 0; i < p->n_views; i++)
		if (p->views[i].view->reset)
			p->views[i].view->reset(p->views[i].state);
	pipeline_forget(p);
}

void pipeline_forget(struct pipeline *p)
{
	for (size_t i = 0; i < p->n_views; i++) {
		const struct view *v = p->views[i].view;

		if (v->remembers && v->remembers(p->views[i].state))
			return;
	}
	stream_forget(&p->stream);
}

int pipeline_close_log(struct pipeline *p, struct err *err)
{
	return p->log ? log_writer_close(take_ptr(p->log), err) : 0;
}

void pipeline_destroy(struct pipeline *p)
{
	pipeline_close_log(p, NULL);
	for (size_t i = 0; i < p->n_views; i++) {
		if (p->views[i].view->destroy)
			p->views[i].view->destroy(p->views[i].state);
		free(p->views[i].state);
	}
	stream_destroy(&p->stream);
}

/* Says how far a long file was read. */
struct counted {
	struct sink sink;
	struct sink *next;
	u64 n;
};

static int counted_put(struct sink *sink, const struct rec *r)
{
	struct counted *c = (struct counted *)sink; /* its first member */

	progress_step("records read", c->n++, 0);
	return c->next->put(c->next, r);
}

static int replay_all(struct log_reader *reader, const struct schema *known, struct sink *sink,
	const struct replay_takers *to, struct err *err)
{
	const struct rec *r;
	bool second = false;
	u64 n = 0;
	int rc;

	while ((rc = log_reader_next(reader, known, &r, err)) == 1) {
		rc = second && to->on_second && r->kind != REC_TICK && r->kind != REC_END
			     ? to->on_second(to->arg)
			     : 0;
		second = r->kind == REC_COST;
		rc = rc ? rc : sink->put(sink, r);
		if (!rc && r->kind == REC_TICK && to->on_tick)
			rc = to->on_tick(to->arg);
		if (!rc && to->on_events && !(++n % EVENTS_EACH))
			rc = to->on_events(to->arg);
		if (rc)
			return err_errno(err, rc, "replaying");
	}
	return rc;
}

/* What is wrong with the file is told when it is read for its events. */
static int names_read(int fd, const char *path, const struct schema *known, struct stream *to)
{
	struct log_reader *reader;
	const struct rec *r;
	struct stat st;
	int rc = 0;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	fd = replay_again(fd);
	if (fd < 0 || log_reader_open_fd(fd, path, &reader, NULL))
		return 0;
	while (!rc && log_reader_next(reader, known, &r, NULL) == 1)
		rc = stream_feed_name(to, r);
	log_reader_close(reader);
	return rc;
}

int replay_open(const char *path, int *ret_fd, struct err *err)
{
	int fd = source_open(path);

	if (fd < 0) {
		source_failed(path, fd, err);
		return err->code == -EACCES ? -EACCES : -EINVAL; /* of no use */
	}
	*ret_fd = fd;
	return 0;
}

int replay_again(int fd)
{
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (again < 0)
		return -errno;
	lseek(again, 0, SEEK_SET); /* a pipe has no beginning */
	return again;
}

/* A pipe is not looked into: its first bytes would be gone. */
bool replay_is_foreign(int fd, const struct probe *of)
{
	char head[16];
	ssize_t n = of && of->file_is ? pread(fd, head, sizeof(head), 0) : -1;

	return n > 0 && of->file_is(head, (size_t)n);
}

int replay_fd(int fd, const char *path, const struct probe *of, struct sink *sink,
	const struct replay_takers *to, struct err *err)
{
	_cleanup_free_ struct schema *known = calloc(1, sizeof(*known));
	struct counted counted = {.sink = {counted_put}, .next = sink};
	struct log_reader *reader;
	int rc;

	if (!known || pipeline_schema(known))
		return err_errno(err, -ENOMEM, "%s", path);
	rc = to->names_first ? names_read(fd, path, known, to->names_first) : 0;
	if (rc)
		return err_errno(err, rc, "replaying");
	fd = replay_again(fd);
	if (fd < 0)
		return err_errno(err, fd, "cannot read %s", path);
	if (replay_is_foreign(fd, of))
		return of->file_read(fd, path, &counted.sink, err);
	rc = log_reader_open_fd(fd, path, &reader, err);
	if (rc)
		return rc == -ENODATA || rc == -EACCES ? rc : -EINVAL; /* of no use */
	rc = replay_all(reader, known, &counted.sink, to, err);
	log_reader_close(reader);
	return rc;
}
