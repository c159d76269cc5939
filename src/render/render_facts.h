/* What the head of a report says of how it was made, fact by fact: each adds plain text, escaped
 * for a terminal. Those that return a bool add nothing where it is false: not known. */
#ifndef MEMWHY_RENDER_FACTS_H
#define MEMWHY_RENDER_FACTS_H

#include "report/report.h"

bool fact_kernel(struct str *out, const struct rec_host *h);
bool fact_cpus(struct str *out, const struct rec_host *h);
bool fact_interval(struct str *out, const struct stream *s);
/* How a command that was run ended. */
bool fact_exit(struct str *out, const struct rec_exit *e);
/* "faults 1,234" */
void fact_events(struct str *out, const struct stream_loss *l);
/* "LOST: faults lost 3 of 10 events (30.0 %): the ring was full" */
bool fact_loss(struct str *out, const struct stream_loss *l);
void fact_cpu_cost(struct str *out, const struct stream *s);
bool fact_bpf_cost(struct str *out, const struct stream *s);
void fact_rss_cost(struct str *out, const struct stream *s);

#endif
