/*
 * The latest state of each thing. Many records describe a state and come again only when it
 * changes: what a ring of the last minutes has dropped of them still holds. Keeps one record per
 * thing; those of a task are dropped with the task.
 */
#ifndef MEMWHY_SERVE_LATEST_H
#define MEMWHY_SERVE_LATEST_H

#include "event/sink.h"
#include "event/stream.h"

struct latest;

int latest_new(struct latest **ret);
void latest_free(struct latest *l);
/* Kinds without a state are ignored. Where memory is short, or there are too many things, what came
 * is not kept. */
void latest_put(struct latest *l, const struct rec *r);
/* The loss of a probe, or the cost, as last received; NULL: never. */
const struct rec_loss *latest_loss(const struct latest *l, const char *probe);
const struct rec_cost *latest_cost(const struct latest *l);
/* Sends all but losses and cost, as of this time. */
int latest_send(const struct latest *l, u64 time_ns, struct sink *to);
/* Sends losses and cost, as received. */
int latest_send_sums(const struct latest *l, struct sink *to);
u64 latest_bytes(const struct latest *l);

#endif
