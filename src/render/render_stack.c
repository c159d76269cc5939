/*
 * A stack below its row: where it happened (the innermost frames) and what it was for (the
 * outermost), recursion once. See render_text.h. Knows no probe; -o wide shows every frame.
 */
#include <string.h>

#include "render/render_text.h"

#define INDENT 4
#define SHOWN 10 /* lines of a longer stack */
#define CYCLE 3  /* functions that call each other in turn */

struct frame_line {
	char *text;       /* escaped */
	bool own;         /* of the program, not of a library or the kernel */
	u32 cycle, times; /* at the end of so many lines that stand for as many times as much */
};

struct frames {
	VEC(struct frame_line) lines;
	const struct render_options *o;
	struct str text;
	bool failed;
};

/* Of the file that was executed, as its name tells: code of other files is in libraries. */
static bool is_own(const struct stack_line *l)
{
	const char *name = l->module ? path_name(l->module) : NULL;

	return name && !l->kernel && *name != '[' && !strstr(name, ".so") &&
	       (l->function || !l->inlined);
}

static void render_stack_frame_add(void *arg, const struct stack_line *l)
{
	struct frames *f = arg;
	_cleanup_str_ struct str escaped = {};
	struct frame_line line = {.own = is_own(l)};

	str_clear(&f->text);
	if (f->o->verbose && !l->inlined && l->address)
		str_addf(&f->text, "%16llx ", l->address);
	else if (f->o->verbose)
		pad_add(&f->text, 17);
	stack_line_add(&f->text, l, f->o->verbose);
	str_add_escaped(&escaped, str_get(&f->text));
	line.text = strdup(str_get(&escaped));
	if (!line.text || vec_push(&f->lines, line)) {
		free(line.text);
		f->failed = true;
	}
}

static void frames_free(struct frames *f)
{
	vec_each (l, &f->lines)
		free(l->text);
	vec_free(&f->lines);
	str_free(&f->text);
}

/* How often the `cycle` lines from `at` on come, one after the other. */
static u32 times_of(const struct frames *f, size_t at, size_t cycle)
{
	size_t next = at + cycle;
	u32 n = 1;

	for (;; n++, next += cycle)
		for (size_t i = 0; i < cycle; i++)
			if (next + i >= f->lines.n ||
				strcmp(f->lines.v[at + i].text, f->lines.v[next + i].text) != 0)
				return n;
}

/* Recursion is told once, with how often. */
static void frames_fold(struct frames *f)
{
	for (size_t at = 0; at < f->lines.n; at++) {
		for (size_t cycle = 1; cycle <= CYCLE; cycle++) {
			u32 n = at + cycle <= f->lines.n ? times_of(f, at, cycle) : 1;
			size_t gone = (n - 1) * cycle, from = at + cycle;

			if (n < (cycle == 1 ? 2 : 3))
				continue;
			for (size_t i = from; i < from + gone; i++)
				free(f->lines.v[i].text);
			memmove(&f->lines.v[from], &f->lines.v[from + gone],
				(f->lines.n - from - gone) * sizeof(*f->lines.v));
			f->lines.n -= gone;
			f->lines.v[from - 1].cycle = (u32)cycle;
			f->lines.v[from - 1].times = n;
			at = from - 1;
			break;
		}
	}
}

static void render_stack_line_add(
	struct str *out, const struct frame_line *l, const struct render_options *o)
{
	char note[48] = "";
	size_t room = line_width(o) - INDENT;

	if (l->times && l->cycle > 1)
		snprintf(note, sizeof(note), " [these %u, %u times]", l->cycle, l->times);
	else if (l->times)
		snprintf(note, sizeof(note), " [%u times]", l->times);
	pad_add(out, INDENT);
	if (o->wide)
		str_add(out, l->text);
	else
		shrink_add(out, l->text, room - MIN(strlen(note), room));
	str_addf(out, "%s\n", note);
}

/* Of a stack with more lines than `limit`, the innermost six tenths and the outermost rest. Where
 * none of these is the program's own, its innermost one takes the place of a library's. */
static size_t own_find(const struct frames *f, size_t inner, size_t outer)
{
	for (size_t i = 0; i < inner; i++)
		if (f->lines.v[i].own)
			return f->lines.n;
	for (size_t i = inner; i < f->lines.n - outer; i++)
		if (f->lines.v[i].own)
			return i;
	return f->lines.n;
}

static void gap_add(struct str *out, size_t n, bool last)
{
	if (n)
		str_addf(
			out, "%*s… %zu more%s\n", INDENT, "", n, last ? "; -o wide shows all" : "");
}

static void frames_print(struct str *out, const struct frames *f, size_t limit)
{
	size_t outer = limit / 10 * 4 + limit % 10 * 4 / 10, inner = limit - outer, n = f->lines.n;
	size_t own = n > limit ? own_find(f, inner, outer) : n, shown = 0;

	if (own < n)
		inner--;
	for (size_t i = 0; i < n; i++) {
		if (n > limit && i >= inner && i < n - outer && i != own)
			continue;
		gap_add(out, i - shown, i >= n - outer);
		render_stack_line_add(out, &f->lines.v[i], f->o);
		shown = i + 1;
	}
}

void stack_text_add(struct str *out, const struct report *r, const struct table *t, u32 stack,
	const struct render_options *o)
{
	const struct rec_stack *st = stream_stack(r->stream, stack);
	size_t limit = o->wide ? (size_t)-1 : t->stack_limit ? t->stack_limit : SHOWN;
	_cleanup_(frames_free) struct frames f = {.o = o};

	stack_each(r->stream, stack, render_stack_frame_add, &f);
	if (!o->wide)
		frames_fold(&f);
	frames_print(out, &f, limit);
	out->failed |= f.failed;
	if (st && (st->h.flags & 0xff) >= STACK_CUT && st->h.flags != STACK_BY_FRAME_POINTERS)
		str_addf(out, "%*s[%s]\n", INDENT, "", stack_method_text(st->h.flags));
}
