/* See capture.h. */
#include "capture/capture.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/reader/reader.h"
#include "capture/unwind/sample_opener.h"
#include "capture/unwind/stack_samples.h"
#include "sys/rights.h"

void capture_close(struct capture *c)
{
	reader_close(c->reader);
	sample_opener_close(c->opener);
	mapping_cache_free(&c->mappings);
	table_batch_free(&c->batch);
	for (size_t i = 0; i < SHARED_MAPS; i++)
		if (c->shared[i])
			close(c->shared[i] - 1);
}

int capture_self_send(struct capture *c)
{
	int map = c->shared[SHARED_SELF] - 1;
	u32 zero = 0;

	return map < 0 ? 0 : bpf_map_update_elem(map, &zero, &c->self, BPF_ANY);
}

/* The place of a helper in the list, of a free one for 0; NULL: there is none. */
static u32 *self_find(const struct capture *c, u32 tgid)
{
	for (u32 i = 0; i < SELF_HELPERS; i++)
		if (c->self.tgid[i] == tgid)
			return (u32 *)&c->self.tgid[i];
	return NULL;
}

int capture_self_add(struct capture *c, u32 tgid)
{
	u32 *at = self_find(c, 0);

	if (!at)
		return -ENOSPC;
	*at = tgid;
	return capture_self_send(c);
}

void capture_self_remove(struct capture *c, u32 tgid)
{
	u32 *at = self_find(c, tgid);

	if (!at)
		return;
	*at = 0;
	capture_self_send(c);
}

/* They work for memwhy, and are not counted. */
int capture_reader_begin(struct capture *c)
{
	int rc;

	if (c->reader)
		return 0;
	rc = reader_open(&c->reader);
	for (u32 i = 0; i < READERS && !rc; i++)
		rc = capture_self_add(c, (u32)reader_pid(c->reader, i));
	return rc;
}

int capture_helpers_begin(struct capture *c)
{
	int rc = capture_reader_begin(c);

	if (rc || !stack_samples_wanted(&c->opt))
		return rc;
	rc = sample_opener_begin(&c->opener);
	return rc || !c->opener ? rc : capture_self_add(c, (u32)sample_opener_pid(c->opener));
}

int capture_pause(struct capture *c, bool pause)
{
	if (!pause && c->shared[SHARED_SELF])
		c->counting_ns = clock_mono_ns(); /* not after the first event */
	c->self.paused = pause;
	return capture_self_send(c);
}

bool capture_is_self(const struct capture *c, u32 tgid)
{
	if (c->opt.with_self || !tgid)
		return false;
	return tgid == (u32)getpid() || self_find(c, tgid);
}

int capture_emit(struct capture *c, struct rec *r)
{
	if (!r->time_ns)
		r->time_ns = clock_mono_ns();
	return c->sink->put(c->sink, r);
}

static void capture_text_copy(char *dst, size_t size, const char *text)
{
	snprintf(dst, size, "%s", text ? text : "");
}

int capture_method(struct capture *c, const char *data, const char *method, const char *missing)
{
	struct rec_method r = REC_INIT(struct rec_method, REC_METHOD, 0);

	capture_text_copy(r.probe, sizeof(r.probe), c->probe);
	capture_text_copy(r.data, sizeof(r.data), data);
	capture_text_copy(r.method, sizeof(r.method), method);
	capture_text_copy(r.missing, sizeof(r.missing), missing);
	return capture_emit(c, &r.h);
}

static int missing_send(
	struct capture *c, const char *data, const char *why, const char *needs, u16 flags)
{
	struct rec_method r = REC_INIT(struct rec_method, REC_METHOD, 0);

	r.h.flags = flags;
	capture_text_copy(r.probe, sizeof(r.probe), c->probe);
	capture_text_copy(r.data, sizeof(r.data), data);
	/* The reason gets what room the needs leave. */
	snprintf(r.missing, sizeof(r.missing), "%.*s%s%.60s", (int)(sizeof(r.missing) - 64), why,
		needs ? "; needs " : "", needs ? needs : "");
	capture_text_copy(r.needs, sizeof(r.needs), needs);
	return capture_emit(c, &r.h);
}

