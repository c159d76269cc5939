/* See heap_names.h. */
#include "probes/heap/collect/heap_names.h"

#include <errno.h>
#include <string.h>

#include "capture/names/names.h"
#include "probes/heap/collect/collector.h"
#include "probes/heap/heap.h"

/* Who told of files: the stacks that the same thread tells of are in these. Others may have been
 * told of other files at the same addresses, sooner or later. */
struct teller {
	u32 process, thread;
};

void heap_names_init(struct heap_names *s)
{
	groups_init(&s->files, sizeof(struct teller), sizeof(struct process_map));
}

void heap_names_free(struct heap_names *s)
{
	for (size_t i = 0; i < s->files.n; i++)
		process_map_free(groups_value(&s->files, i));
	vec_each (v, &s->stacks)
		free(*v);
	groups_free(&s->files);
	vec_free(&s->stacks);
	vec_free(&s->n_stacks);
	vec_free(&s->told);
}

static struct process_map *files_get(struct capture *c, struct heap_names *s, const struct news *n)
{
	struct teller who = {n->process, n->thread};
	size_t had = s->files.n;
	struct process_map *files = groups_get(&s->files, &who);

	if (files && s->files.n > had)
		process_map_init(files, names_modules(c->names), 0);
	return files;
}

static u64 shifted(u64 word)
{
	return word >> TRACK_ARG_SHIFT;
}

/* As modules.c of the tracker sends it. */
static int module_take(struct process_map *files, const struct news *n)
{
	char path[1024 + 1] = "";
	u32 length = 0;

	if (n->words < 5)
		return 0;
	for (u32 i = 5; i < n->words; i++)
		for (u32 k = 1; k < 8 && length < sizeof(path) - 1; k++)
			path[length++] = (char)(n->v[i] >> 8 * k);
	path[length] = '\0';
	if (shifted(n->v[0]) >= shifted(n->v[1]))
		return 0;
	return process_map_add(files, shifted(n->v[0]), shifted(n->v[1]), shifted(n->v[2]),
		shifted(n->v[3]), shifted(n->v[4]), path);
}

/* The names of an program's stacks, with room for one more number. */
static u32 *stacks_room(struct heap_names *s, u32 program, u32 number)
{
	while (s->stacks.n < program) {
		if ((s->n_stacks.n == s->stacks.n && vec_push(&s->n_stacks, 0)) ||
			vec_push(&s->stacks, NULL))
			return NULL;
	}
	if (number >= s->n_stacks.v[program - 1]) {
		u32 had = s->n_stacks.v[program - 1], n = MAX(MAX(number + 1, 2 * had), 1024U);
		u32 *grown = realloc(s->stacks.v[program - 1], n * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + had, 0, (n - had) * sizeof(*grown));
		s->stacks.v[program - 1] = grown;
		s->n_stacks.v[program - 1] = n;
	}
	return &s->stacks.v[program - 1][number];
}

#define TOLD_MAX 8192 /* pairs in a record */

static int told_send(struct capture *c, struct heap_names *s)
{
	size_t size = (offsetof(struct heap_stacks, v) + s->told.n * sizeof(u32) + 7) & ~7UL;
	_cleanup_free_ struct heap_stacks *r = s->told.n ? calloc(1, size) : NULL;

	if (!r)
		return s->told.n ? -ENOMEM : 0;
	r->h.size = (u32)size;
	r->h.kind = REC_HEAP_STACKS;
	r->program = s->told_image;
	r->n = (u32)s->told.n / 2;
	memcpy(r->v, s->told.v, s->told.n * sizeof(u32));
	s->told.n = 0;
	return capture_emit(c, &r->h);
}

static int told_add(struct capture *c, struct heap_names *s, u32 program, u32 number, u32 stack)
{
	bool full = s->told.n && (program != s->told_image || s->told.n / 2 == TOLD_MAX);
	int rc = full ? told_send(c, s) : 0;

	s->told_image = program;
	rc = rc ? rc : vec_push(&s->told, number);
	return rc ? rc : vec_push(&s->told, stack);
}

/* As event_writer_flush() hands them on. */
static int events_take(struct capture *c, const struct news *n)
{
	size_t code = n->words < 2 ? 0 : (n->words - 2UL) * sizeof(u64);
	size_t size = (sizeof(struct heap_events) + code + 7) & ~7UL;
	_cleanup_free_ struct heap_events *r = code ? calloc(1, size) : NULL;

	if (!r)
		return code ? -ENOMEM : 0;
	r->h.size = (u32)size;
	r->h.kind = REC_HEAP_EVENTS;
	r->process = n->process;
	r->program = n->program;
	r->before = n->v[0];
	r->bytes = (u32)n->v[1];
	memcpy(r->code, &n->v[2], r->bytes);
	return capture_emit(c, &r->h);
}

static int heap_names_stack_take(struct capture *c, struct heap_names *s,
	const struct process_map *files, const struct news *n)
{
	u32 *name = stacks_room(s, n->program, n->number);
	u64 ips[TRACK_DEPTH];

	if (!name)
		return -ENOMEM;
	for (u32 i = 0; i < n->words && i < TRACK_DEPTH; i++)
		ips[i] = shifted(n->v[i]);
	*name = names_user_stack(c->names, files, ips, MIN(n->words, (u32)TRACK_DEPTH));
	return s->tell ? told_add(c, s, n->program, n->number, *name) : 0;
}

static int news_take(struct capture *c, struct heap_names *s, const struct news *n)
{
	struct process_map *files;

	if (n->kind == NEWS_EVENTS)
		return events_take(c, n);
	files = files_get(c, s, n);
	if (!files)
		return -ENOMEM;
	return n->kind == NEWS_MODULE ? module_take(files, n)
				      : heap_names_stack_take(c, s, files, n);
}

int heap_names_take(struct heap_names *s, struct capture *c, struct collector *collector)
{
	news_buffer news = {};
	int rc = collector_news(collector, &news);

	for (size_t at = 0; at < news.n && !rc;) {
		const struct news *n = (const struct news *)&news.v[at];

		rc = news_take(c, s, n);
		at += sizeof(*n) / sizeof(u64) + n->words;
	}
	vec_free(&news);
	return rc ? rc : told_send(c, s);
}

u32 heap_names_stack(const struct heap_names *s, u32 program, u32 number)
{
	if (program > s->stacks.n || number >= s->n_stacks.v[program - 1])
		return 0;
	return s->stacks.v[program - 1][number];
}
