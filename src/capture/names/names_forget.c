/*
 * Sessions that last forget the frames and stacks that were not seen for long: their dictionaries
 * stay as large as what is seen in that time. See names_sent.h.
 */
#include <string.h>

#include "base/clock.h"
#include "capture/names/names_sent.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)
/* Stacks and the frames of one may be a minute apart, and `used` is up to another one late. */
#define SLACK_MINUTES 2

struct sweep {
	struct names *n;
	u16 age;             /* minutes: what is older goes */
	size_t at, resolved; /* of frames: the one at hand; those that stay of names.resolved */
	u64 gone;
	int rc;
};

static bool stays(struct sweep *s, const struct interned *v)
{
	return s->rc || (u16)(s->n->minute - v->used) <= s->age;
}

static void give_back(struct sweep *s, const struct interned *v)
{
	budget_give_back_word(&s->n->budget, 8ULL * v->words);
	s->gone++;
}

static bool stack_stays(void *arg, const void *key, const void *value)
{
	struct rec_stack r = REC_INIT(struct rec_stack, REC_STACK, 0);
	const struct interned *v = value;
	struct sweep *s = arg;

	(void)key;
	if (stays(s, v))
		return true;
	r.id = v->id;
	s->rc = names_put(s->n, &r.h);
	give_back(s, v);
	return false;
}

static bool frame_stays(void *arg, const void *key, const void *value)
{
	struct rec_frame r = REC_INIT(struct rec_frame, REC_FRAME, 0);
	const struct interned *v = value;
	struct sweep *s = arg;
	bool stay = stays(s, v), resolved = s->at++ < s->n->resolved;

	(void)key;
	s->resolved += stay && resolved;
	if (stay)
		return true;
	r.h.flags = FRAME_OVER;
	r.id = v->id;
	s->rc = names_put(s->n, &r.h);
	give_back(s, v);
	return false;
}

static bool word_goes(void *arg, const void *key, const void *value)
{
	(void)key;
	give_back(arg, value);
	return false;
}

/* Words have no age: those of symbols that come are sent again, with other ids. */
static int sweep(struct names *n, u16 age, u64 *ret_stacks)
{
	struct sweep stacks = {.n = n, .age = age}, frames = stacks, words = stacks;

	groups_filter(&n->stacks, stack_stays, &stacks);
	frames.rc = stacks.rc;
	groups_filter(&n->frames, frame_stays, &frames);
	n->resolved = frames.resolved;
	if (frames.gone)
		groups_filter(&n->words, word_goes, &words);
	*ret_stacks = stacks.gone;
	return frames.rc;
}

int names_forget(struct names *n)
{
	u64 now = clock_mono_ns(), gone, least = SLACK_MINUTES, age;
	int rc;

	if (!n->opt.keep.ns)
		return 0;
	n->minute = (u16)(now / MINUTE_NS);
	if (now < n->forget_ns)
		return 0;
	n->forget_ns = now + MINUTE_NS;
	groups_clear(&n->pairs); /* or stacks that come by them would seem to be unused */
	age = MIN(n->opt.keep.ns / MINUTE_NS + SLACK_MINUTES, (u64)UINT16_MAX / 2);
	rc = sweep(n, (u16)age, &gone);
	while (!rc && n->opt.keep.bytes && n->budget.words_bytes > n->opt.keep.bytes &&
		age > least) {
		age = MAX(age / 2, least);
		rc = sweep(n, (u16)age, &gone);
		n->hurried += gone;
	}
	return rc;
}
