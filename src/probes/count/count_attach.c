/* The programs of the events: attached, counting from one moment on, and told. See count_state.h.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "probes/count/count_opts.h"
#include "probes/count/count_state.h"
#include "sys/calls/syscalls.h"
#include "sys/kernel/print_fmt.h"
#include "sys/rights.h"

/* Frames of the kernel's stack between an event and our program. */
#define RAW_FRAMES 2 /* the program, bpf_trace_run*() */

static int source_open(const struct capture *c, struct attached *a, struct event *e,
	struct count_config *config, u8 how)
{
	struct clone_source src = {a, "count", "config", sizeof(*config)};
	struct clone_event clone = {.how = how,
		.returns = e->returns,
		.name = e->what,
		.number = e->number,
		.hz = e->hz};
	const struct state *s = c->state;
	int rc = 0;

	config->skip = how == CLONE_RAW ? RAW_FRAMES : 0;
	config->returns = how == CLONE_TRACEPOINT || how == CLONE_KPROBE || how == CLONE_UPROBE;
	if (how == CLONE_TRACEPOINT)
		rc = tracepoint_id_read(s->events.dir, e->category, e->what, &clone.number);
	return rc ? rc : clone_attach(&src, &clone, config);
}

/* Function of the kernel: a kprobe or, where there are none, fentry. */
static int function_attach(
	struct capture *c, struct attached *a, struct event *e, u32 i, struct err *err)
{
	struct state *s = c->state;
	struct bound fentry = {};
	struct err unused = {};
	int kprobe = source_open(c, a, e, &s->bound[i].config, CLONE_KPROBE), rc = -EOPNOTSUPP;

	if (!kprobe)
		return 0;
	if (!e->number && !e->returns) {
		e->how = CLONE_FENTRY;
		rc = count_bind(c, i, &fentry, &unused);
		rc = rc ? rc : source_open(c, a, e, &fentry.config, CLONE_FENTRY);
	}
	if (!rc)
		return 0;
	err_set(err, kprobe == -EPERM || kprobe == -EACCES ? -EPERM : -EOPNOTSUPP,
		"%.80s cannot be counted here: kprobe: %s%s; fentry: %s", e->name,
		strerror(-kprobe),
		kprobe == -ENOENT && access("/sys/bus/event_source/devices/kprobe", F_OK)
			? " (no kprobes here)"
			: "",
		e->returns || e->number ? "only at the start of a function" : strerror(-rc));
	return err ? err->code : kprobe;
}

/* Names of events that are not those of the calls: of their functions in the kernel. */
static const struct {
	const char *event, *call;
} renamed[] = {{"newstat", "stat"}, {"newfstat", "fstat"}, {"newlstat", "lstat"},
	{"newuname", "uname"}, {"sendfile64", "sendfile"}, {"umount", "umount2"}};

int event_syscall(const struct event *e, bool *ret_enter)
{
	bool enter = !strncmp(e->what, "sys_enter_", 10);
	const char *name = e->what + (enter ? 10 : 9);

	if (strcmp(e->category, "syscalls") != 0 ||
		(!enter && strncmp(e->what, "sys_exit_", 9) != 0))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
		if (!strcmp(renamed[i].event, name))
			name = renamed[i].call;
	for (int n = 0; n < COUNT_SYSCALLS; n++) {
		const char *call = syscall_name(n);

		if (!call || strcmp(call, name) != 0)
			continue;
		*ret_enter = enter;
		return n;
	}
	return -ENOENT;
}

/* Mostly all events of the calls want the same: then they have the same program. */
static int call_program(struct state *s, const struct clone_source *src,
	const struct clone_event *clone, struct count_config *config)
{
	struct count_config wanted = *config;
	__auto_type last = &s->calls[config->by_call == COUNT_BY_ENTER];
	int rc;

	wanted.event = 0;
	if (last->prog && !memcmp(&last->config, &wanted, sizeof(wanted)))
		return last->prog - 1;
	if (last->prog)
		close(last->prog - 1);
	last->config = wanted;
	last->prog = clone_load(src, clone, &wanted) + 1;
	if (last->prog > 0)
		return last->prog - 1;
	rc = last->prog - 1;
	last->prog = 0;
	return rc;
}

