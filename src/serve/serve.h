/*
 * The service: a session of the cheap probes that goes on, the rules of check over each interval,
 * metrics and pages over HTTP. It owns how these are put together; it knows no command line.
 */
#ifndef MEMWHY_SERVE_SERVE_H
#define MEMWHY_SERVE_SERVE_H

#include "record/session.h"
#include "serve/blackbox.h"

struct serve_config {
	const char *listen; /* see listen.h */
	const char *auth;   /* file of users, NULL: everybody may ask */
	u64 max_series;
	u64 interval_ns; /* between reports of findings */
	u64 for_ns;      /* 0: until told to end */
	struct capture_options capture;
	const char *scope_text;
	struct blackbox_config box;
	bool quiet;                                    /* no lines on standard output */
	const char *push, *push_labels, *push_headers; /* see push_to.h; NULL: none */
	bool profiles;                                 /* made on demand, see profiler.h */
};

/* Called at SIGHUP. What `load` gives points to words that live until the next load, or until the
 * next `taken` where `taken` follows: it was found good, and is used. */
struct serve_reload {
	int (*load)(void *arg, struct serve_config *ret, struct err *err);
	void (*taken)(void *arg);
	void *arg;
};

/* cfg stays as it is meanwhile. A failed reload is reported, and everything stays as it was. */
int serve_run(const struct serve_config *cfg, const struct serve_reload *reload,
	struct session_result *ret, struct err *err);

#endif
