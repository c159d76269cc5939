/* See exposition.h. */
#include "serve/exposition.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

/* Bounds of buckets: 2^10 ns (about 1 us) to 2^30 ns (about 1 s), where the slots of the BPF
 * programs end. Shorter and longer durations are in the first and in the last (+Inf) bucket. */
#define BUCKET_FIRST 10
#define BUCKET_LAST 30

static const char *const type_names[] = {"counter", "gauge", "histogram", "info"};

const char *exposition_type(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* What the name of a sample ends in. */
static const char *suffix_of(const struct metric *m)
{
	return m->type == METRIC_COUNTER ? "_total" : m->type == METRIC_INFO ? "_info" : "";
}

void exposition_family(struct exposition *e, const struct metric *family)
{
	bool open = e->format == EXPOSITION_OPENMETRICS;
	const char *suffix = open ? "" : suffix_of(family);
	const char *type = type_names[family->type];

	if (!open && family->type == METRIC_INFO)
		type = "gauge"; /* the classic format has no such type */
	e->family = family;
	str_addf(e->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	str_addf(e->out, "# TYPE %s%s %s\n", family->name, suffix, type);
	if (open && family->unit)
		str_addf(e->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* Name and labels; `more` is one more label, ready made. */
static void sample_begin(
	struct exposition *e, const char *suffix, const char *labels, const char *more)
{
	bool some = labels && *labels;

	str_add(e->out, e->family->name);
	str_add(e->out, suffix);
	if (some || *more)
		str_addf(e->out, "{%s%s%s}", some ? labels : "", some && *more ? "," : "", more);
	str_addc(e->out, ' ');
	e->series++;
}

void exposition_u64(struct exposition *e, const char *labels, u64 value)
{
	sample_begin(e, suffix_of(e->family), labels, "");
	str_add_u64(e->out, value);
	str_addc(e->out, '\n');
}

void exposition_f64(struct exposition *e, const char *labels, double value)
{
	sample_begin(e, suffix_of(e->family), labels, "");
	if (isfinite(value))
		str_addf(e->out, "%.9g\n", value);
	else
		str_add(e->out, "NaN\n");
}

/* All digits: a counter of years in seconds would lose its nanoseconds in a double. */
static void seconds_add(struct str *out, u64 ns)
{
	str_addf(out, "%llu.%09llu\n", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

void exposition_seconds(struct exposition *e, const char *labels, u64 ns)
{
	sample_begin(e, suffix_of(e->family), labels, "");
	seconds_add(e->out, ns);
}

void exposition_histogram(
	struct exposition *e, const char *labels, const u64 *slots, u32 n, u64 total_ns)
{
	u64 count = 0;
	char le[32];

	for (u32 i = 0; i < n; i++) {
		count += slots[i];
		if (i < BUCKET_FIRST || i > BUCKET_LAST)
			continue;
		snprintf(
			le, sizeof(le), "le=\"%.12g\"", (double)(1ULL << i) / (double)NSEC_PER_SEC);
		sample_begin(e, "_bucket", labels, le);
		str_add_u64(e->out, count);
		str_addc(e->out, '\n');
	}
	sample_begin(e, "_bucket", labels, "le=\"+Inf\"");
	str_addf(e->out, "%llu\n", count);
	sample_begin(e, "_sum", labels, "");
	seconds_add(e->out, total_ns);
	sample_begin(e, "_count", labels, "");
	str_addf(e->out, "%llu\n", count);
}

void exposition_end(struct exposition *e)
{
	if (e->format == EXPOSITION_OPENMETRICS)
		str_add(e->out, "# EOF\n");
}

/* Both formats are UTF-8 and escape three characters. */
static void label_value(struct str *out, const char *value)
{
	size_t left = strlen(value);

	while (left) {
		size_t n = utf8_len(value, left);

		if (!n) {
			str_add(out, "\xef\xbf\xbd"); /* U+FFFD */
			n = 1;
		} else if (*value == '\n') {
			str_add(out, "\\n");
		} else {
			if (*value == '"' || *value == '\\')
				str_addc(out, '\\');
			str_addn(out, value, n);
		}
		value += n;
		left -= n;
	}
}

void label_add(struct str *labels, const char *name, const char *value)
{
	str_addf(labels, "%s%s=\"", labels->len ? "," : "", name);
	label_value(labels, value);
	str_addc(labels, '"');
}

void label_add_u64(struct str *labels, const char *name, u64 value)
{
	str_addf(labels, "%s%s=\"%llu\"", labels->len ? "," : "", name, value);
}