static int call_attach(struct capture *c, struct attached *a, const struct event *e, u32 i)
{
	struct clone_source src = {a, "count", "config", sizeof(struct count_config)};
	struct clone_event clone = {.how = CLONE_CALLED};
	struct state *s = c->state;
	struct count_config *config = &s->bound[i].config;
	bool enter;
	int number =
		s->many_calls && attach_uses(a, COUNT_CALLS) ? event_syscall(e, &enter) : -ENOENT;
	int prog;
	u32 at;

	if (number < 0)
		return number;
	clone.name = enter ? "enters" : "exits";
	clone.number = (u64)number;
	config->returns = 1;
	config->by_call = enter ? COUNT_BY_ENTER : COUNT_BY_EXIT;
	at = COUNT_CALL_EVENT(config->by_call, (u32)number);
	if (bpf_map_update_elem(attach_map(a, "call_events"), &at, &i, BPF_ANY))
		return -errno;
	prog = call_program(s, &src, &clone, config);
	return prog < 0 ? prog : clone_put(&src, &clone, prog);
}

static void call_programs_close(struct state *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->calls); i++) {
		if (s->calls[i].prog)
			close(s->calls[i].prog - 1); /* the arrays hold them */
		s->calls[i].prog = 0;
	}
}

static int event_attach(
	struct capture *c, struct attached *a, struct event *e, u32 i, struct err *err)
{
	struct state *s = c->state;
	struct bound *b = &s->bound[i];
	int rc = -ENOENT;

	if (e->how == CLONE_KPROBE)
		return function_attach(c, a, e, i, err);
	b->called = !call_attach(c, a, e, i);
	if (b->called)
		return 0;
	b->config.by_call = COUNT_BY_CALL_NOT;
	if (e->how == CLONE_TRACEPOINT && b->plain && strcmp(e->category, "syscalls") != 0 &&
		!kbtf_raw_is_preemptible()) {
		rc = source_open(c, a, e, &b->config, CLONE_RAW);
		e->how = rc ? e->how : CLONE_RAW;
	}
	if (rc)
		rc = source_open(c, a, e, &b->config, e->how);
	if (!rc)
		return 0;
	err_errno(err, rc, "%.120s cannot be counted here", e->name);
	if (rc == -EPERM || rc == -EACCES)
		return rights_hint(err);
	if (err)
		err->code = -EOPNOTSUPP;
	return -EOPNOTSUPP;
}

/* Was it named itself, not by a glob? */
static bool event_is_named(const struct capture *c, const struct event *e)
{
	for (u32 i = 0; i < c->opt.n_operands; i++)
		if (!strcmp(c->opt.operands[i], e->name))
			return true;
	return false;
}

/* Tells all programs at once. */
static int counting_set(struct attached *a, u32 on)
{
	u32 zero = 0;

	if (bpf_map_update_elem(attach_map(a, "counting"), &zero, &on, BPF_ANY))
		return -errno;
	attach_counting(a, on);
	return 0;
}

void count_stop(struct capture *c, struct attached *a)
{
	(void)c;
	counting_set(a, 0);
}

struct name_sender {
	struct capture *c;
	char set[24];
};

static int name_send(void *arg, u64 value, const char *name)
{
	struct name_sender *n = arg;

	return capture_enum(n->c, n->set, value, name);
}

/* Sends the names of a field's values, where the kernel has some; returns how it is shown. */
static u8 field_names_tell(
	struct capture *c, const struct event *e, const char *field, u8 show, const char set[24])
{
	static const u8 shows[] = {
		[PRINT_FMT_FLAGS] = COUNT_SHOW_FLAGS, [PRINT_FMT_SYMBOLIC] = COUNT_SHOW_NAMED};
	const struct state *s = c->state;
	struct name_sender sender = {.c = c};
	int kind;

	if (show == COUNT_SHOW_TEXT || show == COUNT_SHOW_SYMBOL)
		return show;
	memcpy(sender.set, set, sizeof(sender.set));
	kind = event_names(&s->events, e, field, name_send, &sender);
	if (kind <= PRINT_FMT_NONE)
		return show;
	return shows[kind];
}

static int event_tell(struct capture *c, const struct event *e, u32 i, u64 time_ns)
{
	const struct state *s = c->state;
	const struct bound *b = &s->bound[i];
	const struct count_opts *o = OPTS_OF(struct count_opts, c->opts);
	const char *sum = o->sum ? o->sum : o->hist;
	struct count_event r = REC_INIT(struct count_event, REC_COUNT_EVENT, time_ns);
	char *set;

	r.event = i;
	r.name = names_string(c->names, e->name);
	r.sum = names_string(c->names, sum ? sum : "");
	r.hist = names_string(c->names, o->hist ? o->hist : "");
	r.sum_show = b->config.sum.is_signed ? COUNT_SHOW_SIGNED : b->sum_show;
	for (u32 k = 0; k < s->keys.n; k++) {
		if (s->keys.keys[k].from != COUNT_FIELD)
			continue;
		set = r.set_1 + sizeof(r.set_1) * r.n_fields;
		snprintf(set, sizeof(r.set_1), "count.%u.%u", i, k);
		r.fields[r.n_fields] = names_string(c->names, s->keys.keys[k].name);
		r.show[r.n_fields++] =
			field_names_tell(c, e, s->keys.keys[k].name, b->show[k], set);
	}
	return capture_emit(c, &r.h);
}

