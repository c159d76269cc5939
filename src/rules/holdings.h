/*
 * What rules on memory that no process shows need to know: the last state of file systems in
 * memory, of System V segments and of what the kernel keeps for processes, with the first where
 * growth matters. Fed by records; every rule keeps its own.
 */
#ifndef MEMWHY_RULES_HOLDINGS_H
#define MEMWHY_RULES_HOLDINGS_H

#include "analysis/shape.h"
#include "base/clock.h"
#include "probes/holders/holders.h"
#include "rules/facts.h"

/* A process in its first and its last look. */
struct held_both {
	struct held_process first, last;
	u32 look; /* how many looks were over before the last */
	bool ended;
};

struct held {
	struct facts facts;
	struct groups files;     /* held_files_key() -> struct held_files, the last */
	struct groups segments;  /* id -> struct held_segment, the last */
	struct groups processes; /* tgid -> struct held_both */
	struct groups parents;   /* tgid -> struct held_children, the last */
	struct groups parents_first;
	struct held_queues queues_first, queues; /* the last; bytes 0: none */
	struct groups disks;       /* string id of the device -> struct held_disk, the last */
	struct groups traces;      /* string id of the instance -> struct held_trace, the last */
	struct held_maps maps;     /* the last; maps 0: none */
	struct held_totals totals; /* the last; h.size 0: none */
	struct groups courses;     /* held_files_key() -> struct shape: its bytes over time */
	u64 looked_ns;             /* the first look at processes and segments; 0: none yet */
	u64 first_orphan_bytes;    /* then, of segments that nobody had attached */
	u64 last_ns;               /* of any record */
	u32 looks;                 /* that are over */
	bool ended_too;            /* what processes had that ended meanwhile counts as well */
};

int held_rule_init(void *v, const struct view_options *o, struct err *err);
int held_rule_feed(void *v, const struct rec *r);
void held_rule_reset(void *v);
void held_rule_destroy(void *v);

#define HELD_RULE(report_)                                                                   \
	{                                                                                    \
		.size = sizeof(struct held), .init = held_rule_init, .feed = held_rule_feed, \
		.report = (report_), .reset = held_rule_reset, .destroy = held_rule_destroy, \
	}

/* "python3 worker.py (pid 7)" */
const char *held_name(struct report *r, const struct held_process *p);
/* A name out of the stream: "?" where it is not known. */
const char *held_text(const struct report *r, u32 string);

/* An amount that a process has. */
typedef u64 (*held_amount)(const struct held_process *p);

struct held_top {
	const struct held_both *most; /* NULL: no process has any */
	u64 bytes, first_bytes;       /* that it has, or the processes of its program together */
	u64 all;                      /* that all have together */
	u64 program_bytes;            /* of all processes of its program */
	u64 most_bytes;               /* of the one process that has most */
	u32 processes;                /* of its program that have some; 1: it is told alone */
};

/* Who has most, by the last look: a process, or a program whose processes have it together. Those
 * that an earlier look saw and the latest did not have nothing more, unless it was cut short. */
struct held_top held_most(const struct held *h, held_amount amount);
/* The program that has most of those that have less than this one. */
struct held_top held_next(const struct held *h, held_amount amount, const struct held_top *than);
/* The same as held_most by process alone, of what belongs to one address space. */
struct held_top held_most_process(const struct held *h, held_amount amount);
/* "python3 worker.py (12 processes, pid 7 has most)" */
const char *held_who(struct report *r, const struct held_top *t);
/* The level of so many bytes that are of no use to anybody: by their share of the machine's memory.
 * -1: too little to be told. */
int held_level(const struct report *r, u64 bytes);
/* A note at least, where these bytes are most of what a group at its limit may have. */
int held_level_group(int level, const struct facts *f, u64 cgroup, u64 bytes);
/* As a part of memory: whoever sets this much aside and idle is the trouble, whatever others do
 * with the rest. */
#define HELD_MOST_PART 0.3
#define HELD_ASIDE_SHARE 0.05  /* of memory: from here on others lack it */
#define HELD_WAITED_SHARE 0.02 /* of the time: from here on pressure is a finding */
/* The same of what is set aside from all other use: a warning from 5 % on where tasks wait for
 * memory meanwhile, or are killed, for then it costs them something. */
