/*
 * What a session gives its probes: whom to look at (scope), what to collect, and where records
 * go. Knows no probe.
 */
#ifndef MEMWHY_CAPTURE_CAPTURE_H
#define MEMWHY_CAPTURE_CAPTURE_H

#include "base/err.h"
#include "base/opt.h"
#include "base/vec.h"
#include "bpf/shared.h"
#include "capture/mapping_at.h"
#include "capture/preload.h"
#include "capture/table.h"
#include "event/meta.h"
#include "event/sink.h"
#include "sys/users.h"

/* Whom to look at: all of the conditions that are set. */
struct scope {
	VEC(u32) tasks; /* process or thread ids; empty: all */
	bool by_task;   /* only tasks, even while that list is still empty (-- CMD) */
	bool follow;    /* and the children they have from now on */
	char comm[COMM_LEN];
	u64 cgroup_id;    /* 0: all */
	u32 cgroup_level; /* below the root of its hierarchy */
};

struct preload_program; /* capture/preload_check.h */

struct capture_options {
	struct scope scope;
	u8 cgroup_version; /* enum scope_cgroup: hierarchy of cgroup ids in records */
	bool user_stacks, kernel_stacks;
	bool few_stacks;   /* not requested: only where nothing else shows the place */
	bool plain_stacks; /* nobody asked for user stacks: not worth the walk (unwind.h) */
	bool each;
	u64 watch_ns;      /* somebody watches, interval by interval of this length (top): samplers
			      send all they look at, once in each; 0: nobody */
	bool gentle;       /* leave out what would disturb a busy machine (check) */
	bool with_self;    /* --with-self: memwhy and what works for it count too */
	bool outstanding;  /* follow what is allocated until it is freed, with its age (leak) */
	const char *named; /* comma-separated probes that were asked for by name; NULL: none */
	u32 stack_every;   /* see scope_config */
	u64 sample_ns;     /* samplers look at most once in so long; 0: as each likes it */
	u64 ring_bytes;
	u64 max_bytes;     /* --max-memory: of all maps; 0: as fits the machine */
	u64 debuginfod_ns; /* --debuginfod: the most to wait for servers; 0: ask none */
	u64 min_ns;        /* --min: only events that took at least this long */
	u64 least_bytes;   /* of heap blocks told of to who sees accesses; 0: all */
	/* What the command runs, where nothing can be preloaded into it; NULL: it is tracked. */
	const struct preload_program *program;
	const char *program_why; /* why not */
	const char *by;          /* --by: comma-separated keys to count by; NULL: the probe's own */
	/* Each probe's own options, in the order of probes[]; NULL: none were given. */
	void *const *opts;
	char *const *operands; /* words after the command's name */
	u32 n_operands;
	char *const *command; /* of -- CMD; NULL: none */
	bool as_other;        /* the command runs as `as`; else as memwhy */
	struct sys_user as;
};

struct names;  /* capture/names/names.h */
struct blocks; /* capture/block_access.h */

/* Descriptors of the two maps of stacks an object has; see STACK_WALKED. */
struct stack_maps {
	int stacks, user_stacks; /* the second may be recent_stacks */
};

/* Maps that the objects of all probes of a session have in common (capture/object.h). */
enum shared_map {
	SHARED_STACKS,
	SHARED_USER_STACKS,
	SHARED_RECENT_STACKS,
	SHARED_RECENT_WALKS,
	SHARED_TASKS,
	SHARED_SELF,
	/* bpf/unwind.bpf.h; made by capture/unwind/unwind.h */
	SHARED_UNWIND_PAGES,
	SHARED_UNWIND_RULES,
	SHARED_UNWIND_MAPS,
	SHARED_UNWIND_PROCS,
	SHARED_UNWIND_ASKS,
	SHARED_UNWIND_COPIES,
	SHARED_UNWIND_COPY,
	SHARED_UNWIND_COUNTS,
	SHARED_UNWIND_WALKS,
	SHARED_UNWIND_KNOWN,
	SHARED_MAPS,
};

struct unwind; /* capture/unwind/unwind.h */
struct reader; /* capture/reader/reader.h */
struct ahead;  /* capture/ahead.h */

