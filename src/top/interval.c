/* See frame.h. */
#include "top/interval.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

#include "base/unlinked.h"

static void put_u64(struct str *s, u64 v)
{
	str_addn(s, (const char *)&v, sizeof(v));
}

static void put_text(struct str *s, const char *text)
{
	u32 n = text ? (u32)MIN(strlen(text), (size_t)UINT16_MAX) : 0;

	str_addn(s, (const char *)&n, sizeof(n));
	str_addn(s, text ? text : "", n);
}

static void stack_put(void *arg, const char *line)
{
	struct str *s = arg;

	if (s->len)
		str_addc(s, '\n');
	str_add(s, line);
}

static void put_cell(struct str *s, const struct stream *stream, const struct cell *c)
{
	_cleanup_str_ struct str lines = {};

	str_addc(s, (char)(c->type == CELL_STACK ? CELL_TEXT : c->type));
	switch (c->type) {
	case CELL_TEXT:
		put_text(s, c->text);
		break;
	case CELL_STACK:
		stack_lines(stream, c->stack, true, stack_put, &lines);
		put_text(s, str_get(&lines));
		break;
	case CELL_U64:
	case CELL_S64:
	case CELL_F64:
		put_u64(s, c->u);
		break;
	default:
		break;
	}
}

static const struct table *top_interval_table_find(const struct report *r, const char *name)
{
	vec_each (t, &r->tables)
		if (!strcmp((*t)->name, name))
			return *t;
	return NULL;
}

static void put_tables(struct str *s, const struct report *r)
{
	for (size_t i = 0; i < TOP_TABLES; i++) {
		const struct table *t = top_interval_table_find(r, top_tables[i].name);

		put_u64(s, t ? t->n_rows : 0);
		for (size_t k = 0; t && k < t->n_rows * t->n_cols; k++)
			put_cell(s, r->stream, &t->cells.v[k]);
	}
}

static void put_lines(struct str *s, const char *const lines[FINDING_LINES])
{
	u64 n = 0;

	while (n < FINDING_LINES && lines[n])
		n++;
	put_u64(s, n);
	for (u64 i = 0; i < n; i++)
		put_text(s, lines[i]);
}

static void put_findings(struct str *s, const struct report *r)
{
	put_u64(s, r->findings.n);
	vec_each (f, &r->findings) {
		put_u64(s, (u64)f->level);
		put_u64(s, f->cost_ns);
		put_u64(s, f->tgid);
		put_u64(s, f->cgroup);
		put_text(s, f->rule);
		put_text(s, f->title);
		put_text(s, f->confidence);
		put_text(s, f->why);
		put_lines(s, f->evidence);
		put_lines(s, f->try_);
		put_lines(s, f->undo);
		put_lines(s, f->verify);
	}
}

static void put_head(struct str *s, const struct report *r)
{
	const struct stream *st = r->stream;
	u64 wall = stream_wall_ns(st), ns = stream_interval_ns(st);

	put_u64(s, st->last_ns - MIN(ns, st->last_ns));
	put_u64(s, st->last_ns);
	put_u64(s, st->opened_ns);
	put_u64(s, wall ? wall + ns : 0);
	put_u64(s, stream_lost(st));
	put_u64(s, st->host.cpus);
	put_text(s, st->host.kernel);
	put_text(s, st->session.scope);
	put_text(s, st->session.command);
}

int frame_pack(const struct report *r, struct str *out)
{
	_cleanup_str_ struct str s = {};
	_cleanup_free_ char *packed = NULL;
	size_t n;

	put_head(&s, r);
	put_tables(&s, r);
	put_findings(&s, r);
	put_u64(&s, r->not_checked.n + r->notes.n);
	vec_each (text, &r->not_checked)
		put_text(&s, *text);
	vec_each (text, &r->notes)
		put_text(&s, *text);
	if (s.failed)
		return -ENOMEM;
	if (s.len > FRAME_OPEN)
		return -EFBIG;
	n = ZSTD_compressBound(s.len);
	packed = malloc(n);
	if (!packed)
		return -ENOMEM;
	n = ZSTD_compress(packed, n, s.buf, s.len, ZSTD_LEVEL);
	if (ZSTD_isError(n) || n > FRAME_MAX)
		return -EFBIG;
	str_addn(out, packed, n);
	return out->failed ? -ENOMEM : 0;
}

/* What is left to read. Once it was too little, nothing is. */
struct taker {
	const char *at;
	size_t left;
	bool bad;
};

static const void *top_interval_take(struct taker *t, size_t n)
{
	const char *at = t->at;

	if (t->bad || n > t->left) {
		t->bad = true;
		return NULL;
	}
	t->at += n;
	t->left -= n;
	return at;
}

static u64 take_u64(struct taker *t)
{
	const void *at = top_interval_take(t, sizeof(u64));
	u64 v = 0;

	if (at)
		memcpy(&v, at, sizeof(v));
	return v;
}

static const char *take_text(struct taker *t, struct arena *a)
{
	const void *at = top_interval_take(t, sizeof(u32));
	u32 n = 0;
	const char *text;

	if (at)
		memcpy(&n, at, sizeof(n));
	at = top_interval_take(t, n);
	text = at ? arena_strndup(a, at, n) : NULL;
	t->bad |= at && !text;
	return text ? text : "";
}

static struct cell take_cell(struct taker *t, struct arena *a)
{
	const u8 *type = top_interval_take(t, 1);
	struct cell c = {.type = type ? *type : CELL_EMPTY};

