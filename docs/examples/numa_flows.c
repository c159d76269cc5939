/*
 * An analysis of one's own over who touched what: reads a recording of memwhy numa (or a perf.data
 * file), walks the flow of each object and of each thread, and prints a line for each:
 *
 *	object NUMBER ACCESSES THREADS HANDOVERS NAME
 *	thread TID ACCESSES OBJECTS REMOTE NAME
 *
 * HANDOVERS: how often another thread than the one before touched the object. An object with one
 * was made by a thread and used by another; with many, it is shared.
 *
 *	make build/docs/examples/numa_flows
 *	memwhy numa --record run.mw -- ./job
 *	build/docs/examples/numa_flows run.mw
 *
 * The same rule builds any other file of this folder. What the calls do is in their headers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "probes/numa/feed/numa_feed.h"
#include "probes/numa/judge/numa_words.h"
#include "probes/probe.h"
#include "record/pipeline.h"

/* Records go to two places: the stream has the names, the feed makes objects and flows. */
struct analysis {
	struct sink sink; /* first: the records come here */
	struct stream stream;
	struct numa_feed *feed;
};

static int put(struct sink *sink, const struct rec *r)
{
	struct analysis *a = (struct analysis *)sink;
	int rc = stream_feed(&a->stream, r);

	return rc ? rc : numa_feed_take(a->feed, r);
}

/* Names come from what was recorded, and may hold anything: escaped for the terminal. */
static void print_name(const char *name)
{
	_cleanup_str_ struct str s = {};

	str_add_escaped(&s, name);
	puts(str_get(&s));
}

static void object_print(struct analysis *a, struct report *names, u32 object)
{
	struct numa_flow flow = numa_flow_object(a->feed, object);
	u8 *seen = calloc(numa_threads(a->feed) + 1, 1);
	u32 last = NUMA_NONE, threads = 0, handovers = 0;
	const struct numa_access *access;
	struct numa_site site;
	struct object o;
	u64 n = 0;

	if (!seen || !numa_object(a->feed, object, &o)) { /* never touched */
		free(seen);
		return;
	}
	while ((access = numa_flow_next(&flow))) {
		handovers += n && access->thread != last;
		threads += !seen[access->thread];
		seen[access->thread] = 1;
		last = access->thread;
		n++;
	}
	site = numa_site_of(&o, object, true);
	printf("object %u %llu %u %u ", object, n, threads, handovers);
	print_name(numa_site_name(names, a->feed, &site));
	free(seen);
}

static void thread_print(struct analysis *a, u32 thread)
{
	const struct numa_thread *t = numa_thread(a->feed, thread);
	struct numa_flow flow = numa_flow_thread(a->feed, thread);
	u8 *seen = calloc(numa_objects(a->feed) + 1, 1);
	const struct numa_access *access;
	u64 n = 0, remote = 0;
	u32 objects = 0;

	while (seen && (access = numa_flow_next(&flow))) {
		if (access->object != NUMA_NONE) { /* else access->why says why */
			objects += !seen[access->object];
			seen[access->object] = 1;
		}
		remote += numa_access_remote(access) == 1;
		n++;
	}
	if (n) {
		printf("thread %u %llu %u %llu ", t->tid, n, objects, remote);
		print_name(stream_comm(&a->stream, t->tgid, t->tid));
	}
	free(seen);
}

static int analyse(struct analysis *a, const char *path)
{
	struct err err = {};
	struct report names; /* of texts that numa_words.h makes */
	int fd, rc = replay_open(path, &fd, &err);

	if (!rc) {
		rc = replay_fd(
			fd, path, probe_find("numa"), &a->sink, &(struct replay_takers){}, &err);
		close(fd);
	}
	if (rc)
		fprintf(stderr, "%s\n", err.msg);
	if (rc && rc != -ENODATA) /* that is a damaged file: there is what came before */
		return 2;
	if (numa_feed_finish(a->feed))
		return 5;
	report_init(&names, "numa", &a->stream);
	for (u32 i = 0; i < numa_objects(a->feed); i++)
		object_print(a, &names, i);
	for (u32 i = 0; i < numa_threads(a->feed); i++)
		thread_print(a, i);
	report_destroy(&names);
	return rc ? 4 : 0;
}

int main(int argc, char **argv)
{
	struct analysis a = {.sink.put = put};
	int status = 5;

	if (argc != 2) {
		fprintf(stderr, "usage: numa_flows FILE\n");
		return 2;
	}
	if (!stream_init(&a.stream) && !numa_feed_new(&a.feed))
		status = analyse(&a, argv[1]);
	numa_feed_free(a.feed);
	stream_destroy(&a.stream);
	return status;
}
