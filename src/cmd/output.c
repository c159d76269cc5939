/* See output.h. */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/child.h"
#include "base/closest.h"
#include "base/progress.h"
#include "cmd/ours.h"
#include "export/export.h"

#define TEXT_ROWS 20
#define PIECE (1U << 16)

static int format_unknown(const char *name, struct err *err)
{
	const char *names[24];
	_cleanup_str_ struct str all = {};
	const char *near;
	size_t n = 0;

	for (; n < renderers_n + exports_n && n < ARRAY_SIZE(names) - 2; n++)
		names[n] = n < renderers_n ? renderers[n].name : exports[n - renderers_n].name;
	names[n++] = "perfetto";
	names[n++] = "sqlite";
	for (size_t i = 0; i < n; i++)
		str_addf(&all, "%s%s", i ? ", " : "", names[i]);
	near = closest(name, names, n);
	if (export_of_records(name)) {
		err_set(err, -EINVAL, "-o: %s is made of a recording", name);
		return err_hint(
			err, "--record FILE, then: memwhy export --to %s --out OUT FILE", name);
	}
	err_set(err, -EINVAL, "-o: unknown format '%.40s'", name);
	return near ? err_hint(err, "did you mean -o %s?", near)
		    : err_hint(err, "formats: %s", str_get(&all));
}

static u16 terminal_width(FILE *f)
{
	struct winsize w;

	if (ioctl(fileno(f), TIOCGWINSZ, &w) || w.ws_col < 40)
		return 100;
	return w.ws_col;
}

/* Where the locale is C by name: one that is not set says nothing of what reads the text. */
static bool locale_is_ascii(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return !strcmp(v, "C") || !strcmp(v, "POSIX");
	}
	return false;
}

static bool terminal_colour(FILE *f)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return isatty(fileno(f)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return b && (!strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
					      x.st_ino == y.st_ino));
}

static struct {
	const char *path;
	struct stat st;
} fresh; /* for the process of fresh_watch() */

/* Nothing of others is lost with an empty file; that of another name is not ours. */
static void fresh_drop(void)
{
	struct stat now;

	if (!lstat(fresh.path, &now) && now.st_dev == fresh.st.st_dev &&
		now.st_ino == fresh.st.st_ino && !now.st_size)
		unlink(fresh.path);
}

/* Until a word comes: the file stays. Else the other process failed, or was killed. */
static void fresh_watch(int socket)
{
	char stays;

	child_shut_in("memwhy-out", socket);
	if (read(0, &stays, 1) != 1 || stays != 'y')
		fresh_drop();
}

/* Who reads bytes of others is shut in before it knows whether there is a report of them. */
static void fresh_begin(const struct options *o, struct output *out, int fd)
{
	pid_t pid;

	fresh.path = o->out;
	out->fresh = !fstat(fd, &fresh.st) && S_ISREG(fresh.st.st_mode);
	if (out->fresh && o->input && child_begin(SOCK_STREAM, 0, fresh_watch, &pid, &out->drops))
		out->drops = 0;
}

void output_drop(struct output *out)
{
	char word = 'n';

	if (!out->fresh || out->started)
		return;
	if (!out->drops)
		fresh_drop();
	else if (write(out->drops, &word, 1) == 1 && !read(out->drops, &word, 1))
		out->fresh = false; /* it has ended */
}

static void fresh_end(struct output *out)
{
	if (out->drops && out->fresh && write(out->drops, "y", 1) != 1)
		out->fresh = false;
	if (out->drops)
		close(out->drops);
	out->drops = 0;
}

