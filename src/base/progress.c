/* See progress.h. */
#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/units.h"

#define QUIET_NS (500 * NSEC_PER_MSEC) /* what is done sooner is not worth a line */
#define EVERY_NS (200 * NSEC_PER_MSEC)
#define STEP 64 /* steps between looks at the clock */

static struct {
	int fd; /* -1: not enabled */
	bool drawn;
	u64 began_ns, next_ns, done;
	u32 steps;
} progress = {.fd = -1};

void progress_enable(int fd)
{
	const char *term = getenv("TERM");

	if (isatty(fd) && term && *term && strcmp(term, "dumb") != 0)
		progress.fd = fd;
}

void progress_disable(void)
{
	progress.fd = -1;
}

/* Is the terminal ours to write to? */
static bool in_foreground(void)
{
	return progress.fd >= 0 && tcgetpgrp(progress.fd) == getpgrp();
}

static void progress_put(const char *text, size_t n)
{
	/* A terminal that is gone is no failure of what is being done. */
	ssize_t written = write(progress.fd, text, n);

	(void)written;
}

void progress_clear(void)
{
	if (progress.drawn && in_foreground())
		progress_put("\r\033[K", 4);
	progress.drawn = false;
}

static void draw(const struct str *line)
{
	_cleanup_str_ struct str out = {};
	struct winsize w;
	size_t room = !ioctl(progress.fd, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col - 1U : 79;

	str_add(&out, "\r\033[K");
	str_addn(&out, str_get(line), MIN(line->len, room));
	if (out.failed)
		return;
	progress_put(out.buf, out.len);
	progress.drawn = true;
}

void progress_say(const char *fmt, ...)
{
	_cleanup_str_ struct str line = {};
	char text[160];
	va_list ap;

	if (!in_foreground())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_add(&line, "memwhy: ");
	str_add_escaped(&line, text);
	draw(&line);
}

#define FOREVER_NS (1ULL << 62)

void progress_look(u64 since_ns, u64 left_ns)
{
	char buf[UNIT_BUF];

	if (left_ns >= FOREVER_NS)
		progress_say("looking for %llu s; Ctrl-C ends it, with a report",
			since_ns / NSEC_PER_SEC);
	else if (left_ns >= NSEC_PER_SEC)
		progress_say("looking, %llu s to go; Ctrl-C ends it sooner, with a report",
			(left_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC);
	else
		progress_say("looking, %s to go", fmt_ns(buf, left_ns));
}

void progress_step(const char *what, u64 done, u64 total)
{
	char a[UNIT_BUF], b[UNIT_BUF];
	u64 now;

	if (progress.fd < 0)
		return;
	if (!progress.began_ns || done < progress.done) {
		progress.began_ns = clock_mono_ns();
		progress.next_ns = progress.began_ns + QUIET_NS;
		progress.steps = 0;
	}
	progress.done = done;
	if (progress.steps++ % STEP)
		return;
	now = clock_mono_ns();
	if (now < progress.next_ns)
		return;
	progress.next_ns = now + EVERY_NS;
	if (total)
		progress_say("%s: %s of %s", what, fmt_count(a, done), fmt_count(b, total));
	else
		progress_say("%s: %s", what, fmt_count(a, done));
}
