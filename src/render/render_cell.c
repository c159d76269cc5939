/* See render_cell.h. */
#include "render/render_cell.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "event/cgroup_name.h"

#define EXACT_MAX 9999999999ULL /* ten digits */
#define COMPACT_FROM 10000

void count_add(struct str *out, u64 n)
{
	char digits[UNIT_BUF];
	size_t len;

	if (n > EXACT_MAX) {
		str_add(out, fmt_count(digits, n));
		return;
	}
	snprintf(digits, sizeof(digits), "%llu", n);
	len = strlen(digits);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			str_addc(out, ',');
		str_addc(out, digits[i]);
	}
}

static void ratio_add(struct str *out, double v)
{
	if (v > 0 && v < 0.0005)
		str_add(out, "<0.1 %");
	else
		str_addf(out, "%.1f %%", v * 100);
}

static void magnitude_add(struct str *out, u8 unit, u64 n, bool compact)
{
	char buf[UNIT_BUF];

	switch (unit) {
	case UNIT_BYTES:
		str_add(out, fmt_bytes(buf, n));
		break;
	case UNIT_NS:
		str_add(out, fmt_ns(buf, n));
		break;
	case UNIT_RATIO:
		ratio_add(out, (double)n);
		break;
	case UNIT_PERMILLE:
		str_addf(out, "%llu.%03llu", n / 1000, n % 1000);
		break;
	case UNIT_HEX:
		str_addf(out, "0x%llx", n);
		break;
	case UNIT_COUNT:
	case UNIT_PAGES:
		if (compact && n >= COMPACT_FROM)
			str_add(out, fmt_count(buf, n));
		else
			count_add(out, n);
		break;
	default:
		str_addf(out, "%llu", n);
	}
}

void number_add(struct str *out, u8 unit, u64 value)
{
	magnitude_add(out, unit, value, false);
}

static void fraction_add(struct str *out, u8 unit, double v, bool compact)
{
	if (!isfinite(v)) {
		str_addc(out, '-');
		return;
	}
	if (v < 0)
		str_addc(out, '-');
	v = fabs(v);
	if (unit == UNIT_RATIO)
		ratio_add(out, v);
	else if (unit == UNIT_PERMILLE)
		str_addf(out, "%.3f", v / 1000);
	else if (unit == UNIT_BYTES || unit == UNIT_NS || v >= 999.5)
		magnitude_add(out, unit, v < 1.8e19 ? (u64)(v + 0.5) : ~0ULL, compact);
	else
		str_addf(out, "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
}

static void render_cell_text_add(struct str *out, u8 unit, const struct cell *v, bool short_name)
{
	_cleanup_str_ struct str name = {};

	if (v->escaped)
		str_add(out, v->text);
	else if (unit == UNIT_CGROUP && short_name && cgroup_name_add(&name, v->text))
		str_add_escaped(out, str_get(&name));
	else
		str_add_escaped(out, v->text);
}

static bool cell_rose(const struct cell *v)
{
	return (v->type == CELL_U64 && v->u) || (v->type == CELL_S64 && v->s > 0) ||
	       (v->type == CELL_F64 && isfinite(v->f) && v->f > 0);
}

void cell_add(struct str *out, const struct column *c, const struct cell *v, u32 how)
{
	bool compact = how & CELL_COMPACT;

	if (c->flags & COL_CHANGE && cell_rose(v))
		str_addc(out, '+');
	switch (v->type) {
	case CELL_U64:
		magnitude_add(out, c->unit, v->u, compact);
		break;
	case CELL_S64:
		if (v->s < 0)
			str_addc(out, '-');
		magnitude_add(out, c->unit, v->s < 0 ? 0 - (u64)v->s : (u64)v->s, compact);
		break;
	case CELL_F64:
		fraction_add(out, c->unit, v->f, compact);
		break;
	case CELL_BOOL:
		str_add(out, v->b ? "yes" : "no");
		break;
	case CELL_TEXT:
		render_cell_text_add(out, c->unit, v, how & CELL_SHORT);
		break;
	default:
		str_addc(out, '-');
	}
}

struct joined {
	struct str *out;
	size_t n;
};

static void frame_join(void *arg, const char *text)
{
	struct joined *j = arg;

	if (j->n++)
		str_addc(j->out, ';');
	str_add_escaped(j->out, text);
}

static void hist_join(struct str *out, const struct hist_cell *h)
{
	const char *separator = "";

	for (size_t i = 0; i < HIST_SLOTS; i++) {
		if (!h->slots[i])
			continue;
		str_addf(out, "%s%llu:%llu", separator, hist_bound(i), h->slots[i]);
		separator = ";";
	}
}

void cell_add_bare(struct str *out, const struct stream *s, const struct cell *v)
{
	struct joined j = {.out = out};

	switch (v->type) {
	case CELL_U64:
		str_addf(out, "%llu", v->u);
		break;
	case CELL_S64:
		str_addf(out, "%lld", v->s);
		break;
	case CELL_F64:
		if (isfinite(v->f))
			str_addf(out, "%.9g", v->f);
		break;
	case CELL_BOOL:
		str_add(out, v->b ? "true" : "false");
		break;
	case CELL_TEXT:
		render_cell_text_add(out, UNIT_NONE, v, false);
		break;
	case CELL_STACK:
		stack_lines(s, v->stack, false, frame_join, &j);
		break;
	case CELL_HIST:
		hist_join(out, v->hist);
		break;
	default:
		break;
	}
}

static void moment_add(char text[64], u64 wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	char date[40];
	struct tm tm;

	text[0] = '\0';
	if (!wall_ns || !gmtime_r(&seconds, &tm) ||
		!strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	snprintf(text, 64, "%s.%03lluZ", date, wall_ns / NSEC_PER_MSEC % 1000);
}

void span_read(const struct stream *s, struct span_text *ret)
{
	u64 wall = stream_wall_ns(s);

	moment_add(ret->start, wall);
	moment_add(ret->end, wall ? wall + stream_interval_ns(s) : 0);
}