/* A descriptor that whoever ran memwhy opened is written to as it is. */
static int fd_open(const struct options *o, struct output *out, struct err *err)
{
	const struct target to = ours_report(o);
	int given = target_descriptor(o->out), fd, rc;
	bool there;
	struct stat st;

	if (given >= 0) {
		fd = fcntl(given, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? err_errno(err, -errno, "--out: cannot write %.200s", o->out) : fd;
	}
	if (same_file(o->out, o->input) || same_file(o->out, o->record))
		return err_set(err, -EINVAL, "--out: %.200s is the recording", o->out);
	there = !lstat(o->out, &st);
	rc = target_open(&to, &fd, err);
	if (rc)
		return rc;
	if (!there)
		fresh_begin(o, out, fd);
	out->empties = !fstat(fd, &st) && S_ISREG(st.st_mode);
	return fd;
}

static int cmd_output_file_open(const struct options *o, struct output *out, struct err *err)
{
	int fd;

	if (!o->out || target_descriptor(o->out) == STDOUT_FILENO)
		return 0;
	fd = fd_open(o, out, err);
	if (fd < 0) {
		err->code = -EINVAL; /* a file of no use was named */
		return -EINVAL;
	}
	out->file = fdopen(fd, "w");
	out->close = out->file != NULL;
	if (out->file)
		return 0;
	close(fd);
	return err_errno(err, -errno, "--out: cannot write %.200s", o->out);
}

const struct renderer *output_renderer(const char *format)
{
	const struct renderer *r = renderer_find(format);

	return r ? r : export_renderer(format);
}

static int binary_check(const struct options *o, const struct output *out, struct err *err)
{
	if (!export_is_binary(o->format) || !isatty(fileno(out->file)))
		return 0;
	err_set(err, -EINVAL, "-o %s is not text: a terminal cannot show it", o->format);
	return err_hint(err, "write it to a file: --out FILE");
}

int output_open_bytes(const struct options *o, struct output *ret, struct err *err)
{
	struct output out = {.file = stdout};
	int rc = cmd_output_file_open(o, &out, err);

	rc = rc ? rc : binary_check(o, &out, err);
	if (!rc)
		*ret = out;
	return rc;
}

int output_open(const struct options *o, struct output *ret, struct err *err)
{
	struct output out = {.renderer = output_renderer(o->format), .file = stdout};
	bool text = !strcmp(o->format, "text");
	int rc;

	if (!out.renderer)
		return format_unknown(o->format, err);
	rc = cmd_output_file_open(o, &out, err);
	rc = rc ? rc : binary_check(o, &out, err);
	if (rc)
		return rc;
	out.ro = (struct render_options){
		.colour = terminal_colour(out.file),
		.wide = !strcmp(o->format, "wide"),
		.quiet = o->quiet,
		.verbose = o->verbose,
		.width = terminal_width(out.file),
	};
	out.ascii = (text || out.ro.wide) && locale_is_ascii();
	out.limited = o->limit != UINT64_MAX && o->limit;
	out.limit = o->limit != UINT64_MAX ? (u32)MIN(o->limit, (u64)UINT32_MAX)
		    : text                 ? TEXT_ROWS
					   : 0;
	*ret = out;
	return 0;
}

bool output_takes_stdout(const struct output *out, const struct options *o)
{
	bool for_people = !strcmp(o->format, "text") || !strcmp(o->format, "wide");

	return out->file == stdout && (!for_people || o->like);
}

void output_select(const struct output *out, const struct options *o, struct report *r)
{
	r->fields = o->fields;
	r->sort = o->sort;
	r->only = o->table;
	r->limit = out->limit;
	r->limited = out->limited;
}

void output_say(const struct str *s)
{
	_cleanup_str_ struct str ascii = {};

	progress_clear();
	if (locale_is_ascii())
		render_ascii(&ascii, str_get(s), s->len);
	fputs(str_get(ascii.len ? &ascii : s), stderr);
}

static int text_write(struct output *out, const struct str *s)
{
	_cleanup_str_ struct str ascii = {};

	if (out->ascii) {
		render_ascii(&ascii, str_get(s), s->len);
		if (ascii.failed)
			return -ENOMEM;
		s = &ascii;
	}
	if (out->empties && !out->started) {
		if (ftruncate(fileno(out->file), 0))
			return -errno;
		ours_mark(fileno(out->file));
	}
	out->started = true;
	progress_clear();
	if (s->len && fwrite(s->buf, 1, s->len, out->file) != s->len)
		return -errno;
	return fflush(out->file) ? -errno : 0;
}

static int output_write(struct output *out, const struct str *s, struct err *err)
{
	int rc = out->failed;

	if (!rc && s->failed)
		return err_errno(err, -ENOMEM, "drawing the report");
	rc = rc ? rc : text_write(out, s);
	return rc ? err_errno(err, rc, "writing the report") : 0;
}

/* As render_options.take: of a large report only a piece is held. */
static void piece_take(void *arg, struct str *s)
{
	struct output *out = arg;

	if (s->len < PIECE)
		return;
	if (!out->failed)
		out->failed = text_write(out, s);
	str_clear(s);
}

int output_report(struct output *out, const struct report *r, struct err *err)
{
	_cleanup_str_ struct str s = {};

	vec_each (t, &r->tables)
		if ((*t)->failed)
			return err_errno(err, -ENOMEM, "filling the report");
	out->ro.headless = out->started;
	out->ro.take = piece_take;
	out->ro.arg = out;
	out->renderer->report(r, &out->ro, &s);
	return output_write(out, &s, err);
}

int output_rows(struct output *out, const struct report *r, struct table *t, struct err *err)
{
	_cleanup_str_ struct str s = {};

	if (out->limited) {
		snprintf(out->cut_of, sizeof(out->cut_of), "%s", t->name);
		out->ro.n_cut += t->n_rows - MIN(t->n_rows, (size_t)out->limit);
		t->n_rows = MIN(t->n_rows, (size_t)out->limit);
		out->limit -= (u32)t->n_rows;
	}
	if (!t->n_rows)
		return 0;
	out->renderer->rows(r, t, 0, !out->started, &out->ro, &s);
	return output_write(out, &s, err);
}

int output_text(struct output *out, const struct str *s, struct err *err)
{
	return s->len || s->failed ? output_write(out, s, err) : 0;
}

int output_end(struct output *out, const struct report *r, struct err *err)
{
	_cleanup_str_ struct str s = {};

	if (!out->renderer->end)
		return 0;
	out->ro.headless = out->started;
	out->ro.cut_of = out->cut_of;
	out->renderer->end(r, &out->ro, &s);
	return output_write(out, &s, err);
}

int output_close(struct output *out, struct err *err)
{
	int rc = 0;

	fresh_end(out);
	if (out->close && fclose(out->file))
		rc = err_errno(err, -errno, "writing the report");
	out->file = NULL;
	return rc;
}
