/* See burst.h. */
#include "probes/burst.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"

#define FIRST_NS (100 * NSEC_PER_MSEC)

bool burst_wanted(const struct probe *p, const struct capture *c)
{
	return p->bpf && p->bpf->bursts &&
	       (capture_named(c) ? p->bpf->bursts->always : c->opt.gentle);
}

static int now_set(struct burst *b, u64 number, u64 until_ns)
{
	struct burst_now now = {.number = number, .since_ns = b->began_ns, .until_ns = until_ns};
	int fd = b->spec->map ? attach_map(b->a, b->spec->map) : -1;
	u32 zero = 0;

	if (!b->spec->map)
		return 0;
	return bpf_map_update_elem(fd, &zero, &now, BPF_ANY) ? -errno : 0;
}

void burst_open(
	struct burst *b, const struct probe_bursts *spec, struct capture *c, struct attached *a)
{
	u64 now = clock_mono_ns();

	attach_pause(a);
	attach_counting(a, true); /* from here on nothing was missed */
	attach_counting(a, false);
	*b = (struct burst){
		.spec = spec, .c = c, .a = a, .next_ns = now + FIRST_NS, .asked_ns = now};
	spec->due(c); /* what it compares with next time */
}

/* A session that lasts sees enough of what happens often with an eighth of them: to attach and
 * detach their programs took a tenth of the time of a screen. */
static u64 burst_every(const struct burst *b)
{
	if (b->spec->length_ns >= b->spec->every_ns / 2)
		return b->spec->every_ns;
	return b->spec->every_ns * (capture_lasts(b->c) ? 8 : 1);
}

u64 burst_next(const struct burst *b)
{
	return b->spec ? b->next_ns : UINT64_MAX;
}

/* That it cannot be attached again is no reason to end the session. */
static int burst_fail(struct burst *b, int rc)
{
	b->next_ns = UINT64_MAX;
	return capture_note(b->c, NOTE_NOT_CHECKED, "%s, after %u bursts: %s", b->c->probe, b->n,
		strerror(-rc));
}

static int burst_begin(struct burst *b, u64 now_ns)
{
	bool due = b->spec->due(b->c);
	int rc;

	b->covered_ns = now_ns - b->asked_ns;
	b->asked_ns = now_ns;
	b->next_ns = now_ns + burst_every(b);
	if (!due)
		return 0;
	rc = attach_resume(b->a);
	if (rc)
		return burst_fail(b, rc);
	attach_counting(b->a, true);
	b->began_ns = clock_mono_ns();
	b->next_ns = b->began_ns + b->spec->length_ns;
	rc = now_set(b, ++b->n, b->next_ns);
	b->on = true;
	return rc;
}

static int burst_end(struct burst *b)
{
	int rc = now_set(b, 0, 0);
	u64 now = clock_mono_ns(), on_ns = MIN(now - b->began_ns, b->spec->length_ns);

	attach_counting(b->a, false);
	attach_pause(b->a);
	b->on = false;
	b->next_ns = b->asked_ns + burst_every(b);
	return rc ? rc : b->spec->done(b->c, on_ns, b->covered_ns);
}

int burst_step(struct burst *b, u64 now_ns)
{
	if (!b->spec || now_ns < b->next_ns)
		return 0;
	return b->on ? burst_end(b) : burst_begin(b, now_ns);
}

int burst_stop(struct burst *b)
{
	int rc = b->on ? burst_end(b) : 0;

	b->spec = NULL;
	return rc;
}
