/* See diff.h. */
#include "cmd/diff.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int input_add(struct diff_inputs *in, u32 side, const char *path)
{
	return vec_push(&in->v, ((struct diff_input){.path = path, .side = side}));
}

static int inputs_missing(const struct options *o, struct err *err)
{
	if (o->argv)
		err_set(err, -EINVAL, "diff: there is no recording before --");
	else if (o->n_operands > 2)
		err_set(err, -EINVAL, "diff: '%.40s' is not expected here", o->operands[2]);
	else
		err_set(err, -EINVAL, "diff needs two recordings");
	return err_hint(err, "memwhy diff BEFORE AFTER; of several recordings a side: "
			     "memwhy diff BEFORE BEFORE -- AFTER AFTER");
}

static bool same_file(const char *x, const char *y)
{
	struct stat a, b;

	return !stat(x, &a) && !stat(y, &b) && S_ISREG(a.st_mode) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

const char *diff_inputs_find(const struct diff_inputs *in, const char *path)
{
	vec_each (i, &in->v)
		if (path && (!strcmp(i->path, path) || same_file(i->path, path)))
			return i->path;
	return NULL;
}

/* The same recording twice would look like one without any noise. */
static int inputs_check(const struct diff_inputs *in, struct err *err)
{
	for (size_t i = 0; i < in->v.n; i++)
		for (size_t k = 0; k < i; k++)
			if (same_file(in->v.v[k].path, in->v.v[i].path))
				return err_set(err, -EINVAL, "%.100s and %.100s are the same file",
					in->v.v[k].path, in->v.v[i].path);
	if (in->first[1] > DIFF_INPUTS_MAX || in->v.n - in->first[1] > DIFF_INPUTS_MAX)
		return err_set(
			err, -EINVAL, "diff takes at most %d recordings per side", DIFF_INPUTS_MAX);
	return 0;
}

static int option_after(const char *word, struct err *err)
{
	err_set(err, -EINVAL, "diff: '%.40s' after --", word);
	return err_hint(err, "options go before --; a recording of that name is ./%.100s", word);
}

int diff_inputs_name(struct diff_inputs *in, const struct options *o, struct err *err)
{
	int rc = 0, before = o->argv ? o->n_operands : 1;

	if (o->argv ? !o->n_operands : o->n_operands != 2)
		return inputs_missing(o, err);
	for (int i = 0; i < o->n_operands && !rc; i++)
		rc = input_add(in, i >= before, o->operands[i]);
	for (char **path = o->argv; path && *path && !rc; path++)
		rc = **path == '-' ? option_after(*path, err) : input_add(in, 1, *path);
	in->first[1] = (size_t)before;
	return rc ? rc : inputs_check(in, err);
}

int diff_inputs_enter(struct diff_inputs *in, const struct probe *of, const struct options *o,
	bool *ret_unfiltered, struct err *err)
{
	_cleanup_free_ int *fds = reallocarray(NULL, in->v.n, sizeof(*fds));
	int rc = fds ? 0 : -ENOMEM;

	for (size_t i = 0; i < in->v.n && !rc; i++) {
		rc = replay_open(in->v.v[i].path, &in->v.v[i].fd, err);
		fds[i] = in->v.v[i].fd;
	}
	return rc ? rc : recording_enter(fds, in->v.n, of, o, ret_unfiltered, err);
}

void diff_inputs_free(struct diff_inputs *in)
{
	vec_each (i, &in->v) {
		if (i->fd)
			close(i->fd);
		if (i->facts.names)
			stream_destroy(&i->facts);
	}
	vec_free(&in->v);
}
