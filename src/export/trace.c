/* See trace.h. */
#include "export/trace.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "export/proto.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK = 58,
	PACKET_TRACK = 60,
};
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDED = 2 };
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum { REALTIME = 1, MONOTONIC = 3 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT_NAME = 6,
};
enum {
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_DOUBLE = 44,
	EVENT_CALLSTACK = 56,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum {
	DATA_FUNCTION_NAME = 5,
	DATA_FRAME = 6,
	DATA_CALLSTACK = 7,
	DATA_BUILD_ID = 16,
	DATA_MAPPING_PATH = 17,
	DATA_SOURCE_PATH = 18,
	DATA_MAPPING = 19,
};
enum { TEXT_IID = 1, TEXT_STR = 2 };
enum {
	FRAME_IID = 1,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_PC = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6
};
enum { STACK_IID = 1, STACK_FRAME = 2 };
enum { MAPPING_IID = 1, MAPPING_BUILD_ID = 2, MAPPING_PATH = 7 };

#define SEQUENCE 1
#define LANES 8 /* tracks of one source and thread */

enum track_kind { OF_PROCESS = 1, OF_THREAD, OF_SOURCE, OF_COUNTER };

struct track_key {
	u64 of, name; /* name: hash */
	u64 kind, lane;
};

struct track {
	u64 uuid;
	u64 end_ns; /* of its last slice */
};

struct text_key {
	XXH128_hash_t hash;
	u64 field;
};

struct line_key {
	u32 frame, line;
};

void trace_init(struct trace *t, const struct stream *names)
{
	*t = (struct trace){.names = names};
	groups_init(&t->tracks, sizeof(struct track_key), sizeof(struct track));
	groups_init(&t->texts, sizeof(struct text_key), sizeof(u64));
	groups_init(&t->frames, sizeof(struct line_key), sizeof(u64));
	groups_init(&t->stacks, sizeof(u32), sizeof(u64));
}

void trace_free(struct trace *t)
{
	groups_free(&t->tracks);
	groups_free(&t->texts);
	groups_free(&t->frames);
	groups_free(&t->stacks);
	str_free(&t->out);
}

static void packet_end(struct trace *t, struct str *packet)
{
	proto_u64(packet, PACKET_SEQUENCE, SEQUENCE);
	proto_message(&t->out, TRACE_PACKET, packet);
	t->failed |= t->out.failed;
	str_free(packet);
}

static void clock_add(struct str *snapshot, u64 id, u64 time_ns)
{
	_cleanup_str_ struct str clock = {};

	proto_u64(&clock, CLOCK_ID, id);
	proto_u64(&clock, CLOCK_TIME, time_ns);
	proto_message(snapshot, SNAPSHOT_CLOCK, &clock);
}

void trace_clock(struct trace *t, u64 mono_ns, u64 wall_ns)
{
	_cleanup_str_ struct str snapshot = {};
	struct str packet = {};

	clock_add(&snapshot, MONOTONIC, mono_ns);
	if (wall_ns)
		clock_add(&snapshot, REALTIME, wall_ns);
	proto_u64(&snapshot, SNAPSHOT_PRIMARY, MONOTONIC);
	proto_message(&packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
	packet_end(t, &packet);
}

/* NULL: memory was short. *ret_new: it is to be described. */
static struct track *track_get(struct trace *t, const struct track_key *key, bool *ret_new)
{
	struct track *track = groups_get(&t->tracks, key);

	*ret_new = track && !track->uuid;
	if (*ret_new)
		track->uuid = t->tracks.n;
	t->failed |= !track;
	return track;
}

static void track_put(
	struct trace *t, u64 uuid, u64 parent, const char *name, u32 field, const struct str *of)
{
	_cleanup_str_ struct str track = {};
	struct str packet = {};

	proto_u64(&track, TRACK_UUID, uuid);
	if (parent)
		proto_u64(&track, TRACK_PARENT, parent);
	if (name)
		proto_text(&track, TRACK_NAME, name);
	if (field)
		proto_message(&track, field, of);
	proto_message(&packet, PACKET_TRACK, &track);
	packet_end(t, &packet);
}

static u64 process_track(struct trace *t, u32 tgid)
{
	const struct track_key key = {.of = tgid, .kind = OF_PROCESS};
	_cleanup_str_ struct str process = {};
	bool is_new;
	struct track *track = track_get(t, &key, &is_new);

	if (!is_new)
		return track ? track->uuid : 0;
	proto_u64(&process, PROCESS_PID, tgid);
	proto_text(&process, PROCESS_NAME, stream_comm(t->names, tgid, 0));
	track_put(t, track->uuid, 0, NULL, TRACK_PROCESS, &process);
	return track->uuid;
}

static u64 thread_track(struct trace *t, u32 tgid, u32 tid)
{
	const struct track_key key = {.of = (u64)tgid << 32 | tid, .kind = OF_THREAD};
	_cleanup_str_ struct str thread = {};
	struct track *track;
	bool is_new;
	u64 uuid;

	process_track(t, tgid);
	track = track_get(t, &key, &is_new);
	if (!is_new)
		return track ? track->uuid : 0;
	uuid = track->uuid;
	proto_u64(&thread, THREAD_PID, tgid);
	proto_u64(&thread, THREAD_TID, tid);
	proto_text(&thread, THREAD_NAME, stream_comm(t->names, tgid, tid));
	track_put(t, uuid, 0, NULL, TRACK_THREAD, &thread);
	return uuid;
}

/* The track of a source and thread on which nothing overlaps the slice; 0: there is none. */
static u64 lane_find(struct trace *t, const struct trace_slice *s, u64 end_ns)
{
	struct track_key key = {.of = (u64)s->tgid << 32 | s->tid,
		.name = XXH3_64bits(s->source, strlen(s->source)),
		.kind = OF_SOURCE};
	u64 parent = thread_track(t, s->tgid, s->tid);

	for (; key.lane < LANES; key.lane++) {
		bool is_new;
		struct track *track = track_get(t, &key, &is_new);

		if (!track)
			return 0;
		if (is_new)
			track_put(t, track->uuid, parent, s->source, 0, NULL);
		if (s->start_ns < track->end_ns)
			continue;
		track->end_ns = end_ns;
		return track->uuid;
	}
	t->left_out++;
	return 0;
}

/* The number of a text; one that is new is described. 0: it is empty. */
static u64 text_iid(struct trace *t, struct str *data, u32 field, const char *text)
{
	struct text_key key = {.field = field};
	_cleanup_str_ struct str s = {};
	u64 *iid;

	if (!text || !*text)
		return 0;
	key.hash = XXH3_128bits(text, strlen(text));
	iid = groups_get(&t->texts, &key);
	if (!iid) {
		t->failed = true;
		return 0;
	}
	if (*iid)
		return *iid;
	*iid = t->texts.n;
	proto_u64(&s, TEXT_IID, *iid);
	proto_text(&s, TEXT_STR, text);
	proto_message(data, field, &s);
	return *iid;
}

static u64 build_id_iid(struct trace *t, struct str *data, u32 path)
{
	const struct rec_module *m = path ? stream_module(t->names, path) : NULL;
	char hex[2 * MODULE_BUILD_ID + 1] = "";

	for (u32 i = 0; m && i < m->length; i++)
		snprintf(hex + 2 * i, 3, "%02x", m->build_id[i]);
	return text_iid(t, data, DATA_BUILD_ID, hex);
}

static u64 mapping_iid(struct trace *t, struct str *data, const char *path, u32 path_id)
{
	struct text_key key = {.field = DATA_MAPPING};
	u64 path_iid = text_iid(t, data, DATA_MAPPING_PATH, path);
	u64 build_id = build_id_iid(t, data, path_id), *iid;
	_cleanup_str_ struct str s = {};

	key.hash = XXH3_128bits(path, strlen(path));
	iid = groups_get(&t->texts, &key);
	if (!iid) {
		t->failed = true;
		return 0;
	}
	if (*iid)
		return *iid;
	*iid = t->texts.n;
	proto_u64(&s, MAPPING_IID, *iid);
	if (build_id)
		proto_u64(&s, MAPPING_BUILD_ID, build_id);
	proto_u64(&s, MAPPING_PATH, path_iid);
	proto_message(data, DATA_MAPPING, &s);
	return *iid;
}

struct walk {
	struct trace *t;
	struct str *data;
	u32 frame, line;
	VEC(u64) iids; /* innermost first */
};

static void frame_describe(struct walk *w, u64 iid, const struct stack_line *l)
{
	const struct rec_frame *f = stream_frame(w->t->names, w->frame);
	const char *module = l->module ? l->module : l->kernel ? "[kernel]" : "[unknown]";
	const char *name = l->function ? l->function : l->kernel ? NO_SYMBOL : NULL;
	u64 function = text_iid(w->t, w->data, DATA_FUNCTION_NAME, name);
	u64 mapping = mapping_iid(w->t, w->data, module, f ? f->module : 0);
	u64 source = text_iid(w->t, w->data, DATA_SOURCE_PATH, l->file);
	_cleanup_str_ struct str s = {};

	proto_u64(&s, FRAME_IID, iid);
	if (function)
		proto_u64(&s, FRAME_FUNCTION, function);
	proto_u64(&s, FRAME_MAPPING, mapping);
	if (f && !l->kernel)
		proto_u64(&s, FRAME_PC, f->offset);
	if (source)
		proto_u64(&s, FRAME_SOURCE, source);
	if (source && l->line)
		proto_u64(&s, FRAME_LINE, l->line);
	proto_message(w->data, DATA_FRAME, &s);
}

static void trace_line_take(void *arg, const struct stack_line *l)
{
	struct walk *w = arg;
	const struct line_key key = {w->frame, w->line++};
	u64 *iid = groups_get(&w->t->frames, &key);

	if (!iid) {
		w->t->failed = true;
		return;
	}
	if (!*iid) {
		*iid = w->t->frames.n;
		frame_describe(w, *iid, l);
	}
	w->t->failed |= vec_push(&w->iids, *iid) != 0;
}

static void trace_frame_take(void *arg, u32 frame)
{
	struct walk *w = arg;

	w->frame = frame;
	w->line = 0;
	frame_each(w->t->names, frame, trace_line_take, w);
}

/* Describes a stack, once. False: it is not known. */
static bool stack_describe(struct trace *t, u32 stack, struct str *data)
{
	struct walk w = {.t = t, .data = data};
	_cleanup_str_ struct str s = {};
	u64 *known;

	if (!stack || !stream_stack(t->names, stack))
		return false;
	known = groups_get(&t->stacks, &stack);
	if (!known || *known) {
		t->failed |= !known;
		return known != NULL;
	}
	*known = 1;
	stack_each_frame(t->names, stack, trace_frame_take, &w);
	proto_u64(&s, STACK_IID, stack);
	for (size_t i = w.iids.n; i-- > 0;)
		proto_u64(&s, STACK_FRAME, w.iids.v[i]);
	proto_message(data, DATA_CALLSTACK, &s);
	vec_free(&w.iids);
	return true;
}

/* stack 0: none; name NULL: none. */
static void event_put(
	struct trace *t, u64 type, u64 track, u64 time_ns, const char *name, u32 stack)
{
	_cleanup_str_ struct str event = {}, data = {};
	struct str packet = {};
	bool has_stack = stack_describe(t, stack, &data);

	proto_u64(&event, EVENT_TYPE, type);
	proto_u64(&event, EVENT_TRACK, track);
	if (name)
		proto_text(&event, EVENT_NAME, name);
	if (has_stack)
		proto_u64(&event, EVENT_CALLSTACK, stack);
	proto_u64(&packet, PACKET_TIMESTAMP, time_ns);
	proto_u64(&packet, PACKET_CLOCK, MONOTONIC);
	if (data.len)
		proto_message(&packet, PACKET_INTERNED_DATA, &data);
	if (has_stack)
		proto_u64(&packet, PACKET_SEQUENCE_FLAGS,
			SEQUENCE_NEEDED | (t->stacks.n == 1 && data.len ? SEQUENCE_CLEARED : 0));
	proto_message(&packet, PACKET_TRACK_EVENT, &event);
	packet_end(t, &packet);
}

void trace_slice(struct trace *t, const struct trace_slice *s, const struct trace_step *steps,
	size_t n_steps)
{
	u64 end = MAX(s->start_ns, s->end_ns), at = s->start_ns;
	u64 track = lane_find(t, s, end);

	if (!track)
		return;
	event_put(t, SLICE_BEGIN, track, s->start_ns, s->name, s->stack);
	for (size_t i = 0; i < n_steps; i++) {
		u64 from = MIN(MAX(steps[i].start_ns, at), end);

		at = MIN(MAX(steps[i].end_ns, from), end);
		event_put(t, SLICE_BEGIN, track, from, steps[i].name, 0);
		event_put(t, SLICE_END, track, at, NULL, 0);
	}
	event_put(t, SLICE_END, track, end, NULL, 0);
}

void trace_instant(struct trace *t, const struct trace_slice *s)
{
	u64 track = lane_find(t, s, s->start_ns);

	if (track)
		event_put(t, INSTANT, track, s->start_ns, s->name, s->stack);
}

static u64 counter_track(struct trace *t, const struct trace_counter *c)
{
	const struct track_key key = {
		.of = c->tgid,
		.name = XXH3_64bits(c->name, strlen(c->name)),
		.kind = OF_COUNTER,
		.lane = c->id,
	};
	u64 parent = c->tgid ? process_track(t, c->tgid) : 0;
	_cleanup_str_ struct str counter = {};
	bool is_new;
	struct track *track = track_get(t, &key, &is_new);

	if (!is_new)
		return track ? track->uuid : 0;
	proto_text(&counter, COUNTER_UNIT_NAME, c->unit);
	track_put(t, track->uuid, parent, c->name, TRACK_COUNTER, &counter);
	return track->uuid;
}

void trace_count(struct trace *t, const struct trace_counter *c, u64 time_ns, double value)
{
	u64 track = counter_track(t, c), bits;
	_cleanup_str_ struct str event = {};
	struct str packet = {};

	if (!track)
		return;
	memcpy(&bits, &value, sizeof(bits));
	proto_u64(&event, EVENT_TYPE, COUNTER);
	proto_u64(&event, EVENT_TRACK, track);
	proto_fixed64(&event, EVENT_DOUBLE, bits);
	proto_u64(&packet, PACKET_TIMESTAMP, time_ns);
	proto_u64(&packet, PACKET_CLOCK, MONOTONIC);
	proto_message(&packet, PACKET_TRACK_EVENT, &event);
	packet_end(t, &packet);
}
