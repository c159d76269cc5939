/*
 * What holds memory that no process's resident memory shows: files in tmpfs, System V segments, and
 * what the kernel keeps for a process (page tables, pipes, sockets, open files). The records.
 */
#ifndef MEMWHY_PROBES_HOLDERS_H
#define MEMWHY_PROBES_HOLDERS_H

#include "event/wire.h"

/* A mounted file system that lives in memory, with what a walk of it found. */
struct held_files {
	struct rec h;
	u32 mount;     /* string: where it is mounted */
	u32 directory; /* string: the directory in it that has most; 0: not looked for */
	u64 used_bytes;
	u64 limit_bytes; /* of its size= option */
	u64 first_used_bytes;
	u64 files;       /* found by the walk */
	u64 found_bytes; /* by the walk; less than used where files were removed but are open */
	u64 directory_bytes, directory_files;
	u32 uid;           /* owner of most of the directory's bytes */
	u32 partial;       /* 1: the walk was cut short */
	u64 newest_age_ns; /* since a file in the directory was last written */
	u32 opener;        /* string: a process that has files of the directory open; 0: none has */
	u32 opener_tgid;
	u64 opener_files; /* it has open */
	u64 inodes;       /* of files and directories, empty ones too */
	u64 first_inodes;
};

/* What glibc's malloc holds in a process with much anonymous memory, as read from outside. */
struct held_heap {
	struct rec h;
	u32 tgid;
	u32 name; /* string */
	u64 start_ns;
	u64 cgroup;
	u32 arenas;
	u32 partial;         /* how many of them could be read in part only */
	u64 anon_bytes;      /* resident anonymous memory of the process */
	u64 system_bytes;    /* that arenas have from the kernel */
	u64 live_bytes;      /* blocks in use */
	u64 free_bytes;      /* free blocks between these */
	u64 kept_bytes;      /* resident pages that have nothing but free blocks */
	u64 trimmable_bytes; /* of these, what malloc_trim(0) gives back */
};

/* System V message queues, and the one that holds most. */
struct held_queues {
	struct rec h;
	u64 queues, messages, bytes;
	u64 id, id_messages, id_bytes; /* of the worst */
	u32 sender_tgid, sender;       /* the last; string: its name, 0: it has ended */
	u32 receiver_tgid, receiver;
	u64 idle_ns; /* since a message of it was taken; 0: never was one */
};

struct held_segment {
	struct rec h;
	u64 id;
	s64 key;
	u64 size_bytes, resident_bytes, swap_bytes;
	u64 attached; /* how often */
	u32 creator_tgid;
	u32 creator; /* string: the creator, if it still runs; 0: it has ended */
	u32 uid;
	u32 removed; /* 1: it goes when it is no longer attached */
	u64 idle_ns; /* since it was last attached or detached */
};

#define HELD_KINDS 16 /* enum fd_kind, by its place */

/* What the kernel keeps for one process: of those that stand out, after a second and at the end. */
struct held_process {
	struct rec h;
	u32 tgid;
	u32 name;     /* string: how people know it */
	u64 start_ns; /* since boot */
	u64 cgroup;
	u32 threads;
	u32 uid;
	u64 page_table_bytes, locked_bytes;
	u64 rss_bytes, shmem_bytes; /* shmem: shared memory in its RSS */
	u64 files;                  /* open */
	u32 kinds[HELD_KINDS];      /* of these, by enum fd_kind */
	u64 memfd_bytes; /* files without a name in memory: memfd, and removed from tmpfs */
	u64 pipe_bytes;  /* in pipes, not read; estimated where pipes_measured is less */
	u64 pipes, pipes_measured;
	u64 unread_bytes; /* came to its sockets, not read */
	u64 unsent_bytes; /* written to its sockets, not taken by the other side */
	u64 sockets, sockets_measured;
	u64 bpf_bytes;    /* of its BPF maps */
	u64 worst_bytes;  /* of the socket that holds most */
	u32 peer;         /* string: the other side of that; 0: not known */
	u32 worst_unsent; /* 1: that is unsent, 0: unread */
	u32 parent;       /* string */
	u32 parent_tgid;
	u64 pinned_bytes; /* VmPin: kept in place for devices and io_uring */
	u64 ksm_pages;    /* that KSM looks at; 0 also where it does not run (since 6.1) */
	u64 ksm_merged;   /* of these, merged */
	u32 local;    /* string: this side of the connection with `peer`, of TCP; 0: not known */
	u32 packets;  /* packet sockets (AF_PACKET) */
	u64 vm_bytes; /* its address space */
	u64 reserved_bytes; /* of huge pages that it has mapped and not touched */
	u64 mappings;       /* counted where its address space grew between the looks; else 0 */
	/* Since the first look, by it and by children of it that have ended: what was written by
	 * system calls and went to no disk, but to files in memory, pipes or sockets. */
	u64 written_bytes, written_ns; /* ns: since that look; 0: there was none */
};

/* BPF maps that no process has open: pinned, or kept by attached programs. */
struct held_maps {
	struct rec h;
	u64 maps, bytes;
	u64 pinned; /* of them, in a bpffs */
	u64 id, id_bytes;
	u32 path; /* string: where the largest is pinned; 0: it is not, or not seen to be */
	u32 reserved;
	char name[16]; /* of the largest */
};

/* A zram device that is not swap: a disk whose contents are memory. */
struct held_disk {
	struct rec h;
	u32 device; /* string: "/dev/zram0" */
	u32 on;     /* string: where it is mounted, or which device it is below; 0: neither */
	u32 use;    /* enum zram_use */
	u32 reserved;
	u64 memory_bytes, data_bytes, size_bytes;
};

/* Processes that have the same parent, of those that have many: all that status tells of them. */
struct held_children {
	struct rec h;
	u32 tgid;    /* the parent */
	u32 name;    /* string: the parent */
	u32 child;   /* string: one of them, as an example */
	u32 partial; /* 1: not all processes were looked at, so there may be more */
	u64 children, zombies, threads; /* zombies: ended, and not waited for */
	u64 page_table_bytes, rss_bytes;
	u64 anon_bytes;        /* of their resident memory, what each has for itself */
	u64 most_shared_bytes; /* the most that one of them has of the rest */
};

/* What all processes have open together, as the latest look found it. */
struct held_totals {
	struct rec h;
	u64 pipes, pipe_bytes; /* unread, in whole pages */
	u64 memfd_bytes;       /* of files in memory that have no name */
	u64 unread_bytes, unsent_bytes, sockets;
	u32 processes; /* that were looked at */
	u32 refused;   /* that were not: they are not ours to see */
	u32 cut;       /* 1: some were not looked at, that would have taken too long */
	u32 status_cut;    /* 1: … nor their status */
	u64 hugetlb_bytes; /* huge pages of pools that are mapped */
};

/* A thread of the kernel that works for memory, with its time on CPUs: when it changed. */
struct held_thread {
	struct rec h;
	u32 tid;
	u32 reserved;
	u64 cpu_ns; /* since boot */
	char comm[COMM_LEN];
};

#endif
