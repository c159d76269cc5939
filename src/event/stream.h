/*
 * What is known about a stream of records so far: its host, interval, methods, losses, cost and
 * the names behind ids. The same live and from a file. It is fed every record and keeps only the
 * meta records; it does not know what the probes' records mean.
 */
#ifndef MEMWHY_EVENT_STREAM_H
#define MEMWHY_EVENT_STREAM_H

#include "base/arena.h"
#include "base/vec.h"
#include "event/meta.h"

struct stream_names; /* hash tables from id to name */

/* Counts of the interval; _before: of all earlier ones. */
struct stream_loss {
	char probe[PROBE_NAME_LEN];
	u64 seen, delivered, lost;
	u64 seen_before, delivered_before, lost_before;
	char reason[64];
};

struct stream_method {
	char probe[PROBE_NAME_LEN];
	char data[48];
	char method[64];
	char missing[160];
	char needs[64];
	bool refused; /* for want of rights: a part of it, where there is a method */
};

/* Is there something that was not obtained? */
static inline bool stream_method_lacks(const struct stream_method *m)
{
	return !m->method[0] || m->refused;
}

struct stream_note {
	char probe[PROBE_NAME_LEN];
	u16 level; /* enum note_level */
	const char *text;
};

struct stream {
	struct rec_host host;
	struct rec_session session;
	struct rec_cost cost;
	struct rec_exit exit; /* h.kind 0: no command was run, or it runs on */
	/*
	 * The interval being reported. It begins at the last REC_SESSION (without one: at the first
	 * record that has a time) or at the last stream_interval_begin(), and ends at the latest
	 * record so far; REC_TICK and REC_END set its end to their own time.
	 */
	u64 first_ns, last_ns;
	u64 opened_ns; /* the first REC_SESSION: where the cost begins; 0: there was none */
	u64 part_from_ns, part_to_ns; /* see stream_part(); 0: no bound */
	bool ended;                   /* REC_END was seen: the recording is complete */
	bool has_session;
	/* In the order of the first record of each; at most 1024 of each, more are left out. */
	VEC(struct stream_method) methods;
	VEC(struct stream_loss) losses;
	VEC(struct stream_note) notes;
	/* Set by the reader of a damaged file: what is missing, in words. */
	char damage[160];
	struct arena arena;
	struct stream_names *names;
};

int stream_init(struct stream *s);
void stream_destroy(struct stream *s);
/*
 * 0, or -ENOMEM; records of other kinds and malformed meta records are ignored. Nothing in the
 * record is taken on trust but that r->size bytes are there, 8-aligned. A later record of the
 * same key (string, cgroup, stack, frame: id; symbol: frame; module: path; task: tgid and tid;
 * enum: set and value; method: probe and data; loss: probe; note: probe and text) replaces the
 * earlier one.
 */
int stream_feed(struct stream *s, const struct rec *r);
/* A stream of what another one says of its recording (host, interval, losses, cost, how it ended,
 * what is damaged), without its names, methods and notes. -ENOMEM: ret is untouched. */
int stream_facts(const struct stream *s, struct stream *ret);
/* Only a part of the recording is looked at: no interval reaches beyond these times. 0: no bound.
 */
void stream_part(struct stream *s, u64 from_ns, u64 to_ns);
/* Does it give a name to a number? */
bool stream_is_name(const struct rec *r);
/* The same of a record that gives a name to a number; others are ignored, and so are times. */
int stream_feed_name(struct stream *s, const struct rec *r);
struct sink; /* event/sink.h */
/* Sends what gives names to numbers, except tasks, with the methods and the notes: for a recording
 * that begins long after these were sent. */
int stream_send_names(const struct stream *s, struct sink *to);
/* After the report of an interval (-i): what is fed from now on belongs to the next one. */
void stream_interval_begin(struct stream *s);
/* Nothing that was fed so far is in a report any more: tasks that have ended (TASK_OVER), and what
 * others were named before, are forgotten. */
void stream_forget(struct stream *s);

/*
 * Names. Every pointer, and what it points to, lives unchanged as long as the stream, that of a
 * task until stream_forget(); NULL where an id is not known. A stack's n and a symbol's n (at least
 * 1) are within the record's size.
 */
const char *stream_string(const struct stream *s, u32 id);
const struct rec_task *stream_task(const struct stream *s, u32 tgid, u32 tid);
/* All that are named, in no order. */
typedef void (*stream_task_fn)(void *arg, const struct rec_task *t);
void stream_each_task(const struct stream *s, stream_task_fn fn, void *arg);
const char *stream_comm(const struct stream *s, u32 tgid, u32 tid); /* "?" when unknown */
const char *stream_cgroup(const struct stream *s, u64 id);
const struct rec_stack *stream_stack(const struct stream *s, u32 id);
const struct rec_frame *stream_frame(const struct stream *s, u32 id);
const struct rec_symbol *stream_symbol(const struct stream *s, u32 frame);
/* path: the string that is a frame's module. The length of the build id is within its room. */
const struct rec_module *stream_module(const struct stream *s, u32 path);
const char *stream_enum(const struct stream *s, const char *set, u64 value);
/* Calls fn for each name of a set, in the order they were sent. */
void stream_enum_each(const struct stream *s, const char *set,
	void (*fn)(void *arg, u64 value, const char *name), void *arg);

u64 stream_interval_ns(const struct stream *s);
/* Nanoseconds since 1970 at the start of the interval; 0: not known. */
u64 stream_wall_ns(const struct stream *s);
u64 stream_lost(const struct stream *s); /* over all probes, in the interval */
/* Over all probes, since the session began. */
u64 stream_delivered(const struct stream *s);
bool stream_probe_active(const struct stream *s, const char *probe); /* any method in use */
/* Is there a method in use for this data of the probe? */
bool stream_knows(const struct stream *s, const char *probe, const char *data);

#endif