	switch (c.type) {
	case CELL_EMPTY:
		break;
	case CELL_TEXT:
		c.text = take_text(t, a);
		break;
	case CELL_U64:
	case CELL_S64:
	case CELL_F64:
		c.u = take_u64(t);
		break;
	default:
		t->bad = true;
	}
	return c;
}

static void take_table(struct taker *t, struct scene *s, size_t which)
{
	const struct view_table *of = &top_tables[which];
	struct table *to = &s->tables[which];
	u64 rows = take_u64(t), n;

	to->name = of->name;
	to->cols = of->cols;
	to->n_cols = of->n_cols;
	if (rows > t->left) /* a cell is a byte at least */
		t->bad = true;
	n = t->bad ? 0 : rows * of->n_cols;
	if (vec_reserve(&to->cells, n))
		t->bad = true;
	for (u64 i = 0; i < n && !t->bad; i++)
		to->cells.v[to->cells.n++] = take_cell(t, &s->arena);
	to->n_rows = to->cells.n / of->n_cols;
}

static void take_lines(struct taker *t, struct arena *a, const char *lines[FINDING_LINES])
{
	u64 n = take_u64(t);

	if (n > FINDING_LINES)
		t->bad = true;
	for (u64 i = 0; i < n && !t->bad; i++)
		lines[i] = take_text(t, a);
}

static void take_findings(struct taker *t, struct scene *s)
{
	u64 n = take_u64(t);

	for (u64 i = 0; i < n && !t->bad; i++) {
		struct finding f = {.level = (int)MIN(take_u64(t), (u64)LEVEL_CRITICAL)};

		f.cost_ns = take_u64(t);
		f.tgid = (u32)take_u64(t);
		f.cgroup = take_u64(t);
		f.rule = take_text(t, &s->arena);
		f.title = take_text(t, &s->arena);
		f.confidence = take_text(t, &s->arena);
		f.why = take_text(t, &s->arena);
		take_lines(t, &s->arena, f.evidence);
		take_lines(t, &s->arena, f.try_);
		take_lines(t, &s->arena, f.undo);
		take_lines(t, &s->arena, f.verify);
		if (!t->bad && vec_push(&s->findings, f))
			t->bad = true;
	}
}

static void take_head(struct taker *t, struct scene *s)
{
	s->begin_ns = take_u64(t);
	s->end_ns = take_u64(t);
	s->opened_ns = take_u64(t);
	s->wall_ns = take_u64(t);
	s->lost = take_u64(t);
	s->cpus = take_u64(t);
	s->kernel = take_text(t, &s->arena);
	s->scope = take_text(t, &s->arena);
	s->command = take_text(t, &s->arena);
}

static int scene_take(struct taker *t, struct scene *s)
{
	u64 n;

	take_head(t, s);
	for (size_t i = 0; i < TOP_TABLES; i++)
		take_table(t, s, i);
	take_findings(t, s);
	n = take_u64(t);
	for (u64 i = 0; i < n && !t->bad; i++) {
		const char *text = take_text(t, &s->arena);

		if (!t->bad && vec_push(&s->missing, text))
			t->bad = true;
	}
	return t->bad || t->left ? -EBADMSG : 0;
}

int frame_unpack(const void *packed, size_t n, char **ret, size_t *ret_n)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed, n);
	_cleanup_free_ char *bytes = NULL;

	if (size == ZSTD_CONTENTSIZE_ERROR || size > FRAME_OPEN)
		return -EBADMSG;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	if (ZSTD_decompress(bytes, size, packed, n) != size)
		return -EBADMSG;
	*ret = take_ptr(bytes);
	*ret_n = size;
	return 0;
}

int frame_read(const char *bytes, size_t n, struct scene *ret)
{
	struct taker t = {bytes, n, false};
	struct scene s = {};
	int rc = scene_take(&t, &s);

	if (rc) {
		scene_free(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

int frame_open(const void *packed, size_t n, struct scene *ret)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size;
	int rc = frame_unpack(packed, n, &bytes, &size);

	return rc ? rc : frame_read(bytes, size, ret);
}

static void lines_copy(struct arena *a, const char *to[FINDING_LINES], const char *const from[])
{
	for (size_t i = 0; i < FINDING_LINES; i++)
		to[i] = from[i] ? arena_strdup(a, from[i]) : NULL;
}

static const char *top_interval_text_copy(struct arena *a, const char *text)
{
	const char *copy = text ? arena_strdup(a, text) : NULL;

	return text && !copy ? "" : copy;
}

struct finding finding_copy(struct arena *a, const struct finding *f)
{
	struct finding to = *f;

	to.rule = top_interval_text_copy(a, f->rule);
	to.title = top_interval_text_copy(a, f->title);
	to.confidence = top_interval_text_copy(a, f->confidence);
	to.why = top_interval_text_copy(a, f->why);
	lines_copy(a, to.evidence, f->evidence);
	lines_copy(a, to.try_, f->try_);
	lines_copy(a, to.undo, f->undo);
	lines_copy(a, to.verify, f->verify);
	return to;
}

void scene_free(struct scene *s)
{
	for (size_t i = 0; i < TOP_TABLES; i++)
		vec_free(&s->tables[i].cells);
	vec_free(&s->findings);
	vec_free(&s->missing);
	arena_free(&s->arena);
	*s = (struct scene){};
}
