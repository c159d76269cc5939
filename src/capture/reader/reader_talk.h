/* How memwhy talks to its readers: what reader.c and reader_names.c share. Private to them. */
#ifndef MEMWHY_CAPTURE_READER_TALK_H
#define MEMWHY_CAPTURE_READER_TALK_H

#include "base/clock.h"
#include "capture/reader/reader.h"
#include "capture/reader/reader_work.h"

#define ANSWER_NS (20 * NSEC_PER_SEC)
#define SEGMENTS_MAX 4096U

struct one {
	pid_t pid; /* 0: gone, or not of ours */
	int socket;
	u64 cpu_ns, grown_bytes;
};

struct reader {
	struct one all[READERS];
	u32 at;            /* who is asked */
	u64 device;        /* of the file that it was given last */
	u64 hung[READERS]; /* devices whose server has not answered one that is gone for it */
	u32 n_hung;
	u64 begun_ns;
	struct {
		int fd;
		void (*take)(void *arg); /* NULL: nothing */
		void *arg;
	} meanwhile;
};

/* Who is asked is asked nothing more: -EBADMSG. */
int reader_bad(struct reader *r);
/* The first that is there is asked, with a file to be read, or -1. -ESRCH: none is there. -EBADMSG:
 * nobody is, about a file of a server that did not answer. */
int reader_ask(struct reader *r, enum reader_what what, int file);
/* A few bytes, with a file or -1. */
int reader_give(struct reader *r, void *head, size_t n, int file);
int reader_write(struct reader *r, const void *from, size_t n, u64 until_ns);
int reader_read(struct reader *r, void *to, size_t n, u64 until_ns);
int reader_segments(struct reader *r, struct elf_segment *v, u32 n, u64 until_ns);
/* Errors are the reader's own words: none of them may end the session. */
int reader_error(struct reader *r, s32 rc);
void reader_spent(struct reader *r, const struct reader_spent *spent);

#endif
