/* See dump.h. */
#include "serve/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>

#include "render/render.h"
#include "rules/rules.h"
#include "serve/ring_file.h"

#define REPORT_WIDTH 100
#define NAMES_BYTES (1U << 20) /* of a recording, beside what the ring takes */

int dump_rules(struct pipeline *p, struct err *err)
{
	const struct view_options o = {.by = "major-mapping", .stacks = true};
	int rc = 0;

	for (size_t i = 0; i < rules_n && !rc; i++)
		rc = pipeline_add(p, rules[i], &o, err);
	return rc;
}

/* First the recording alone: it takes little memory, and is whole on the disk before a report is
 * made of it. */
static int recording_write(
	const struct dump_order *o, const struct incident *i, int ring, struct err *err)
{
	_cleanup_free_ struct pipeline *p = calloc(1, sizeof(*p));
	char path[PATH_MAX];
	struct target to;
	int rc, closed;

	incident_path(path, o->dir, i, INCIDENT_RECORDING);
	to = log_target(path);
	rc = p ? pipeline_init(p) : -ENOMEM;
	if (rc)
		return rc;
	rc = pipeline_log(p, &to, err);
	if (!rc)
		rc = ring_file_send(ring, &p->sink);
	closed = pipeline_close_log(p, err);
	pipeline_destroy(p);
	return rc ? rc : closed;
}

/* Whole or not at all: the recording tells the same. */
static void text_write(const struct str *text, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && (text->failed || write(fd, text->buf, text->len) != (ssize_t)text->len))
		unlink(path);
}

/* What it was written for. */
static void reasons_add(struct str *text, const struct fired *f)
{
	for (u32 i = 0; i < f->n; i++) {
		str_add_escaped(text, f->reasons[i]);
		str_addc(text, '\n');
	}
	if (f->more)
		str_addf(text, "... and %u more\n", f->more);
	str_addc(text, '\n');
}

/* What `memwhy check --input` says of it, for those who look without the program. */
static int reports_write(const struct dump_order *o, const struct incident *i, struct pipeline *p)
{
	struct render_options how = {.width = REPORT_WIDTH};
	_cleanup_str_ struct str text = {}, page = {};
	char path[PATH_MAX];
	struct report r;
	int rc;

	reasons_add(&text, &o->fired);
	report_init(&r, "check", &p->stream);
	r.has_findings = true;
	rc = pipeline_report(p, &r);
	if (!rc) {
		report_add_stream_notes(&r);
		report_conclude(&r, NULL);
		renderer_find("text")->report(&r, &how, &text);
		renderer_find("html")->report(&r, &how, &page);
		incident_path(path, o->dir, i, INCIDENT_TEXT);
		text_write(&text, path);
		incident_path(path, o->dir, i, INCIDENT_PAGE);
		text_write(&page, path);
		rc = text.failed || page.failed ? -ENOMEM : 0;
	}
	report_destroy(&r);
	return rc;
}

/* All rules look at what was recorded. */
static int reports_make(
	const struct dump_order *o, const struct incident *i, int ring, struct err *err)
{
	_cleanup_free_ struct pipeline *p = calloc(1, sizeof(*p));
	int rc = p ? pipeline_init(p) : -ENOMEM;

	if (rc)
		return rc;
	rc = dump_rules(p, err);
	if (!rc)
		rc = ring_file_send(ring, &p->sink);
	if (!rc)
		rc = reports_write(o, i, p);
	pipeline_destroy(p);
	return rc;
}

static int incident_write(
	const struct dump_order *o, int ring, struct dump_result *ret, struct err *err)
{
	int rc = recording_write(o, &ret->incident, ring, err);

	if (rc) {
		incident_remove(o->dir, &ret->incident);
		return rc;
	}
	incident_sync(o->dir, &ret->incident);
	rc = reports_make(o, &ret->incident, ring, err);
	if (rc)
		snprintf(ret->why, sizeof(ret->why), "no report was made: %s", strerror(-rc));
	else
		incident_sync(o->dir, &ret->incident);
	return 0;
}

static void kept_look(const char *dir, struct dump_result *ret)
{
	struct incident_list l;

	if (incidents_list(dir, &l))
		return;
	ret->kept = l.v.n;
	ret->kept_bytes = l.bytes;
	incident_list_free(&l);
}

void dump_write(const struct dump_order *o, int ring, struct dump_result *ret)
{
	struct err err = {};
	struct stat st = {};
	int rc;

	*ret = (struct dump_result){};
	(void)fstat(ring, &st);
	rc = incident_begin(
		o->dir, &o->limits, o->fired.kind, (u64)st.st_size + NAMES_BYTES, &ret->incident);
	ret->skipped = rc == -ENOSPC;
	if (!rc)
		rc = incident_write(o, ring, ret, &err);
	ret->failed = rc;
	if (rc && !err.code)
		err_errno(&err, rc, "%s", o->dir);
	if (rc)
		snprintf(ret->why, sizeof(ret->why), "%.250s",
			ret->skipped ? "the disk would have less than --min-free left" : err.msg);
	kept_look(o->dir, ret);
	malloc_trim(0); /* it took more than is needed from here on */
}
