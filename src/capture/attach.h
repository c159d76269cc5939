/*
 * The attach plan: for each part of its data a probe lists the methods to obtain it, best first;
 * they are tried on this kernel, and the first that loads and attaches is used. Nothing is inferred
 * from version numbers. Knows no probe and sends no records beyond REC_METHOD and REC_LOSS.
 */
#ifndef MEMWHY_CAPTURE_ATTACH_H
#define MEMWHY_CAPTURE_ATTACH_H

#include "capture/capture.h"

#define ATTACH_PROGS 6
#define ATTACH_METHODS 4

struct perf_event_attr;

/* A program run by a perf event that counts on every CPU. */
struct attach_perf {
	const char *prog;
	u32 type;
	u64 config;
	/* Completes what to open on a CPU, where that differs; NULL: nothing. -ENODEV: not there.
	 */
	int (*aim)(struct perf_event_attr *attr, int cpu);
};

struct attach_method {
	const char *method;              /* as `doctor` and JSON say it */
	const char *progs[ATTACH_PROGS]; /* attached as their section says; all of them or none */
	struct attach_perf perf[2];
	u32 only; /* used only with one of these options of the probe; 0: always */
};

struct attach_hook {
	const char *data;  /* the data: "minor and major faults" */
	bool required;     /* the probe is useless without */
	bool counts;       /* counts events though it is not required: what it misses is lost */
	bool helps;        /* required, but counts none itself: what it misses is not */
	u32 only;          /* as in attach_method */
	const char *needs; /* what would provide it where no method works */
	struct attach_method methods[ATTACH_METHODS];
};

#define ATTACH_HOOKS_MAX 12

struct bpf_object;
struct embedded;

struct attach_spec {
	const struct embedded *object;
	const struct attach_hook *hooks;
	size_t n_hooks;
	u32 options;           /* bits for `only` */
	const char *only_load; /* a program that is loaded to be cloned (clone.h); NULL: none */
	bool needs_btf; /* the programs mean nothing without the kernel's BTF; a hook is required */
	/* Sets the probe's own constants and map sizes in the object before it is loaded. */
	int (*prepare)(struct bpf_object *obj, void *arg);
	void *arg;
};

struct attached;

/* Begins to load what attach_open() will load first for the same spec.arg, where that can be done
 * beside other work. */
void attach_ahead(struct capture *c, const struct attach_spec *spec);
/* Loads and attaches. Sends a REC_METHOD for each hook. -EPERM: privileges are missing;
 * -EOPNOTSUPP: a required hook has no working method here (err says why). */
int attach_open(
	struct capture *c, const struct attach_spec *spec, struct attached **ret, struct err *err);
/* Detaches the programs, so that counts no longer change; maps stay readable. */
void attach_stop(struct attached *a);
void attach_close(struct attached *a);
/* Detaches the programs of the hooks for a while, and attaches them again. */
void attach_pause(struct attached *a);
int attach_resume(struct attached *a);

/* Is there a method in use for this data? */
bool attach_uses(const struct attached *a, const char *data);
struct bpf_object *attach_object(struct attached *a);
/* Which of the maps that a session shares it created; see object_owns(). */
u32 attach_owned(const struct attached *a);
/* A program, or what attaches it, that is no part of the plan (clone.h). The descriptor is taken in
 * every case. Its program counts as one of a required hook. */
int attach_keep_prog(struct attached *a, int fd);
int attach_keep_link(struct attached *a, int fd);
/* Adds memory of maps that are none of the object; returns all of it. */
u64 attach_keep_bytes(struct attached *a, u64 bytes);
/* Descriptor of a map of the object; it must exist. */
int attach_map(struct attached *a, const char *name);
/* How many entries it has room for here (see --max-memory). */
u32 attach_map_room(struct attached *a, const char *name);
/* The descriptor of the i-th program of attach_keep_prog; -1: there are no more. */
int attach_kept(struct attached *a, size_t i);
/* For programs that count only between start and stop: what the kernel skips before each `true` and
 * after each `false` is not theirs. */
void attach_counting(struct attached *a, bool on);
/* Runs of the programs of hooks that count events (the required ones, and those that say so) that
 * the kernel skipped because the program was already running on that CPU. */
u64 attach_missed(struct attached *a);
/* The counters summed over CPUs; what attach_missed() counts is seen, and lost. */
int attach_counts(struct attached *a, struct probe_counts *ret);
/* Run time and runs of all programs while BPF statistics were on, and the memory of the maps. */
int attach_cost(struct attached *a, u64 *ret_ns, u64 *ret_runs, u64 *ret_map_bytes);

/* Sets a `const volatile` variable of the object. -ENOENT, or -EINVAL if the size differs. */
int attach_set_const(struct bpf_object *obj, const char *name, const void *value, size_t size);
int attach_set_entries(struct bpf_object *obj, const char *map, u32 entries);
/* Entries for a table of aggregates on this machine: a fixed share of memory for all CPUs, less
 * where the capture is gentle. */
u32 attach_table_entries(const struct capture *c, size_t key_size, size_t value_size);
/* The same, of keys that are many where they have stacks. */
u32 attach_stacks_entries(const struct capture *c, size_t key_size, size_t value_size);

/* Tries every hook of a spec for `doctor`, without leaving anything attached. -EPERM: nothing was
 * tried, or said. */
int attach_survey(struct capture *c, const struct attach_spec *spec, struct err *err);

#endif