/* One line for all of them: how many by which method. */
static void method_tell(struct capture *c)
{
	static const char *const names[] = {"raw tracepoints", "tracepoints", "software events",
		"kprobes", "fentry", "uprobes", "system calls by number"};
	const struct state *s = c->state;
	_cleanup_str_ struct str text = {};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (s->attached[i])
			str_addf(&text, "%s%u %s", text.len ? ", " : "", s->attached[i], names[i]);
	capture_method(c, "events", str_get(&text), NULL);
	if (s->left_out)
		capture_note(c, NOTE_NOT_CHECKED, "%u events are not counted, the first: %s",
			s->left_out, s->why);
}

static int events_attach(struct capture *c, struct attached *a, struct err *err)
{
	struct state *s = c->state;
	u32 n = 0;

	for (u32 i = 0; i < s->events.list.n; i++) {
		struct event *e = &s->events.list.v[i];
		struct err why = {};
		int rc = capture_interrupted() ? -EINTR : event_attach(c, a, e, i, &why);

		if (!rc) {
			s->attached[s->bound[i].called ? CLONE_CALLED : e->how]++;
			s->bound[i].attached = true;
			n++;
			continue;
		}
		if (rc == -EPERM || rc == -EINTR || event_is_named(c, e) ||
			(i + 1 == s->events.list.n && !n)) {
			*err = why;
			return rc;
		}
		if (!s->left_out++)
			snprintf(s->why, sizeof(s->why), "%.159s", why.msg);
	}
	return 0;
}

int count_attach(struct capture *c, struct attached *a, struct err *err)
{
	struct state *s = c->state;
	u64 now;
	int rc;

	attach_pause(a); /* no call is to pay for what is not counted yet */
	rc = events_attach(c, a, err);
	call_programs_close(s);
	if (rc)
		return rc;
	method_tell(c);
	rc = attach_resume(a);
	if (rc)
		return err_errno(err, rc, "%s", COUNT_CALLS);
	rc = counting_set(a, 1);
	now = clock_mono_ns();
	for (u32 i = 0; i < s->events.list.n && !rc; i++)
		if (s->bound[i].attached)
			rc = event_tell(c, &s->events.list.v[i], i, now);
	return rc;
}

/* Each kind of event on one that is there on every kernel, and seldom happens. */
void count_survey(struct capture *c, struct attached *a)
{
	static const struct {
		const char *data, *operand, *method, *needs;
	} kinds_of[] = {
		{"any tracepoint", "oom:mark_victim", "raw or classic tracepoint", "tracefs"},
		{"software events", "major-faults", "perf_event_open", "perf_event_open"},
		{"functions of programs", "u:/proc/self/exe:+0x40", "uprobe", "CONFIG_UPROBES"},
		{"functions of the kernel", "k:out_of_memory", "kprobe or fentry",
			"kprobes, or fentry and BTF"},
	};
	struct state *s = c->state;

	s->bound = calloc(ARRAY_SIZE(kinds_of), sizeof(*s->bound));
	for (u32 i = 0; s->bound && i < ARRAY_SIZE(kinds_of); i++) {
		struct err err = {};
		const char *why;
		int rc = a ? event_list_add(&s->events, kinds_of[i].operand, &err) : -EPERM;

		if (!rc) {
			u32 last = (u32)s->events.list.n - 1;

			s->bound[last].plain = true;
			s->bound[last].config.n_words = 1;
			rc = event_attach(c, a, &s->events.list.v[last], last, &err);
		}
		why = strstr(err.msg, "here: ");
		if (!a)
			capture_not_permitted(c, kinds_of[i].data);
		else if (rc)
			capture_refused(c, kinds_of[i].data, why ? why + 6 : err.msg, rc,
				kinds_of[i].needs);
		else
			capture_method(c, kinds_of[i].data, kinds_of[i].method, NULL);
	}
}
