/* See stack_copy.h. */
#include "report/stack_copy.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum what { STRING, FRAME, STACK };

struct copy_key {
	u32 what, id;
};

void stack_copy_init(struct stack_copy *c, const struct stream *from, struct stream *into)
{
	*c = (struct stack_copy){
		.from = from,
		.into = into,
		.next = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
	};
	groups_init(&c->copied, sizeof(struct copy_key), sizeof(u32));
}

void stack_copy_free(struct stack_copy *c)
{
	groups_free(&c->copied);
}

static bool is_taken(const struct stream *s, enum what what, u32 id)
{
	switch (what) {
	case STRING:
		return stream_string(s, id);
	case FRAME:
		return stream_frame(s, id) || stream_symbol(s, id);
	default:
		return stream_stack(s, id);
	}
}

/* The new number of what had this one. *ret_new: it is not there yet. */
static int stack_copy_number_of(
	struct stack_copy *c, enum what what, u32 id, u32 *ret, bool *ret_new)
{
	struct copy_key k = {.what = what, .id = id};
	u32 *number = groups_get(&c->copied, &k);

	if (!number)
		return -ENOMEM;
	*ret_new = !*number;
	if (*ret_new) {
		while (is_taken(c->into, what, c->next[what]))
			c->next[what]--;
		*number = c->next[what]--;
	}
	*ret = *number;
	return 0;
}

/* A record of `size` bytes with room for the stream's alignment, as `of` has it. It bears no time:
 * that would become one of the other stream's interval. */
static struct rec *record_like(const struct rec *of, size_t size)
{
	size_t whole = (size + 7) & ~(size_t)7;
	struct rec *r = calloc(1, whole);

	if (!r)
		return NULL;
	*r = *of;
	r->size = (u32)whole;
	r->time_ns = 0;
	return r;
}

static int string_copy(struct stack_copy *c, u32 id, u32 *ret)
{
	const char *text = id ? stream_string(c->from, id) : NULL;
	size_t len = text ? strlen(text) : 0;
	_cleanup_free_ struct rec_string *r = NULL;
	bool is_new;
	int rc;

	*ret = 0;
	if (!text)
		return 0;
	rc = stack_copy_number_of(c, STRING, id, ret, &is_new);
	if (rc || !is_new)
		return rc;
	r = (struct rec_string *)record_like(
		&(struct rec){.kind = REC_STRING}, sizeof(*r) + len + 1);
	if (!r)
		return -ENOMEM;
	r->id = *ret;
	r->length = (u32)len;
	memcpy(r->text, text, len);
	return stream_feed(c->into, &r->h);
}

static int symbol_copy(struct stack_copy *c, const struct rec_symbol *of, u32 frame)
{
	size_t size = sizeof(*of) + of->n * sizeof(of->lines[0]);
	_cleanup_free_ struct rec_symbol *r = (struct rec_symbol *)record_like(&of->h, size);
	int rc = 0;

	if (!r)
		return -ENOMEM;
	r->frame = frame;
	r->n = of->n;
	for (u32 i = 0; i < of->n && !rc; i++) {
		r->lines[i] = of->lines[i];
		rc = string_copy(c, of->lines[i].function, &r->lines[i].function);
		if (!rc)
			rc = string_copy(c, of->lines[i].file, &r->lines[i].file);
	}
	return rc ? rc : stream_feed(c->into, &r->h);
}

static int frame_copy(struct stack_copy *c, u32 id, u32 *ret)
{
	const struct rec_frame *f = stream_frame(c->from, id);
	const struct rec_symbol *sym = stream_symbol(c->from, id);
	bool is_new;
	int rc = stack_copy_number_of(c, FRAME, id, ret, &is_new);

	if (rc || !is_new)
		return rc;
	if (f) {
		struct rec_frame r = *f;

		r.id = *ret;
		r.h.size = sizeof(r);
		r.h.time_ns = 0;
		rc = string_copy(c, f->module, &r.module);
		if (!rc)
			rc = stream_feed(c->into, &r.h);
	}
	return !rc && sym ? symbol_copy(c, sym, *ret) : rc;
}

int stack_copy(struct stack_copy *c, u32 stack, u32 *ret)
{
	const struct rec_stack *st = stream_stack(c->from, stack);
	_cleanup_free_ struct rec_stack *r = NULL;
	u32 number = 0;
	bool is_new;
	int rc = 0;

	if (st)
		rc = stack_copy_number_of(c, STACK, stack, &number, &is_new);
	if (rc || !st || !is_new) {
		*ret = number;
		return rc;
	}
	r = (struct rec_stack *)record_like(&st->h, sizeof(*st) + st->n * sizeof(st->frames[0]));
	if (!r)
		return -ENOMEM;
	r->id = number;
	r->n = st->n;
	for (u32 i = 0; i < st->n && !rc; i++)
		rc = frame_copy(c, st->frames[i], &r->frames[i]);
	if (!rc)
		rc = stream_feed(c->into, &r->h);
	*ret = number;
	return rc;
}