int held_level_aside(const struct report *r, const struct facts *f, u64 bytes);
/* Says how long they waited, where that made it so. */
void held_tell_cost(struct report *r, struct finding *x, const struct facts *f, u64 bytes);
/* The same of what nobody can mean to have, or get rid of: a risk from 3 % on. */
int held_level_stuck(const struct report *r, u64 bytes);
/* A finding about so many bytes; NULL also where the level is -1. */
struct finding *held_finding(struct report *r, int level, const char *rule, u64 bytes);
/* Was every process of the machine looked at? Else nobody knows what no process has. */
bool held_saw_all(const struct report *r, const struct held *h);
/* What it has is in slab caches, or in pages that no counter has. */
void held_in_kernel(struct finding *x, u64 bytes, u64 first_bytes);
/* What a thread takes: kernel stack, task and its signal and page table parts. */
#define HELD_THREAD_BYTES (32ULL << 10)
/* What an open file of the process takes, estimated by what it has most. */
u64 held_file_bytes(const struct held_process *p);
/* "6.3 % of the machine's memory" */
const char *held_share(struct report *r, u64 bytes);
/* The same, of the limit of this group where it is half of that at least. */
const char *held_share_of(struct report *r, const struct facts *f, u64 cgroup, u64 bytes);
/* Says how much it grew between the two looks, if it did by more than a hundredth. */
void held_tell_growth(struct report *r, struct finding *f, const struct held_top *t);

#define HELD_SOON_S 3600.0 /* what lasts less is a risk */
#define HELD_NEVER_S 1e15

/* What grows without end hurts before it is large: by when available memory is used up. */
struct held_growth {
	double rate; /* bytes a second; 0: too little to judge */
	double left; /* seconds that available memory lasts */
};
struct held_growth held_growth(const struct facts *f, u64 grown, double seconds);
struct held_growth held_growth_of(const struct held *h, const struct held_top *t);
/* held_level_stuck(), and a risk too where memory lasts less than an hour. */
int held_level_growing(const struct report *r, u64 bytes, const struct held_growth *g);
/* The same of data that nobody reads: a risk also from 1 % on where it is much. */
int held_level_unread(const struct report *r, u64 bytes, const struct held_growth *g);
/* A risk where memory lasts less than an hour, else this level. */
int held_level_soon(int level, const struct held_growth *g);
/* "at this rate available memory (22 GiB) lasts 12 minutes", where that is less than an hour. */
void held_tell_left(struct report *r, struct finding *f, const struct facts *facts,
	const struct held_growth *g);

/* Growth below this does not show in its course. */
#define HELD_COURSE_NS (4 * NSEC_PER_SEC)
#define HELD_COURSE_BYTES (16ULL << 20)
/* Before the end: what did not grow since has stopped. */
#define HELD_GONE_NS (2500 * NSEC_PER_MSEC)

/* It was there at an earlier look, and no more at the latest one. */
bool held_is_gone(const struct held *h, u64 time_ns);

/* Segments that nobody has attached. */
struct held_orphans {
	u64 n, bytes, grown_bytes; /* grown: since the first look */
};
bool held_is_orphan(const struct held *h, const struct held_segment *g);
struct held_orphans held_orphans(const struct held *h);
/* Who wrote about as much as this grew by, to no disk; NULL: nobody, or several did. */
const char *held_writer(struct report *r, const struct held *h, const struct shape *s,
	double *ret_rate, u32 *ret_tgid);
/* "/dev/shm in the mount namespace of worker (pid 7)" */
const char *held_place_text(struct report *r, const char *path);
/* The command that gives a mount another option, "size=9k", in whichever namespace it is. */
void held_tell_remount(struct report *r, const char *lines[FINDING_LINES], const char *mount,
	const char *option, u64 n, const char *unit);
/* df with this option, of a mount, run in whichever namespace that is: df takes
 * /proc/PID/root/tmp for the /tmp of its own. */
void held_tell_df(struct report *r, const char *lines[FINDING_LINES], const char *mount,
	const char *option);
/* The file system: where it is mounted may change with whom it is seen through. */
u64 held_files_key(const struct held_files *f);
/* Most of it is in files that were removed and that processes have open: these are named. */
bool held_files_removed(const struct held_files *f);

#endif
