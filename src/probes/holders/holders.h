/*
 * What holds memory that no process's resident memory shows: files in tmpfs, System V segments, and
 * what the kernel keeps for a process (page tables, pipes, sockets, open files). The records.
 */
#ifndef MEMWHY_PROBES_HOLDERS_H
#define MEMWHY_PROBES_HOLDERS_H

#include "event/wire.h"

/* A mounted file system that lives in memory, with what a walk of it found. */
#define HELD_FILES_FIELDS(F, R)                                                              \
	F(R, u32, mount, STRING, "where the file system is mounted")                         \
	F(R, u32, directory, STRING, "the directory in it that has most; 0: not looked for") \
	F(R, u64, used_bytes, BYTES, "memory of its files, in swap too")                     \
	F(R, u64, limit_bytes, BYTES, "the most it takes; 0: no limit")                      \
	F(R, u64, first_used_bytes, BYTES, "used_bytes when it was first seen")              \
	F(R, u64, files, COUNT, "files found in it")                                         \
	F(R, u64, found_bytes, BYTES, "memory of these")                                     \
	F(R, u64, directory_bytes, BYTES, "memory of the files of the directory")            \
	F(R, u64, directory_files, COUNT, "files in the directory, and below")               \
	F(R, u32, uid, ID, "user who owns the largest file of the directory")                \
	F(R, u32, partial, NONE, "1: not all of it was looked through")                      \
	F(R, u64, newest_age_ns, NS, "time since a file of the directory was written")       \
	F(R, u32, opener, STRING, "a process that has files of it open; 0: none")            \
	F(R, u32, opener_tgid, ID, "that process")                                           \
	F(R, u64, opener_files, COUNT, "how many it has open")                               \
	F(R, u64, inodes, COUNT, "its files and directories, empty ones too")                \
	F(R, u64, first_inodes, COUNT, "inodes when it was first seen")                      \
	F(R, u64, most_inodes, COUNT, "how many it may have; 0: not known")                  \
	F(R, u64, device, ID, "its device (st_dev)")
RECORD(held_files, HELD_FILES_FIELDS);

/* What an allocator holds in a process with much anonymous memory, as read from outside. */
#define HELD_HEAP_FIELDS(F, R)                                                      \
	F(R, u32, tgid, ID, "process")                                              \
	F(R, u32, name, STRING, "its name")                                         \
	F(R, u64, start_ns, NS, "its start, of CLOCK_MONOTONIC")                    \
	F(R, u64, cgroup, CGROUP, "control group that its memory is charged to")    \
	F(R, u32, arenas, COUNT, "arenas of glibc's malloc; 0: another allocator")  \
	F(R, u32, partial, COUNT, "of these, read in part only")                    \
	F(R, u64, anon_bytes, BYTES, "resident anonymous memory of the process")    \
	F(R, u64, system_bytes, BYTES, "that the arenas have from the kernel")      \
	F(R, u64, live_bytes, BYTES, "blocks in use")                               \
	F(R, u64, free_bytes, BYTES, "free blocks between these")                   \
	F(R, u64, kept_bytes, BYTES, "resident pages with nothing but free blocks") \
	F(R, u64, trimmable_bytes, BYTES, "of these, what can be given back")       \
	F(R, s64, decay_ms, NONE, "jemalloc's dirty_decay_ms; -2: not known")       \
	F(R, u32, allocator, STRING, "its name; 0: glibc's malloc")                 \
	F(R, u32, reserved, HIDDEN, "")
RECORD(held_heap, HELD_HEAP_FIELDS);

