/* System V shared memory segments and message queues, from /proc/sysvipc. Owns the formats. */
#ifndef MEMWHY_SYS_SYSVIPC_H
#define MEMWHY_SYS_SYSVIPC_H

#include "base/vec.h"

#define SHM_SEGMENTS_MAX 65536
#define SHM_SEGMENT_REMOVED 01000 /* SHM_DEST: goes when nobody has it attached */
#define SHM_SEGMENT_LOCKED 02000

struct shm_segment {
	s64 key;
	u64 id;
	u32 perms; /* mode bits, SHM_SEGMENT_* among them */
	u64 size_bytes;
	u32 creator_pid, last_pid; /* as seen from our pid namespace; 0: not in it */
	u64 attached;              /* how often it is attached */
	u32 uid, gid, creator_uid;
	u64 attach_time, detach_time, change_time; /* seconds since 1970; 0: never */
	u64 resident_bytes, swap_bytes;
};

/* To be zeroed before its first use. */
struct shm_segments {
	VEC(struct shm_segment) list;
};

void shm_segments_free(struct shm_segments *s);
/* Replaces what ret held. Lines of another form are skipped. 0 or -ENOMEM. */
int shm_segments_parse(const char *text, struct shm_segments *ret);
/* 0, -ENOENT where the kernel has no System V IPC, or -errno. */
int shm_segments_read(struct shm_segments *ret);

/* What all message queues hold, the one that holds most, and those of whom most is from. */
struct msg_queues {
	u64 queues, messages, bytes; /* of the text of messages */
	/* Queues that one process was the last to send to, those with most together; of a user
	 * where these senders are not in our namespace (most_sender 0). */
	u64 most_queues, most_bytes;
	u32 most_sender, most_uid;
	u64 worst_id, worst_messages, worst_bytes;
	u32 worst_sender, worst_receiver; /* the last ones; 0: none yet, or not in our namespace */
	u64 worst_received_s;             /* seconds since 1970; 0: never */
};

/* Lines of another form are skipped. */
void msg_queues_parse(const char *text, struct msg_queues *ret);
/* 0, -ENOENT where the kernel has no System V IPC, or -errno. */
int msg_queues_read(struct msg_queues *ret);

#endif
