/* See identity.h. */
#include "report/identity.h"

#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/str.h"

void texts_init(struct texts *ts)
{
	*ts = (struct texts){};
	/* names made to collide would need it */
	if (getrandom(&ts->seed, sizeof(ts->seed), GRND_NONBLOCK) < 0)
		ts->seed = clock_mono_ns();
	groups_init(&ts->known, sizeof(const char *), sizeof(u32));
}

void texts_free(struct texts *ts)
{
	vec_free(&ts->entries);
	free(ts->index);
	groups_free(&ts->known);
	arena_free(&ts->arena);
}

void texts_forget(struct texts *ts)
{
	groups_clear(&ts->known);
}

static u32 *texts_place(const struct texts *ts, const char *text)
{
	size_t at = XXH3_64bits_withSeed(text, strlen(text), ts->seed) & (ts->n_index - 1);

	while (ts->index[at] && strcmp(ts->entries.v[ts->index[at] - 1], text) != 0)
		at = (at + 1) & (ts->n_index - 1);
	return &ts->index[at];
}

static int texts_grow(struct texts *ts)
{
	size_t n = ts->n_index ? ts->n_index * 2 : 256;
	u32 *index = calloc(n, sizeof(*index));

	if (!index)
		return -ENOMEM;
	free(ts->index);
	ts->index = index;
	ts->n_index = n;
	for (size_t i = 0; i < ts->entries.n; i++)
		*texts_place(ts, ts->entries.v[i]) = (u32)i + 1;
	return 0;
}

/* Its number, from 1 on; 0: no memory. */
static u32 texts_number(struct texts *ts, const char *text)
{
	u32 *at;

	if (ts->entries.n * 2 >= ts->n_index && texts_grow(ts))
		return 0;
	at = texts_place(ts, text);
	if (*at)
		return *at;
	text = arena_strdup(&ts->arena, text);
	if (text && !vec_push(&ts->entries, text))
		*at = (u32)ts->entries.n;
	return *at;
}

static bool is_copy_word(const char *word, size_t n)
{
	static const char *const words[] = {
		"constprop", "isra", "part", "cold", "lto_priv", "llvm", "localalias", "clone"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == n && !memcmp(words[i], word, n))
			return true;
	return n && strspn(word, "0123456789") >= n;
}

size_t function_name_length(const char *function)
{
	const char *clone = strstr(function, " [clone ");
	size_t len = clone ? (size_t)(clone - function) : strlen(function), end = len;

	while (end) {
		size_t dot = end;

		while (dot && function[dot - 1] != '.')
			dot--;
		if (dot < 2 || !is_copy_word(function + dot, end - dot))
			break;
		end = dot - 1;
	}
	/* "f.0" is a function of its own to compilers that number local ones so */
	return strspn(function + end, ".0123456789") >= len - end ? len : end;
}

/* Code without a function's name: file and place in it. */
static u32 place_number(struct texts *ts, const struct stack_line *l)
{
	_cleanup_str_ struct str s = {};

	if (l->kernel)
		return texts_number(ts, NO_SYMBOL);
	if (!l->module)
		return texts_number(ts, "?");
	str_add(&s, path_name(l->module));
	if (l->module[0] !=
		'[') /* [unknown], [anon]: memory, not a file, at another place each time */
		str_addf(&s, "+0x%llx", l->offset);
	return s.failed ? 0 : texts_number(ts, str_get(&s));
}

/* Names of a stream stay where they are, so each is looked at once: see texts_forget(). */
static u32 function_number(struct texts *ts, const char *function)
{
	u32 *known = groups_get(&ts->known, &function);
	_cleanup_str_ struct str s = {};
	size_t n;

	if (!known)
		return 0;
	if (!*known) {
		n = function_name_length(function);
		if (function[n])
			str_addn(&s, function, n);
		*known = s.failed ? 0 : texts_number(ts, function[n] ? str_get(&s) : function);
	}
	return *known;
}

struct frames {
	struct texts *ts;
	identity_vec *out;
	bool failed;
};

static void identity_frame_add(void *arg, const struct stack_line *l)
{
	struct frames *f = arg;
	u32 number = l->function ? function_number(f->ts, l->function) : place_number(f->ts, l);

	if (!number || vec_push(f->out, number << 1 | l->kernel))
		f->failed = true;
}

static int stack_add(struct texts *ts, const struct stream *s, u32 stack, identity_vec *out)
{
	struct frames f = {.ts = ts, .out = out};
	size_t at = out->n;

	if (vec_push(out, 0))
		return -ENOMEM;
	stack_each(s, stack, identity_frame_add, &f);
	out->v[at] = (u32)(out->n - at);
	return f.failed ? -ENOMEM : 0;
}

static int number_add(u64 value, identity_vec *out)
{
	return vec_push(out, (u32)value) || vec_push(out, (u32)(value >> 32)) ? -ENOMEM : 0;
}

int identity_add(struct texts *ts, const struct stream *s, const struct table *t, size_t row,
	const size_t *cols, size_t n, identity_vec *out)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		const struct cell *c = table_cell(t, row, cols[i]);
		u32 number = c->type == CELL_TEXT ? texts_number(ts, c->text) : 0;

		/* a text of no number is one that could not be kept */
		if (vec_push(out, c->type) || (c->type == CELL_TEXT && !number))
			rc = -ENOMEM;
		else if (c->type == CELL_TEXT)
			rc = vec_push(out, number);
		else if (c->type == CELL_STACK)
			rc = stack_add(ts, s, c->stack, out);
		else if (c->type != CELL_EMPTY)
			rc = number_add(c->u, out);
	}
	return rc;
}