/* System V message queues, and the one that holds most. */
#define HELD_QUEUES_FIELDS(F, R)                                                               \
	F(R, u64, queues, COUNT, "queues")                                                     \
	F(R, u64, messages, COUNT, "messages in them")                                         \
	F(R, u64, bytes, BYTES, "text of these")                                               \
	F(R, u64, id, ID, "the queue that holds most (msqid)")                                 \
	F(R, u64, id_messages, COUNT, "messages in it")                                        \
	F(R, u64, id_bytes, BYTES, "their text")                                               \
	F(R, u32, sender_tgid, ID, "process that last sent to it")                             \
	F(R, u32, sender, STRING, "its name; 0: it has ended")                                 \
	F(R, u32, receiver_tgid, ID, "process that last received from it")                     \
	F(R, u32, receiver, STRING, "its name; 0: it has ended")                               \
	F(R, u64, idle_ns, NS, "time since that; 0: nobody ever did")                          \
	F(R, u32, most_tgid, ID,                                                               \
		"process that last sent to queues which hold most together; 0: not seen from " \
		"here")                                                                        \
	F(R, u32, most, STRING, "its name; 0: it has ended")                                   \
	F(R, u64, most_queues, COUNT, "these queues; 0: not known")                            \
	F(R, u64, most_bytes, BYTES, "their text")                                             \
	F(R, u32, most_uid, ID, "user who owns them")                                          \
	F(R, u32, reserved, HIDDEN, "")
RECORD(held_queues, HELD_QUEUES_FIELDS);

#define HELD_SEGMENT_FIELDS(F, R)                                          \
	F(R, u64, id, ID, "the segment (shmid)")                           \
	F(R, s64, key, ID, "its key")                                      \
	F(R, u64, size_bytes, BYTES, "size")                               \
	F(R, u64, resident_bytes, BYTES, "memory it has")                  \
	F(R, u64, swap_bytes, BYTES, "of it in swap")                      \
	F(R, u64, attached, COUNT, "how often it is attached")             \
	F(R, u32, creator_tgid, ID, "process that made it")                \
	F(R, u32, creator, STRING, "its name; 0: it has ended")            \
	F(R, u32, uid, ID, "user who owns it")                             \
	F(R, u32, removed, NONE, "1: it goes when nobody has it attached") \
	F(R, u64, idle_ns, NS, "time since it was last attached or detached")
RECORD(held_segment, HELD_SEGMENT_FIELDS);

#define HELD_KINDS 16 /* enum fd_kind, by its place */

enum held_process_flags {
	HELD_ENDED = 1, /* an earlier look saw it: it has ended, and only tgid is filled in */
};

/* What the kernel keeps for one process: of those that stand out, after a second and at the end.
 * Flags: enum held_process_flags. */
