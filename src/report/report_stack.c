/* Stacks of a report as text, from the frames and symbols of its stream. See report.h. */
#include <string.h>

#include "report/report.h"

static void symbol_each(const struct stream *s, const struct rec_symbol *sym, struct stack_line *l,
	void (*fn)(void *arg, const struct stack_line *l), void *arg)
{
	for (u32 i = 0; i < sym->n; i++) {
		l->function = stream_string(s, sym->lines[i].function);
		l->file = sym->lines[i].file ? stream_string(s, sym->lines[i].file) : NULL;
		l->line = sym->lines[i].line;
		l->offset = sym->lines[i].offset;
		l->inlined = i + 1 < sym->n;
		l->part = i;
		fn(arg, l);
	}
}

/*
 * Is this the kernel's walk over all that is attached to a tracepoint? It comes before the function
 * with the tracepoint, but only while more than one thing is (include/linux/tracepoint.h, 5.10),
 * and says nothing of who is asked after.
 */
static bool is_tracepoint(const struct stream *s, u32 frame)
{
	const struct rec_frame *f = stream_frame(s, frame);
	const struct rec_symbol *sym = stream_symbol(s, frame);
	const char *function = f && f->h.flags == FRAME_KERNEL && sym && sym->n
				       ? stream_string(s, sym->lines[0].function)
				       : NULL;

	return function && !strncmp(function, "__traceiter_", strlen("__traceiter_"));
}

void stack_each_frame(
	const struct stream *s, u32 stack, void (*fn)(void *arg, u32 frame), void *arg)
{
	const struct rec_stack *st = stream_stack(s, stack);
	u32 first = st && st->n > 1 && is_tracepoint(s, st->frames[0]);

	for (u32 i = first; st && i < st->n; i++)
		fn(arg, st->frames[i]);
}

void frame_each(const struct stream *s, u32 frame,
	void (*fn)(void *arg, const struct stack_line *l), void *arg)
{
	const struct rec_frame *f = stream_frame(s, frame);
	const struct rec_symbol *sym = stream_symbol(s, frame);
	struct stack_line l = {.frame = frame};

	if (f) {
		l.module = f->module ? stream_string(s, f->module) : NULL;
		l.offset = f->offset;
		l.address = f->address;
		l.kernel = f->h.flags == FRAME_KERNEL;
	}
	if (sym && sym->n && stream_string(s, sym->lines[sym->n - 1].function))
		symbol_each(s, sym, &l, fn, arg);
	else
		fn(arg, &l);
}

struct lines_of {
	const struct stream *s;
	void (*fn)(void *arg, const struct stack_line *l);
	void *arg;
};

static void frame_lines(void *arg, u32 frame)
{
	const struct lines_of *of = arg;

	frame_each(of->s, frame, of->fn, of->arg);
}

void stack_each(const struct stream *s, u32 stack,
	void (*fn)(void *arg, const struct stack_line *l), void *arg)
{
	struct lines_of of = {s, fn, arg};

	stack_each_frame(s, stack, frame_lines, &of);
}

static void report_stack_place_add(struct str *out, const struct stack_line *l, bool full)
{
	const char *module = l->module ? l->module : l->kernel ? "kernel" : NULL;

	if (l->file) {
		str_addf(out, " (%s", full ? l->file : path_name(l->file));
		if (l->line)
			str_addf(out, ":%u", l->line);
		str_addc(out, ')');
		return;
	}
	if (!l->inlined)
		str_addf(out, "+0x%llx", l->offset);
	if (module)
		str_addf(out, " (%s)", full ? module : path_name(module));
}

void stack_line_add(struct str *out, const struct stack_line *l, bool full)
{
	if (l->function) {
		str_add(out, l->function);
		report_stack_place_add(out, l, full);
	} else if (l->kernel && !full) { /* a kernel address is for -v only */
		str_add(out, NO_SYMBOL);
	} else if (l->module && !l->inlined) {
		str_addf(out, "%s+0x%llx", l->module, l->offset);
	} else if (l->address) {
		str_addf(out, "0x%llx", l->address);
	} else {
		str_add(out, "?");
	}
	if (l->inlined)
		str_add(out, " [inlined]");
}

struct lines {
	struct str text;
	bool mark_kernel;
	void (*line)(void *arg, const char *text);
	void *arg;
};

static void lines_each(void *arg, const struct stack_line *l)
{
	struct lines *ls = arg;

	str_clear(&ls->text);
	stack_line_add(&ls->text, l, false);
	if (l->kernel && ls->mark_kernel)
		str_add(&ls->text, "_[k]");
	ls->line(ls->arg, str_get(&ls->text));
}

void stack_lines(const struct stream *s, u32 stack, bool mark_kernel,
	void (*line)(void *arg, const char *text), void *arg)
{
	struct lines ls = {.mark_kernel = mark_kernel, .line = line, .arg = arg};

	stack_each(s, stack, lines_each, &ls);
	str_free(&ls.text);
}
