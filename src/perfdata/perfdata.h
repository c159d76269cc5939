/*
 * Reads perf.data files, as `perf record`, `perf mem record` and `perf c2c record` write them, on
 * any machine: files and pipes, either byte order, compressed (zstd) or not. Hands out the kernel's
 * records one by one, ordered by time. Knows neither symbols nor what the records are used for.
 *
 * The file is untrusted. Malformed parts are skipped and reported at the end. Memory is bounded,
 * whatever the file: see perfdata_options.
 */
#ifndef MEMWHY_PERFDATA_PERFDATA_H
#define MEMWHY_PERFDATA_PERFDATA_H

#include "base/err.h"
#include "perfdata/format.h"
#include "perfdata/recorded_host.h"

struct perfdata;

struct perfdata_options {
	bool unordered;    /* records in the order of the file */
	size_t max_queued; /* bytes of records that wait for their turn; 0: 256 MiB */
};

/* An event, and how its samples are laid out. */
struct perfdata_event {
	const char *name; /* "" if the file does not say */
	u32 pmu;          /* attr.type */
	u64 config, config1, config2;
	u64 period;      /* or the frequency: PERFDATA_FLAG_FREQ */
	u64 sample_type; /* of enum perfdata_field */
	u64 read_format;
	u64 flags;
	u64 branch_type;
	u64 regs_user, regs_intr; /* masks */
	u32 stack_user;
	s32 clockid; /* with PERFDATA_FLAG_USE_CLOCKID */
};

/* The identity of a record: `have` says which are known, by enum perfdata_field. */
struct perfdata_where {
	u64 have;
	u32 pid, tid;
	u64 time;
	u64 id, stream_id;
	u32 cpu;
};

/* Counters read with a sample, or when a thread ended. */
struct perfdata_read {
	u64 enabled_ns, running_ns; /* 0 if not in the read_format */
	u64 n;
	const u64 *values; /* n of: value, id and lost if they are in the read_format */
	u64 format;
};

struct perfdata_regs {
	u64 abi; /* 0: none were taken */
	const u64 *v;
	u32 n; /* those of the event's mask */
};

struct perfdata_branch {
	u64 from, to, flags;
};

/* What is not in the event's sample_type is 0; the period is then that of the event, if it has one.
 */
struct perfdata_sample {
	u64 ip, addr, period;
	u64 data_src; /* see data_src.h */
	/* Latency of the access, in cycles: WEIGHT has it in `weight`; WEIGHT_STRUCT has it in the
	 * low half, and two more numbers of the processor's. */
	u64 weight;
	u16 weight2, weight3;
	u64 phys_addr, data_page_size, code_page_size;
	u64 cgroup, transaction;
	u64 n_ips; /* see perfdata_chain_next */
	const u64 *ips;
	struct perfdata_read read;
	struct perfdata_regs user, intr;
	u32 raw_size;
	const void *raw;
	u64 n_branches, branch_index;
	const struct perfdata_branch *branches;
	const u64 *branch_counters; /* n_branches, or NULL */
	u64 stack_size, stack_used; /* bytes of the user stack, and how many of them are good */
	const void *stack;
	u64 aux_size;
	const void *aux;
};

struct perfdata_mmap {
	u32 pid, tid; /* pid -1: the kernel */
	u64 start, len, file_offset;
	u32 major, minor; /* 0 with a build-id, and of MMAP */
	u64 ino, ino_generation;
	u32 prot, flags; /* of MMAP2 */
	const char *path;
	const u8 *build_id;
	u32 build_id_len; /* 0: none */
};

struct perfdata_namespace {
	u64 dev, ino;
};

