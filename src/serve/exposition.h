/*
 * The text formats of Prometheus and OpenMetrics: families with their HELP, TYPE and UNIT lines,
 * samples, histograms. Owns how names, labels and numbers are written; knows no metric.
 */
#ifndef MEMWHY_SERVE_EXPOSITION_H
#define MEMWHY_SERVE_EXPOSITION_H

#include "base/str.h"

enum exposition_format {
	EXPOSITION_CLASSIC,     /* text/plain; version=0.0.4 */
	EXPOSITION_OPENMETRICS, /* application/openmetrics-text; version=1.0.0 */
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_INFO };

/* A family: `name` without the suffix that its type adds (_total, _info, _bucket). */
struct metric {
	const char *name;
	u8 type;          /* enum metric_type */
	const char *unit; /* "seconds", "bytes", "ratio": the last word of `name`; NULL: a count */
	const char *help; /* one sentence, without a newline */
};

struct exposition {
	struct str *out;
	enum exposition_format format;
	const struct metric *family; /* the present one */
	u64 series;                  /* samples written so far */
};

const char *exposition_type(enum exposition_format format); /* Content-Type */
/* Begins a family. All of its samples follow, before the next family. */
void exposition_family(struct exposition *e, const struct metric *family);
/* A sample. labels: what label_add() made; "" or NULL: none. */
void exposition_u64(struct exposition *e, const char *labels, u64 value);
void exposition_f64(struct exposition *e, const char *labels, double value);
void exposition_seconds(struct exposition *e, const char *labels, u64 ns);
/* A log2 histogram of nanoseconds: slot 0 counts 0, slot i counts 2^(i-1) <= ns < 2^i. */
void exposition_histogram(
	struct exposition *e, const char *labels, const u64 *slots, u32 n, u64 total_ns);
void exposition_end(struct exposition *e);

/* Appends name="value" with a comma before it where needed. The value may hold anything. */
void label_add(struct str *labels, const char *name, const char *value);
void label_add_u64(struct str *labels, const char *name, u64 value);

#endif