struct capture {
	struct capture_options opt;
	struct sink *sink;
	struct names *names;
	struct reader *reader;        /* of files of observed programs; NULL: not begun */
	struct sample_opener *opener; /* of copies of stacks; NULL: none is needed */
	struct unwind *unwind; /* NULL: user stacks are not asked for, or the kernel's are used */
	struct ahead *ahead;   /* while probes are opened; NULL: nothing is loaded ahead */
	struct mapping_cache mappings;
	struct table_batch batch;    /* of the tables of its probes */
	struct preload preload;      /* of the command, where a probe asked for it */
	const struct blocks *blocks; /* of a probe that follows them; NULL: there is none */
	bool blocks_wanted;          /* somebody will tell it of accesses; before probe_start() */
	int shared[SHARED_MAPS];     /* descriptor plus one; 0: none yet */
	struct scope_self self;      /* what memwhy does itself now */
	u32 shrink;      /* maps are so much smaller, see budget.h; 0: as fits the machine */
	bool tells_refusals; /* what the verifier says of each program that it refuses is noted */
	u64 begin_ns;    /* when everything counted; 0: not yet */
	u64 counting_ns; /* when programs began to count; 0: not yet, or there are none */
	bool ending;     /* counting is over: the drain that follows is the last */
	bool (*leaves)(void *arg); /* see capture_leaves; NULL: never */
	void *leaves_arg;
	void *state;       /* of the probe being opened or drained: probe_bpf.state_size bytes */
	const char *probe; /* the probe being opened or drained, for its records */
	const void *opts;  /* its own options, for OPTS_OF; NULL: none was given */
};

/* Nobody watches, interval by interval: it looks for days, and is not to be noticed. */
static inline bool capture_is_service(const struct capture *c)
{
	return c->opt.sample_ns && !c->opt.watch_ns;
}

/* It goes on for hours, whether or not somebody watches. */
static inline bool capture_lasts(const struct capture *c)
{
	return c->opt.sample_ns || c->opt.watch_ns;
}

/* Frees what its probes had in common. */
void capture_close(struct capture *c);
/* Sends a record; fills in the time where it is 0. */
int capture_emit(struct capture *c, struct rec *r);
/* REC_METHOD: how `data` is obtained. method NULL: it is not, because of `missing`. */
int capture_method(struct capture *c, const char *data, const char *method, const char *missing);
/* REC_METHOD: `data` is not obtained, because of `why`; `needs` (NULL: not known) would provide it.
 */
int capture_missing(struct capture *c, const char *data, const char *why, const char *needs);
/* The same after -errno: where it is one of missing rights, and we are not root, root provides it.
 * A report then does not take what it did not see for a no. */
int capture_refused(
	struct capture *c, const char *data, const char *why, int rc, const char *needs);
/* The same, where it takes privilege. */
int capture_not_permitted(struct capture *c, const char *data);
/* Obtained by `method`, but only of the processes that we have the right to look into. */
int capture_not_of_others(struct capture *c, const char *data, const char *method);
int capture_note(struct capture *c, enum note_level level, const char *fmt, ...) _printf_(3, 4);
/* REC_LOSS, cumulative. */
int capture_loss(struct capture *c, u64 seen, u64 delivered, u64 lost, const char *reason);
/* REC_ENUM */
int capture_enum(struct capture *c, const char *set, u64 value, const char *name);
/* Is `key` among the comma-separated keys of --by? */
bool capture_by(const struct capture *c, const char *key);
/* Was the present probe asked for by its name (by its command, by `record --probes`)? */
bool capture_named(const struct capture *c);
bool capture_names(const struct capture *c, const char *probe); /* … was that one? */
/* Is `word` among the words after the command's name? */
bool capture_operand(const struct capture *c, const char *word);

/* Begins the processes that read files of others, where they are not yet: before rights are
 * dropped, and best before anything is made that they would have a copy of. */
int capture_reader_begin(struct capture *c);
/* The same of all that the session is known to want. */
int capture_helpers_begin(struct capture *c);

/*
 * A process was started, or has ended, that works for memwhy: it does not count. What it does
 * between its start and this does. More than SELF_HELPERS at a time: -ENOSPC.
 */
int capture_self_add(struct capture *c, u32 tgid);
void capture_self_remove(struct capture *c, u32 tgid);
/*
 * Until then, and from then on, nothing counts, whatever is attached: it takes a while to attach
 * and to detach one program after the other, and what they count in is one interval for all. For
 * the programs that ask scope_match().
 */
int capture_pause(struct capture *c, bool pause);
/* Writes both where programs read it: once that map was made. */
int capture_self_send(struct capture *c);
/* Is it memwhy or one of these, and left out? */
bool capture_is_self(const struct capture *c, u32 tgid);

/* Is there a signal to end, not taken yet? Attaching can take seconds, and the session takes
 * signals only when it is done: loops over hooks ask, and leave with -EINTR. */
bool capture_interrupted(void);
/* Long drains ask: 0: go on. 1: the session's time is over, or a signal came: leave the rest to the
 * last drain. -EINTR: another signal came, in the last drain. */
int capture_leaves(const struct capture *c);

#endif
