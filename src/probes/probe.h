/*
 * A probe: one source of records, and what its command shows of them. A probe is one folder and one
 * row in probes.def; from the row come its command, its `doctor` line, its part of the log's schema
 * and its documentation check.
 *
 * A probe describes itself and has no loop. What all probes do alike (attach, drain, count losses,
 * sample) is in probes/probe_run.c.
 */
#ifndef MEMWHY_PROBES_PROBE_H
#define MEMWHY_PROBES_PROBE_H

#include "capture/attach.h"
#include "capture/capture.h"
#include "capture/session_request.h"
#include "capture/table.h"
#include "event/schema.h"
#include "report/view.h"

/* A table of aggregates (AGG_TABLE, SUM_TABLE in the BPF object). */
struct probe_table {
	const char *map;
	u32 key_size;
	u32 (*tgid)(const void *key); /* see table.h */
	/* Sends what was added to a key as a record. value: a struct agg_value, or as `values`
	 * says. stacks: descriptor of the stack map. */
	int (*added)(struct capture *c, const struct stack_maps *stacks, const void *key,
		const void *value);
	const struct table_values *values; /* NULL: table_agg */
	bool many_keys;                    /* where they have stacks: see attach_stacks_entries */
	bool derived; /* its events are counted in another table: they are not delivered twice */
	/* In place of `values`, where they depend on what was asked for; key_size is then the
	 * least, and prepare() may set a larger one. */
	const struct table_values *(*values_of)(const struct capture *c);
	const char *slots; /* map of its slots, see table_spec; NULL: none */
	u32 slot_key, slot_sums;
};

#define PROBE_TABLES 8

/*
 * What fires too often to stay attached beside a busy machine is looked at in bursts: attached,
 * told to count, told to stop, detached. Only where the capture is gentle (check), and the probe
 * was not asked for by name.
 */
struct probe_bursts {
	u64 length_ns, every_ns;
	const char *
		map; /* an array of one struct burst_now; NULL: its programs count while attached */
	/* Was enough going on since it was last asked (at first: at the start) for a burst? */
	bool (*due)(struct capture *c);
	/* Sends what a burst was: it counted for on_ns, in the place of covered_ns. */
	int (*done)(struct capture *c, u64 on_ns, u64 covered_ns);
	bool always; /* its programs count only in them, where it was named, too */
};

/* BPF programs with tables and a ring. */
struct probe_bpf {
	const struct attach_hook *hooks;
	size_t n_hooks;
	size_t state_size; /* of capture.state, zeroed before open */
	/* Looks at what was asked for, before anything is loaded; may be NULL. */
	int (*open)(struct capture *c, struct err *err);
	/* Are its programs needed for what was asked? NULL: always. */
	bool (*wanted)(const struct capture *c);
	const char *only_load; /* see attach_spec */
	/* Attaches what is no hook, and says so with capture_method; may be NULL. */
	int (*attach)(struct capture *c, struct attached *a, struct err *err);
	/* Before the programs are detached; may be NULL. */
	void (*stop)(struct capture *c, struct attached *a);
	/* For `doctor`: says of its data, beyond what hooks say, what works here; a NULL: nothing
	 * is permitted, which was said of the hooks. May be NULL. */
	void (*survey)(struct capture *c, struct attached *a);
	void (*close)(struct capture *c);        /* frees what capture.state holds; may be NULL */
	u32 (*options)(const struct capture *c); /* bits for `only` in hooks; may be NULL */
	/* Sets the probe's constants and map sizes in the object; may be NULL. May be called again.
	 */
	int (*prepare)(struct bpf_object *obj, const struct capture *c);
	/* Memory of maps that `attach` makes beside those of the object; may be NULL. */
	u64 (*other_bytes)(const struct capture *c);
	struct probe_table tables[PROBE_TABLES]; /* the first is the one that fills up */
	/* Sends what a record from the ring becomes on disk; NULL: the probe sends none. */
	int (*record)(struct capture *c, const struct stack_maps *stacks, const struct rec *r);
	/*
	 * Sends what the programs keep for an event that may never come, at each drain, and adds
	 * what they did not count as seen to *events; NULL: they keep nothing.
	 */
	int (*settle)(struct capture *c, struct attached *a, const struct stack_maps *stacks,
		u64 *events);
	/* Sends what the maps of the object say at this time, at the end of each interval; may be
	 * NULL. */
	int (*snapshot)(struct capture *c, struct attached *a, const struct stack_maps *stacks);
	const struct probe_bursts *bursts; /* NULL: none */
	const char *rings; /* a map of rings by CPU beside `ring` (capture/ring.h); NULL: none */
	bool needs_btf;    /* see attach_spec */
	bool single;       /* its events come through the ring also without --each */
	bool frequent;     /* its stacks may be sampled (capture_options.stack_every) */
	bool optional;     /* the sampler is of use without; what is missing is said */
};