/* One of the kernel's records. Everything belongs to the reader, until the next call. */
struct perfdata_record {
	enum perfdata_type type;
	u16 misc;                           /* of enum perfdata_misc */
	u64 offset;                         /* in the file; of what it was compressed in */
	const struct perfdata_event *event; /* NULL: not known */
	struct perfdata_where where;        /* of all but SAMPLE: by sample_id_all */
	union {
		struct perfdata_sample sample;
		struct perfdata_mmap mmap; /* MMAP, MMAP2 */
		struct {
			u32 pid, tid;
			const char *name;
			bool exec;
		} comm;
		struct {
			u32 pid, ppid, tid, ptid;
			u64 time;
		} task; /* FORK, EXIT */
		struct {
			u64 id, n; /* id 0 of LOST_SAMPLES */
		} lost;            /* LOST, LOST_SAMPLES */
		struct {
			u64 time, id, stream_id;
		} throttle; /* THROTTLE, UNTHROTTLE */
		struct {
			u32 pid, tid;
			struct perfdata_read values;
		} read;
		struct {
			bool out, preempted;
			u32 pid, tid; /* SWITCH_CPU_WIDE: of the other thread */
		} task_switch;
		struct {
			u32 pid, tid;
			u64 n;
			const struct perfdata_namespace *v;
		} namespaces;
		struct {
			u64 id;
			const char *path;
		} cgroup;
		struct {
			u64 offset, size, flags;
		} aux;
		struct {
			u64 cookie, n_ips;
			const u64 *ips;
		} deferred; /* CALLCHAIN_DEFERRED */
		struct {
			const void *data; /* after the head, as in the file */
			size_t size;
		} other; /* the other types */
	};
};

struct perfdata_stats {
	u64 records;   /* handed out */
	u64 samples;   /* ... of them */
	u64 skipped;   /* perf's own, of no use here (topology of the session, AUX traces …) */
	u64 malformed; /* stepped over */
	u64 late;      /* handed out after a later one, as max_queued did not suffice */
	u64 bytes;     /* read of the file */
	u64 unpacked;  /* out of compressed records */
};

/*
 * Opens a file ("-": standard input) and reads what comes before the records. opts may be NULL.
 * -EINVAL: it is no perf.data file, or one of a kind that is not read (err says which);
 * -ENODATA: cut within its first bytes.
 */
int perfdata_open(const char *path, const struct perfdata_options *opts, struct perfdata **ret,
	struct err *err);
/* As above, over an open descriptor, which it owns, also on failure. */
int perfdata_open_fd(const char *name, int fd, const struct perfdata_options *opts,
	struct perfdata **ret, struct err *err);
/* Whether bytes from the beginning of a file are those of a perf.data file, also of one that
 * perfdata_open refuses. */
bool perfdata_is(const void *head, size_t n);

/*
 * The next record. 1: a record; 0: the end, the file is whole; -ENODATA: there are no more, and
 * the file is cut or damaged: err says where and how; another -errno: reading failed.
 *
 * Order is that of time, except that records without one come at once, and that records may come
 * late (see perfdata_stats). Those of the same time come as in the file.
 */
int perfdata_next(struct perfdata *p, const struct perfdata_record **ret, struct err *err);
void perfdata_close(struct perfdata *p);

/* The events so far. In a pipe they, and what is known of the host, come with the records: all is
 * there when the first sample is. */
size_t perfdata_events(const struct perfdata *p);
const struct perfdata_event *perfdata_event(const struct perfdata *p, size_t i);
/* The fields that any event has. */
u64 perfdata_fields_any(const struct perfdata *p);
const struct perfdata_host *perfdata_host(const struct perfdata *p);
const struct perfdata_stats *perfdata_stats(const struct perfdata *p);

/* Steps through a callchain: false at its end. *i begins at 0, *context as CONTEXT_NONE. Marks are
 * not handed out, and neither is the cookie after CONTEXT_DEFERRED. */
bool perfdata_chain_next(
	const struct perfdata_sample *s, u64 *i, enum perfdata_context *context, u64 *ret_ip);
/* The cookie of the CALLCHAIN_DEFERRED that has the rest of the callchain; 0: there is none. */
u64 perfdata_chain_cookie(const struct perfdata_sample *s);
/* Counter i of a read, with its id and lost (0 where they are not in the read_format). */
u64 perfdata_read_value(const struct perfdata_read *r, u64 i, u64 *ret_id, u64 *ret_lost);

static inline void perfdata_closep(struct perfdata **p)
{
	perfdata_close(*p);
}
#define _cleanup_perfdata_ _cleanup_(perfdata_closep)

#endif
