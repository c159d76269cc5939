/*
 * Where profiles are pushed to, and the request that does it: what users write, and text over HTTP.
 * Pure text, but for names of hosts, which are looked for in /etc/hosts and nowhere else. The
 * request is that of Pyroscope's /ingest, with a profile of pprof as its body.
 */
#ifndef MEMWHY_SERVE_PUSH_TO_H
#define MEMWHY_SERVE_PUSH_TO_H

#include <sys/socket.h>

#include "base/err.h"
#include "base/str.h"

struct push_to {
	struct sockaddr_storage sa;
	socklen_t n;
	char host[300];     /* as in the URL, with its port: for Host */
	char path[200];     /* before "/ingest"; "" */
	char labels[800];   /* "hostname=a,zone=b" */
	char headers[4096]; /* more of them, each with its CRLF */
};

/* "http://HOST[:PORT][/PATH]". hosts: the text of /etc/hosts. */
int push_url_parse(const char *url, const char *hosts, struct push_to *ret, struct err *err);
/* "zone=b,team=c", after hostname; NULL: no more. */
int push_labels_parse(const char *text, const char *hostname, struct push_to *ret, struct err *err);
/* Lines "Name: value" of a file. */
int push_headers_parse(const char *text, const char *file, struct push_to *ret, struct err *err);
/* The request up to its body. name: "memwhy.faults". */
void push_request(const struct push_to *to, const char *name, u64 from_s, u64 until_s, size_t bytes,
	struct str *out);
/* The status of what begins as an answer; 0: it is none. */
int push_status(const char *answer);

#endif
