/* The service at work: what its parts share. Private to src/serve. */
#ifndef MEMWHY_SERVE_SERVICE_H
#define MEMWHY_SERVE_SERVICE_H

#include <pthread.h>

#include "record/pipeline.h"
#include "serve/daemon_kills.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/notify.h"
#include "serve/profiler.h"
#include "serve/push_profiles.h"
#include "serve/serve.h"

/* A finding that was reported in the interval before. */
struct told {
	char rule[48];
	int level;
};

struct service {
	struct sink sink; /* first: all records come here */
	struct serve_config cfg;
	const struct serve_config *begun; /* what a reload cannot change is as it is here */
	const struct serve_reload *reload;
	struct pipeline *pipe;
	struct metrics *metrics;
	struct blackbox *box; /* NULL: nothing is kept */
	char *dir;            /* of incidents; set before the server begins */
	char *listen;         /* where the server listens */
	bool local;           /* only this machine can ask it */
	bool loopback;        /* by an address: browsers of this machine can */
	u64 report_next_ns;   /* when the interval ends */
	struct http *http;
	struct writer writer; /* of incidents */
	struct profiler profiler;
	bool writer_gone, profiler_gone; /* said so */
	struct push *push;               /* with what it is to push; NULL: nothing */
	struct push_profiles *pushed;
	int notify_fd;
	u64 watchdog_ns, watchdog_next_ns, turn_next_ns;
	bool ready; /* said so */
	bool named; /* the names of this tick are all there */
	VEC(struct told) told;
	struct daemon_kills daemons;
	/* Shared with the server's thread. */
	pthread_mutex_t lock;
	struct str page, page_html; /* the report of the last interval */
	u64 alive_ns;               /* when the session was last seen to go on */
	struct serve_counts counts; /* but those of the server */
};

/* Answers a request, in the server's thread. (pages.c) */
void service_answer(void *arg, const struct http_request *q, struct http_answer *ret);
/* Makes the page of what was found. (pages.c) */
void service_page(struct service *s, const struct report *r);
/* Lines for the journal: one JSON object each. (journal.c) */
/* Has it a finding that was not reported in the interval before? */
bool journal_has_news(const struct service *s, const struct report *r);
void journal_findings(struct service *s, const struct report *r);
void journal_kill(struct service *s, const struct rec *r);
void journal_daemon_kill(struct service *s, const struct rec *r);
/* An incident that was written, or was not. */
void journal_incident(struct service *s, const struct written *w);
/* What befell the session's processes: a warning about names. */
void journal_note(struct service *s, const struct rec *r);
void journal_warn(struct service *s, const char *event, const char *text);

#endif