/* Reads /proc or /sys at the start, at every tick, and at the end. */
struct probe_sampler {
	size_t size;  /* of its state, zeroed before open */
	u64 every_ns; /* between samples; 0: only at the start, ticks and the end */
	int (*open)(struct capture *c, void *state, struct err *err); /* may be NULL */
	int (*sample)(struct capture *c, void *state);                /* c->ending: the last time */
	void (*close)(void *state);                                   /* may be NULL */
	/* Says with capture_method what can be read here. */
	int (*survey)(struct capture *c);
	bool alone; /* the view shows what it reads also without the probe's events */
};

/* Data from the program itself: it runs under the preload library. */
struct probe_source {
	size_t size; /* of its state, zeroed before open */
	int (*open)(struct capture *c, void *state, struct err *err);
	int (*start)(
		struct capture *c, void *state); /* privileges are dropped: the command begins */
	int (*fd)(const void *state);            /* readable when there is something for take() */
	int (*take)(struct capture *c, void *state);
	/* Sends how things stand: at the end of an interval, or at a drain within it. */
	int (*send)(struct capture *c, void *state, bool interval);
	void (*stop)(void *state);
	void (*counts)(void *state, u64 *ret_seen, u64 *ret_lost);
	void (*close)(void *state);
	int (*survey)(struct capture *c);
};

/*
 * The options that a probe's command has beyond those of every command. They write into a struct of
 * the probe's own (X_opts.h), which nobody else looks into: it comes to the probe as capture.opts
 * and to its view as view_options.opts.
 */
struct probe_options {
	size_t size; /* of that struct, all 0 where nothing was given */
	const struct opt_group *groups;
	const struct opt_group *lent; /* those that a command over it takes too (probe.over) */
	/* Do they go together, and with the rest of the command line? -EINVAL: they do not. May
	 * complete opts, and say in r which part of a recording was meant. May be NULL. */
	int (*check)(struct request *r, void *opts, struct err *err);
};

/* Which probes a command runs beside its own, and how. */
struct company {
	const char *const *with; /* NULL-terminated; NULL: none */
	bool required; /* there is no report without them; else one that does not open is noted */
	bool named;    /* they attach as if they had been asked for by name */
	const char *const *some_named; /* of them only these do, NULL-terminated; NULL: none */
	bool outstanding; /* they follow what is allocated: capture_options.outstanding */
	bool needs_privilege;
	bool of_programs;   /* programs with the preload library supply stacks; else user stacks are
			       requested */
	const char *stacks; /* that it needs, where none were asked for: "kernel"; NULL: none */
	u64 least_bytes;    /* capture_options.least_bytes */
};

/* A part of a session, for an action: the records of one probe, for so long. */
typedef int probe_session(
	const struct capture_options *opt, u64 for_ns, struct sink *sink, struct err *err);

struct action_task {
	const struct request *request;
	void *opts; /* of the probe */
	struct capture_options *capture;
	probe_session *session;
};

/* What a command does in place of a session and its report: `count --list`, `numa try`. */
struct probe_action {
	const char *name;                       /* "numa try" */
	const struct view_table *const *tables; /* of what it prints */
	size_t size;                            /* of its state, zeroed */
	bool bare; /* it looks at nothing: no scope, no header, all rows */
	bool (*wanted)(const struct request *r, const void *opts);
	int (*run)(void *state, const struct action_task *t, struct err *err);
	void (*report)(void *state, struct report *r);
	void (*free)(void *state);
};

