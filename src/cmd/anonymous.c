/* See anonymous.h. */
#include "cmd/anonymous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/unnamed.h"
#include "event/meta.h"
#include "export/anonymize.h"
#include "record/pipeline.h"

static int cmd_anonymous_options_check(const struct options *o, struct err *err)
{
	if (!o->comm && !o->cgroup && !o->container)
		return 0;
	return err_set(err, -EINVAL,
		"--anonymize: -c, -g and -C would be names in the report; -p, --from and --to "
		"choose a part of it");
}

int anonymous_begin(struct anonymous *a, const struct options *o, size_t n, struct err *err)
{
	int rc = o->anonymize ? cmd_anonymous_options_check(o, err) : 0;

	if (rc || !o->anonymize)
		return rc;
	a->schema = calloc(1, sizeof(*a->schema));
	if (!a->schema || pipeline_schema(a->schema))
		return -ENOMEM;
	a->names = anonymizer_new(a->schema);
	if (!a->names)
		return -ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = unnamed_open(&a->made[i], err);
		/* The writer closes its own descriptor. */
		rc = rc ? rc
			: log_writer_open_fd(dup(a->made[i]), "the copy without names", a->schema,
				  &a->copies[i], err);
	}
	return rc;
}

static int damage_put(struct sink *to, const char *damage)
{
	struct rec_note note = REC_INIT(struct rec_note, REC_NOTE, 0);

	note.h.flags = NOTE_NOT_CHECKED;
	snprintf(note.text, sizeof(note.text),
		"the recording is damaged: it ends early, or parts "
		"of it could not be read");
	return *damage ? to->put(to, &note.h) : 0;
}

static int recording_pass(struct anonymous *a, struct sink *to, int fd, const char *path,
	const struct probe *of, char ret_damage[160], struct err *err)
{
	const struct replay_takers none = {};
	int rc = replay_fd(fd, path, of, anonymizer_learn(a->names), &none, err);

	if (!rc || rc == -ENODATA)
		rc = replay_fd(fd, path, of, anonymizer_pass(a->names, to), &none, err);
	if (rc != -ENODATA)
		return rc;
	/* What could be read is in the copy. */
	snprintf(ret_damage, 160, "%.159s", err->msg);
	*err = (struct err){};
	return damage_put(to, ret_damage);
}

int anonymous_copy(struct anonymous *a, int *fd, const char *path, const struct probe *of,
	char ret_damage[160], struct err *err)
{
	struct log_writer *copy = a->names ? take_ptr(a->copies[a->n]) : NULL;
	struct stat st;
	int rc = 0, closed;

	ret_damage[0] = '\0';
	if (!copy)
		return 0;
	if (fstat(*fd, &st) || !S_ISREG(st.st_mode))
		rc = err_set(err, -EINVAL,
			"%.200s is not a regular file, which --anonymize needs: it reads it twice",
			path);
	if (!rc)
		rc = recording_pass(a, log_writer_sink(copy), *fd, path, of, ret_damage, err);
	closed = log_writer_close(copy, rc ? NULL : err);
	rc = rc ? rc : closed;
	if (rc)
		return rc;
	close(*fd);
	*fd = a->made[a->n];
	a->made[a->n++] = 0;
	return 0;
}

void anonymous_free(struct anonymous *a)
{
	for (size_t i = 0; i < ANONYMOUS_MAX; i++) {
		if (a->copies[i])
			log_writer_close(a->copies[i], NULL);
		if (a->made[i])
			close(a->made[i]);
	}
	anonymizer_free(a->names);
	free(a->schema);
	*a = (struct anonymous){};
}