#define HELD_PROCESS_FIELDS(F, R)                                                                  \
	F(R, u32, tgid, ID, "process")                                                             \
	F(R, u32, name, STRING, "its name, of an interpreter with what it runs")                   \
	F(R, u64, start_ns, NS, "its start, of CLOCK_MONOTONIC")                                   \
	F(R, u64, cgroup, CGROUP, "control group that its memory is charged to")                   \
	F(R, u32, threads, COUNT, "its threads")                                                   \
	F(R, u32, uid, ID, "user")                                                                 \
	F(R, u64, page_table_bytes, BYTES, "page tables")                                          \
	F(R, u64, locked_bytes, BYTES, "locked memory (mlock)")                                    \
	F(R, u64, rss_bytes, BYTES, "resident memory")                                             \
	F(R, u64, shmem_bytes, BYTES, "shared memory in it")                                       \
	F(R, u64, files, COUNT, "open files")                                                      \
	F(R, u32[HELD_KINDS], kinds, COUNT,                                                        \
		"of these: paths, pipes, sockets, epoll, event and timer, watches, userfaultfd, "  \
		"BPF maps, other BPF, io_uring, perf, memfd, other shared memory, dmabuf, "        \
		"removed, other") /* of these, by enum fd_kind */                                  \
	F(R, u64, memfd_bytes, BYTES, "memory of open files that have no name")                    \
	F(R, u64, pipe_bytes, BYTES, "in its pipes, not read")                                     \
	F(R, u64, pipes, COUNT, "pipes")                                                           \
	F(R, u64, pipes_measured, COUNT, "of these, looked into")                                  \
	F(R, u64, unread_bytes, BYTES, "arrived at its sockets, not read")                         \
	F(R, u64, unsent_bytes, BYTES, "written to its sockets, not taken")                        \
	F(R, u64, sockets, COUNT, "sockets")                                                       \
	F(R, u64, sockets_measured, COUNT, "of these, looked into")                                \
	F(R, u64, bpf_bytes, BYTES, "memory of its BPF maps")                                      \
	F(R, u64, worst_bytes, BYTES, "of the socket that holds most")                             \
	F(R, u32, peer, STRING, "the other side of that")                                          \
	F(R, u32, worst_unsent, NONE, "1: it was written and not taken; 0: not read")              \
	F(R, u32, parent, STRING, "its parent")                                                    \
	F(R, u32, parent_tgid, ID, "the parent's number")                                          \
	F(R, u64, pinned_bytes, BYTES, "kept in place for devices and io_uring")                   \
	F(R, u64, ksm_pages, PAGES, "that KSM looks at")                                           \
	F(R, u64, ksm_merged, PAGES, "of these, merged with others")                               \
	F(R, u32, local, STRING, "this side of the connection with peer")                          \
	F(R, u32, packets, COUNT, "packet sockets")                                                \
	F(R, u64, vm_bytes, BYTES, "its address space")                                            \
	F(R, u64, reserved_bytes, BYTES,                                                           \
		"huge pages of the pool that it has mapped and not touched")                       \
	F(R, u64, mappings, COUNT,                                                                 \
		"its mappings, where its address space grew between the looks; else 0")            \
	F(R, u64, written_bytes, BYTES,                                                            \
		"written since the first look, by ended children too, to no disk")                 \
	F(R, u64, written_ns, NS, "time since the first look; 0: there was none")                  \
	F(R, u64, memlock_bytes, BYTES,                                                            \
		"its RLIMIT_MEMLOCK, where it has locked memory; all ones: none binds it, or not " \
		"known")                                                                           \
	F(R, u64, shmem_grown_bytes, BYTES, "shared memory in it, more than at the first look")    \
	F(R, u64, in_flight, COUNT,                                                                \
		"descriptors in messages at its UNIX sockets that wait to be received")            \
	F(R, u64, twice_bytes, BYTES,                                                              \
		"of UNIX sockets, in both unread_bytes and unsent_bytes where it has both ends")   \
	F(R, u64, files_max, COUNT, "its RLIMIT_NOFILE, where it has many open; 0: not known")     \
	F(R, u64, ring_bytes, BYTES, "rings of its io_uring")                                      \
	F(R, u64, guarded, COUNT,                                                                  \
		"of its mappings, where these are counted: with a guard below, as stacks have")    \
	F(R, u64, terminals, COUNT, "pseudo-terminals that it has open at the master's end")       \
	F(R, u64, slots_bytes, BYTES,                                                              \
		"of its pipes that can hold much: the array of what they hold, above 8 KiB")       \
	F(R, u64, data_bytes, BYTES,                                                               \
		"private writable memory, touched or not, where overcommit is strict; else 0")     \
	F(R, u64, unnamed_most_bytes, BYTES, "of memfd_bytes, in the largest file")                \
	F(R, u32, unnamed_most, STRING, "its name, as it was")                                     \
	F(R, u32, reserved, HIDDEN, "")                                                            \
	F(R, u64, mapped_bytes, BYTES, "rings of packet sockets and of perf events that it maps")
RECORD(held_process, HELD_PROCESS_FIELDS);

/* BPF maps that no process has open: pinned, or kept by attached programs. */
#define HELD_MAPS_FIELDS(F, R)                                           \
	F(R, u64, maps, COUNT, "maps")                                   \
	F(R, u64, bytes, BYTES, "memory of them")                        \
	F(R, u64, pinned, COUNT, "of these, pinned in a bpffs")          \
	F(R, u64, id, ID, "the largest")                                 \
	F(R, u64, id_bytes, BYTES, "its memory")                         \
	F(R, u32, path, STRING, "where it is pinned; 0: not seen to be") \
	F(R, u32, reserved, HIDDEN, "")                                  \
	F(R, char[16], name, NONE, "its name")
RECORD(held_maps, HELD_MAPS_FIELDS);

/* A zram device that is not swap: a disk whose contents are memory. */
#define HELD_DISK_FIELDS(F, R)                                                                 \
	F(R, u32, device, STRING, "the device")                                                \
	F(R, u32, on, STRING, "where it is mounted, or which device it is below; 0: neither")  \
	F(R, u32, use, ID,                                                                     \
		"0 neither mounted nor below another, 2 mounted, 3 below") /* enum zram_use */ \
	F(R, u32, reserved, HIDDEN, "")                                                        \
	F(R, u64, memory_bytes, BYTES, "memory that it takes")                                 \
	F(R, u64, data_bytes, BYTES, "stored in it, before compression")                       \
	F(R, u64, size_bytes, BYTES, "the most that it stores")
