/* Where records go: a log file, the views, or several of them. */
#ifndef MEMWHY_EVENT_SINK_H
#define MEMWHY_EVENT_SINK_H

#include "event/wire.h"

struct sink {
	/* 0 or -errno. The record belongs to the caller and is only valid during the call. */
	int (*put)(struct sink *sink, const struct rec *r);
};

#endif