int capture_missing(struct capture *c, const char *data, const char *why, const char *needs)
{
	return missing_send(c, data, why, needs, 0);
}

int capture_refused(struct capture *c, const char *data, const char *why, int rc, const char *needs)
{
	bool denied = rc == -EPERM || rc == -EACCES;

	return missing_send(c, data, why, denied && !rights_are_root() ? rights_needs() : needs,
		denied ? METHOD_REFUSED : 0);
}

int capture_not_permitted(struct capture *c, const char *data)
{
	return missing_send(
		c, data, "not permitted to load BPF programs", rights_needs(), METHOD_REFUSED);
}

int capture_not_of_others(struct capture *c, const char *data, const char *method)
{
	struct rec_method r = REC_INIT(struct rec_method, REC_METHOD, 0);

	r.h.flags = METHOD_REFUSED;
	capture_text_copy(r.probe, sizeof(r.probe), c->probe);
	capture_text_copy(r.data, sizeof(r.data), data);
	capture_text_copy(r.method, sizeof(r.method), method);
	capture_text_copy(r.missing, sizeof(r.missing),
		"not of processes with another user or more rights; needs CAP_SYS_PTRACE");
	capture_text_copy(r.needs, sizeof(r.needs), "CAP_SYS_PTRACE");
	return capture_emit(c, &r.h);
}

int capture_note(struct capture *c, enum note_level level, const char *fmt, ...)
{
	struct rec_note r = REC_INIT(struct rec_note, REC_NOTE, 0);
	va_list ap;

	r.h.flags = (u16)level;
	capture_text_copy(r.probe, sizeof(r.probe), c->probe);
	va_start(ap, fmt);
	vsnprintf(r.text, sizeof(r.text), fmt, ap);
	va_end(ap);
	return capture_emit(c, &r.h);
}

int capture_loss(struct capture *c, u64 seen, u64 delivered, u64 lost, const char *reason)
{
	struct rec_loss r = REC_INIT(struct rec_loss, REC_LOSS, 0);

	capture_text_copy(r.probe, sizeof(r.probe), c->probe);
	capture_text_copy(r.reason, sizeof(r.reason), reason);
	r.seen = seen;
	r.delivered = delivered;
	r.lost = lost;
	return capture_emit(c, &r.h);
}

int capture_enum(struct capture *c, const char *set, u64 value, const char *name)
{
	struct rec_enum r = REC_INIT(struct rec_enum, REC_ENUM, 0);

	capture_text_copy(r.set, sizeof(r.set), set);
	capture_text_copy(r.name, sizeof(r.name), name);
	r.value = value;
	return capture_emit(c, &r.h);
}

bool capture_operand(const struct capture *c, const char *word)
{
	for (u32 i = 0; i < c->opt.n_operands; i++)
		if (!strcmp(c->opt.operands[i], word))
			return true;
	return false;
}

static bool capture_list_has(const char *list, const char *word)
{
	const char *p = list ? list : "";
	size_t n = strlen(word);

	for (; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == n && !strncmp(p, word, n))
			return true;
	return false;
}

bool capture_by(const struct capture *c, const char *key)
{
	return capture_list_has(c->opt.by, key);
}

bool capture_interrupted(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) ||
					    sigismember(&set, SIGHUP));
}

int capture_leaves(const struct capture *c)
{
	if (!c->leaves || !c->leaves(c->leaves_arg))
		return 0;
	return c->ending ? -EINTR : 1;
}

bool capture_names(const struct capture *c, const char *probe)
{
	return capture_list_has(c->opt.named, probe);
}

bool capture_named(const struct capture *c)
{
	return capture_names(c, c->probe);
}
