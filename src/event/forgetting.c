/*
 * A stream that forgets: frames, symbols, stacks and words of functions are each a block of their
 * own, and are freed once the session says that they are over. What was told before the end of an
 * interval is in its report, so nothing is freed before forgetting_end(). See dictionaries.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "event/dictionaries.h"

void forgetting_begin(struct stream_names *names)
{
	names->forgets = true;
	names->frames.hashed = names->symbols.hashed = true;
	names->stacks.hashed = names->words.hashed = true;
}

void *forgetting_alloc(size_t size)
{
	return calloc(1, size);
}

int forgetting_retire(struct stream_names *names, const void *value)
{
	return value ? vec_push(&names->retired, (void *)value) : 0;
}

static int name_forget(struct stream_names *names, struct id_map *map, u32 id)
{
	const void *value = names_find(names, map, id);
	int rc = forgetting_retire(names, value);

	if (!rc && value)
		names_remove(names, map, id);
	return rc;
}

int forgetting_feed(struct stream_names *names, const struct rec *r)
{
	u32 id;
	int rc;

	if (r->kind == REC_STACK)
		return name_forget(names, &names->stacks, ((const struct rec_stack *)r)->id);
	id = ((const struct rec_frame *)r)->id;
	names->frames_gone = true;
	rc = name_forget(names, &names->symbols, id);
	return rc ? rc : name_forget(names, &names->frames, id);
}

static void word_mean(struct stream_names *names, u32 id)
{
	struct word *w = (struct word *)names_find(names, &names->words, id);

	if (w)
		w->meant = true;
}

/* Later symbols have words of their own: the session sends each again once it forgot a frame. */
static void words_sweep(struct stream_names *names)
{
	VEC(u64) gone = {};

	for (size_t i = 0; i < names->symbols.cap; i++) {
		const struct rec_symbol *s = names->symbols.slots[i].value;

		for (u32 k = 0; s && k < s->n; k++) {
			word_mean(names, s->lines[k].function);
			word_mean(names, s->lines[k].file);
		}
	}
	for (size_t i = 0; i < names->words.cap; i++) {
		struct word *w = (struct word *)names->words.slots[i].value;

		if (w && !w->meant && vec_push(&gone, names->words.slots[i].id))
			break; /* the next time */
		if (w)
			w->meant = false;
	}
	vec_each (id, &gone) {
		free((void *)names_find(names, &names->words, *id));
		names_remove(names, &names->words, *id);
	}
	vec_free(&gone);
}

void forgetting_end(struct stream_names *names)
{
	if (names->frames_gone)
		words_sweep(names);
	names->frames_gone = false;
	vec_each (value, &names->retired)
		free(*value);
	vec_free(&names->retired);
}

static void values_free(const struct id_map *map)
{
	for (size_t i = 0; i < map->cap; i++)
		free((void *)map->slots[i].value);
}

void forgetting_free(struct stream_names *names)
{
	vec_each (value, &names->retired)
		free(*value);
	vec_free(&names->retired);
	if (!names->forgets)
		return;
	values_free(&names->frames);
	values_free(&names->symbols);
	values_free(&names->stacks);
	values_free(&names->words);
}
