/* Private to the holders probe: what its parts share. */
#ifndef MEMWHY_PROBES_HOLDERS_INNER_H
#define MEMWHY_PROBES_HOLDERS_INNER_H

#include "base/groups.h"
#include "base/vec.h"
#include "capture/names/names.h"
#include "capture/proc_scope.h"
#include "probes/holders/holders.h"
#include "probes/probe.h"
#include "sys/group/cgroup.h"
#include "sys/keyvals.h"
#include "sys/memory/sysvipc.h"
#include "sys/mounts.h"
#include "sys/process/proc.h"

/* CPU time that one look may take, by its parts. */
#define LOOK_FILES_NS (60 * NSEC_PER_MSEC)
#define LOOK_FDS_NS (80 * NSEC_PER_MSEC)
#define LOOK_STATUS_NS (40 * NSEC_PER_MSEC)

/* A tmpfs that has enough in it to be worth a record. */
struct tmpfs_mount {
	char *point; /* below /proc/PID/root where only another mount namespace has it */
	u64 device;  /* st_dev */
	u32 pid;     /* that process; 0: it is mounted in our own namespace */
	u64 used_bytes, first_bytes;
	u64 inodes, first_inodes, most_inodes;
	u64 sent_bytes;
	/* A process that has files of it open, most of all: */
	u32 opener;
	u64 opener_files;
};

struct holder_entry {
	u32 pid;
	u64 files; /* that it has open, as stat() of its directory says; 0: older kernels */
};

/* Those with most anonymous memory, whose allocator is looked at as the capture ends. */
#define HEAPS_LOOKED_AT 4

/* A BPF map of this machine. */
struct holder_map {
	u32 id;
	bool seen;  /* a process has it open */
	bool there; /* … at the end */
	u64 bytes;
	char name[16];
};

struct holder_space {
	u64 vm_bytes, shmem_bytes;
};

struct heap_entry {
	u32 pid;
	u64 anon_bytes;
};

struct holders {
	struct heap_entry heaps[HEAPS_LOOKED_AT];
	struct proc_scope scope;
	struct cgroup_mounts mounts;
	struct cgroup group;
	struct mounts table;
	VEC(struct tmpfs_mount) tmpfs;
	VEC(struct holder_entry) list;
	VEC(struct holder_map) maps;
	VEC(u32) told;         /* processes that the first look sent */
	int iterator;          /* over maps: its descriptor and 1; 0: none */
	struct groups parents; /* tgid -> struct held_children, as summed up so far */
	struct groups spaces;  /* tgid -> struct holder_space, at the first look */
	struct groups writes; /* tgid -> s64: written, less what went to disks, at the first look */
	struct keyvals io;    /* of the process at hand */
	struct groups inodes; /* of pipes and memory files that were seen in this look */
	struct str text, label;
	struct str peer, local, unnamed; /* of the process at hand */
	u64 next_ns, begin_ns;
	u64 first_look_ns; /* 0: there was none, or it left processes out */
	u64 maps_until_ns;
	bool reserved;             /* many huge pages are reserved for mappings */
	u64 segment_bytes;         /* of all System V segments */
	u64 shmem_bytes;           /* resident shared memory of all processes, each counted */
	struct held_totals totals; /* of the present look */
	u32 looks;
	bool ksm;          /* it runs */
	bool strict;       /* vm.overcommit_memory is 2 */
	bool brief;        /* what is open is all that is asked for */
	bool children_cut; /* … and some were not asked who their parent is */
	bool cut;          /* a look took too long: something was left out */
};

/* What some processes have open is left out. */
static inline void holders_cut(struct holders *s)
{
	s->cut = true;
	s->totals.cut = 1;
}

/* CPU time of this thread. */
u64 holders_cpu(void);

/* holders_files.c: sends tmpfs mounts; the walk only with `walk`. */
int holders_mounts_read(struct holders *s);
/* Those of other mount namespaces, as containers have: a walk over all processes. */
int holders_mounts_elsewhere(struct holders *s);
int holders_files_send(struct capture *c, struct holders *s, bool walk);
void holders_files_free(struct holders *s);
/* The mount of this device, or NULL. */
struct tmpfs_mount *holders_mount_of(struct holders *s, u64 device);

/* holders_fds.c: what a process has open. */
int holders_fds_look(struct holders *s, u32 pid, u64 until_ns, struct held_process *r);

/* holders_bpf.c: lists all maps, which only the start may do. */
int holders_maps_list(struct holders *s);
/* What a map takes that a process ("7", "self") has open as this number; it is known to be open. */
u64 holders_map_look(struct holders *s, const char *process, const char *number);
int holders_maps_send(struct capture *c, struct holders *s);

/* holders_heap.c: remembers the processes with most anonymous memory, and looks at their heaps. */
void holders_heap_offer(struct holders *s, u32 pid, u64 anon_bytes);
int holders_heaps_send(struct capture *c, struct holders *s);

/* holders_look.c: the group that a process's memory is charged to; 0: not known. */
u64 holders_cgroup(struct capture *c, struct holders *s, u32 pid);
/* All processes. */
int holders_look(struct capture *c, struct holders *s);

#endif
