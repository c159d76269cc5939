/* System V shared memory segments, from /proc/sysvipc/shm. Owns the format. */
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

#endif