RECORD(held_disk, HELD_DISK_FIELDS);

/* A ring buffer of the kernel's tracing. */
#define HELD_TRACE_FIELDS(F, R)                                                                    \
	F(R, u32, instance, STRING, "the instance of tracefs it is of; 0: that of tracefs itself") \
	F(R, u32, directory, STRING, "where its files are; 0: tracefs is not mounted")             \
	F(R, u64, bytes, BYTES, "memory that it takes, on all CPUs")                               \
	F(R, u64, cpu_bytes, BYTES, "of it on each CPU; 0: they differ")                           \
	F(R, u32, on, NONE, "1: events are written to it")                                         \
	F(R, u32, reserved, HIDDEN, "")
RECORD(held_trace, HELD_TRACE_FIELDS);

/* Children of parents that have many: all that their status files say. */
#define HELD_CHILDREN_FIELDS(F, R)                                                       \
	F(R, u32, tgid, ID, "the parent")                                                \
	F(R, u32, name, STRING, "its name")                                              \
	F(R, u32, child, STRING, "one of its children")                                  \
	F(R, u32, partial, NONE, "1: there may be more: not all were looked at")         \
	F(R, u64, children, COUNT, "its children")                                       \
	F(R, u64, zombies, COUNT, "of these, ended and not waited for")                  \
	F(R, u64, threads, COUNT, "threads of all of them")                              \
	F(R, u64, page_table_bytes, BYTES, "page tables of all of them")                 \
	F(R, u64, rss_bytes, BYTES, "resident memory, what they share counted for each") \
	F(R, u64, anon_bytes, BYTES, "resident anonymous memory of all of them")         \
	F(R, u64, most_shared_bytes, BYTES,                                              \
		"resident files and shared memory of the one that has most")             \
	F(R, u64, room, COUNT,                                                           \
		"tasks that the nearest limit leaves for more of them; 0: not known")    \
	F(R, u32, limit, STRING, "that limit: a sysctl, or a file of a control group")   \
	F(R, u32, reserved, HIDDEN, "")
RECORD(held_children, HELD_CHILDREN_FIELDS);

/* What all processes have open together, as the latest look found it. */
#define HELD_TOTALS_FIELDS(F, R)                                                         \
	F(R, u64, pipes, COUNT, "pipes")                                                 \
	F(R, u64, pipe_bytes, BYTES, "in them, not read, in whole pages")                \
	F(R, u64, memfd_bytes, BYTES, "memory of open files that have no name")          \
	F(R, u64, unread_bytes, BYTES, "arrived at sockets, not read")                   \
	F(R, u64, unsent_bytes, BYTES, "written to sockets, not taken")                  \
	F(R, u64, sockets, COUNT, "sockets")                                             \
	F(R, u32, processes, COUNT, "processes that were looked at")                     \
	F(R, u32, refused, COUNT, "processes that may not be looked at")                 \
	F(R, u32, cut, NONE, "1: the look was cut short")                                \
	F(R, u32, status_cut, NONE, "1: … so that some were not asked their status")     \
	F(R, u64, hugetlb_bytes, BYTES, "huge pages of the pools that are mapped")       \
	F(R, u64, shown_bytes, BYTES,                                                    \
		"shared memory that something shows: of processes, each counted, files " \
		"in tmpfs, segments; 0: not known")                                      \
	F(R, u64, resident_shmem_bytes, BYTES,                                           \
		"of that, resident shared memory of processes, each counted; 0 where "   \
		"shown_bytes is")
RECORD(held_totals, HELD_TOTALS_FIELDS);

/* A thread of the kernel that works for memory, with its time on CPUs, in recordings from before
 * these were system values (SYSTEM_THREAD). */
#define HELD_THREAD_FIELDS(F, R)                             \
	F(R, u32, tid, ID, "thread")                         \
	F(R, u32, reserved, HIDDEN, "")                      \
	F(R, u64, cpu_ns, NS, "its time on CPUs since boot") \
	F(R, char[COMM_LEN], comm, NONE, "its name")
RECORD(held_thread, HELD_THREAD_FIELDS);

#endif
