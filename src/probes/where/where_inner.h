/* Private to the where probe: what the parts of its sampler share. */
#ifndef MEMWHY_PROBES_WHERE_INNER_H
#define MEMWHY_PROBES_WHERE_INNER_H

#include "capture/names/names.h"
#include "capture/proc_scope.h"
#include "probes/where/where.h"
#include "sys/group/cgroup.h"
#include "sys/keyvals.h"
#include "sys/memory/memfs.h"
#include "sys/memory/zoneinfo.h"

/* Bytes of the memory of processes that are read in one look (sys/process/outside.h). */
#define WHERE_LOOK_MOST (2ULL << 30)

struct where {
	struct proc_scope scope;
	struct cgroup_mounts mounts;
	struct cgroup group; /* that was asked for; id 0: not found yet */
	struct keyvals meminfo, vmstat, kv;
	struct zoneinfo zones;
	struct memfs_list memfs;
	u64 percpu_first_bytes;
	bool stacks_in_vmalloc, balloon_in_total;
	bool census;           /* --census */
	bool at_once;          /* one look is all */
	struct inodes *inodes; /* --files; NULL: not asked for, or it cannot be done here */
	bool named;            /* its command, or record --probes where: owners are looked for */
	u32 sample;
	u64 next_ns;
	u64 left; /* of WHERE_LOOK_MOST */
	struct str text, label;
};

/* where_machine.c: what the ledger of the machine needs to know and does not change. Sends methods.
 */
int where_machine_open(struct capture *c, struct where *w);
int where_machine_survey(struct capture *c);
/* Sends the machine's ledger. */
int where_machine_send(struct capture *c, struct where *w);

/* where_owners.c: sends who has what of the machine. */
int where_owners_send(struct capture *c, struct where *w);

/* Sends whose page cache it is, by control group. below: of those below that one only; or NULL. */
int where_groups_send(struct capture *c, struct where *w, const char *below);

/* where_process.c: an error where none of the processes asked for can be looked at. */
int where_processes_open(struct capture *c, struct where *w, struct err *err);
/* Sends a ledger of each process in the scope, and what its mappings have. */
int where_processes_send(struct capture *c, struct where *w);

/* where_group.c: sends the ledger of the group that was asked for, limits, and who is in it. */
int where_group_send(struct capture *c, struct where *w);

/* where_files.c: which files have pages in memory. Opens what is needed, or says why not. */
int where_files_open(struct capture *c, struct where *w);
int where_files_send(struct capture *c, struct where *w);

/* Sends an owner of this look; name "": none, so nothing is sent. */
int where_owner_send(struct capture *c, struct where *w, struct where_owner *o, const char *name);

#endif