struct probe {
	const char *name;
	const char *summary; /* one line, for help and doctor: "Who takes page faults, …" */
	const char *details; /* paragraphs for the man page, separated by blank lines */
	const char *const *examples; /* pairs of command line and what it does; NULL-terminated */
	const char *output;   /* what a real run printed, in ASCII, for the man page; NULL: none */
	const char *operands; /* what may follow the command's name: "[list|show N]"; NULL: none */
	u32 n_operands;       /* at most; the view takes them (view_options) */
	const struct probe_options *options; /* NULL: those of every command */
	const struct kind *kinds;
	size_t n_kinds;
	const struct probe_bpf *bpf; /* either or both */
	const struct probe_sampler *sampler;
	/* For -- CMD, which gets the preload library; where `bpf` is not wanted. */
	const struct probe_source *source;
	/* What the command of this name shows; NULL: the probe has no command of its own. */
	const struct view *view;
	bool cheap; /* `check` may run it on a busy machine */
	/* Its programs attach only where it was named: by its command, or by `record --probes`. A
	 * sampler that is cheap runs in `record` and `check` all the same, and in `check` its
	 * bursts. */
	bool only_named;
	/* Which other probes its command runs beside it, for its view to be fed with. May complete
	 * opts. NULL: none. */
	void (*beside)(const struct request *r, void *opts, struct company *ret);
	/* For a view that makes more of another probe's records: that probe. Its lent options are
	 * those of this command too, and its recordings have what this one shows. NULL: none. */
	const char *over;
	/* Files of another program that its command takes with --input: whether this is one, by its
	 * first bytes, and all that is in it as records, from REC_HOST to REC_END. 0; -ENODATA: the
	 * file is damaged, what could be read was sent; -errno. Both or neither. */
	bool (*file_is)(const void *head, size_t n);
	int (*file_read)(
		int fd, const char *path, struct sink *sink, struct err *err); /* takes fd */
	bool borrows; /* it looks at what others have open: CAGE_BORROWS */
	bool aside;   /* not on the screen of `top`: looked at there every four seconds */
	bool guarded; /* its command is to report also when memory is gone: record/guard.h */
	/* Another thing that its command does, where its words say so; NULL: none. */
	const struct probe_action *action;
	/* How it is recorded, where `record` leaves it out: "memwhy count --record FILE". */
	const char *recorded_by;
	bool coarse;       /* those beside it count less finely than their own commands would */
	bool has_all_keys; /* its records do, whatever --by was */
};

#define PROBE(id_) extern const struct probe probe_##id_;
#include "probes/probes.def"
#undef PROBE

extern const struct probe *const probes[];
extern const size_t probes_n;

const struct probe *probe_find(const char *name);
/* Its place in probes[]. */
size_t probe_index(const struct probe *p);
/* What follows is this probe's: its name and options. */
void probe_enter(const struct probe *p, struct capture *c);

struct budget; /* capture/map_memory.h */

/* Adds what the maps of the probe will take. */
int probe_measure(const struct probe *p, struct capture *c, struct budget *b);

/* A probe at work. */
struct probe_run;

/* c must outlive the run. */
int probe_new(const struct probe *p, struct capture *c, struct probe_run **ret);
/* Does it count by programs that are attached throughout? */
bool probe_counts_on(struct probe_run *run);
/* Begins to load its programs, where that can be done beside other work (capture/ahead.h). */
void probe_ahead(struct probe_run *run);
/* Attaches and takes the first sample; events count from here on. */
int probe_open(struct probe_run *run, struct err *err);
/* The command is about to run. */
int probe_start(struct probe_run *run);
/* Does the probe, as it was asked for, need the preload library? Not of a static program. */
bool probe_preloads(const struct probe *p, const struct capture *c);
/* Readable when single events wait, or tables fill up; -1 when there will be none. */
int probe_fd(struct probe_run *run);
/* Sends single events that wait, at most RING_BATCH. 1: there may be more; 0: that was all. */
int probe_drain_ring(struct probe_run *run);
/* Are its tables about to be full, so that they are to be drained soon? */
bool probe_fills_up(const struct probe_run *run);
/* Takes a sample if one is due at now_ns; begins or ends a burst. */
int probe_sample(struct probe_run *run, u64 now_ns);
/* When the next sample is due, or a burst begins or ends; UINT64_MAX: never. */
u64 probe_next_sample(const struct probe_run *run);
/* Sends all there is: aggregates, single events, REC_LOSS; with `sample` a sample too. */
int probe_drain(struct probe_run *run, bool sample);
/* Adds a process to the scope (-- CMD). */
int probe_scope_add(struct probe_run *run, u32 tgid);
/* Ends counting; probe_drain may be called once more. */
int probe_stop(struct probe_run *run);
/* Events seen so far, delivered or lost. */
u64 probe_seen(struct probe_run *run);
/* The cost of the BPF programs since the start; ret_map_bytes may be NULL. */
int probe_cost(struct probe_run *run, u64 *ret_ns, u64 *ret_runs, u64 *ret_map_bytes);
void probe_close(struct probe_run *run);
/* Says with REC_METHODs what works here; nothing stays attached. */
int probe_survey(const struct probe *p, struct capture *c, struct err *err);

#endif
