/*
 * What resolving names may cost. Debug information, symbol tables and perf-PID.map files may have
 * been written by anybody on the host, and some honest files are gigabytes. One budget of bytes and
 * time per session bounds all of them, and the dictionaries that keep what was read. Time grows by
 * a hundredth of the run time, for sessions that last for days. A user who is neither root nor the
 * one running memwhy gets at most a quarter, so nobody can use it up for others. What was left out
 * is counted by user. Knows nothing of ELF.
 */
#ifndef MEMWHY_SYM_NAMES_BUDGET_H
#define MEMWHY_SYM_NAMES_BUDGET_H

#include "base/util.h"

#define BUDGET_BYTES_DEFAULT (256ULL << 20)
#define BUDGET_NS_DEFAULT (30ULL * 1000000000)
/* Time that comes back, in all: a process that reads names may use so much and some more
 * (capture/reader/reader_work.c), or it would be killed in the middle of an innocent file. */
#define BUDGET_REFILL_NS (3000ULL * 1000000000)
#define BUDGET_USERS 32 /* told apart; those beyond share one account */
#define BUDGET_SHARE 4  /* a user has at most this part of bytes and time */
#define BUDGET_OTHERS (~0U)

/* The account of a user. */
struct budget_user {
	u32 uid; /* BUDGET_OTHERS: of all who came late */
	bool trusted;
	u64 bytes;     /* held now */
	u64 ns;        /* spent */
	u64 files_out; /* read in part or not at all */
	u64 bytes_out; /* of them, or what they would have become */
};

struct sym_budget {
	u64 bytes_max;
	u64 bytes_taken;     /* held now, by all users together */
	u64 bytes_others;    /* held by other processes of the session */
	u64 ns_max, ns_left; /* of time, over all files */
	u64 pass_ns;         /* when the last pass began */
	u64 refilled_ns;     /* that came back, at most BUDGET_REFILL_NS */
	u64 words_bytes;     /* held for ever: what dictionaries keep, see budget_take_word */
	u64 words_out;
	struct budget_user users[BUDGET_USERS];
	u32 n_users;
	u32 user; /* whose files are being worked on: an index */
	u64 start_rss_bytes;
	u64 grown_bytes; /* by which work on names has let this process grow */
	int statm;       /* descriptor of /proc/self/statm plus one; 0: opened each time */

	/* The present stretch of work. */
	u64 rss_checked_ns;
	u64 begun_ns;
	u64 deadline_ns;
	bool over;
};

/* bytes, ns 0: the defaults. */
void budget_init(struct sym_budget *b, u64 bytes, u64 ns);
/* Another limit of bytes, while nothing is held. */
void budget_limit(struct sym_budget *b, u64 bytes);
/* What other processes of the session hold of the same bytes. */
void budget_others(struct sym_budget *b, u64 bytes);
/* Where this process cannot open files: its own /proc/self/statm, borrowed. */
void budget_statm(struct sym_budget *b, int fd);
/* What is taken and done from now on is because of a file of this user. Returns the account, to
 * give bytes back to. */
u32 budget_user(struct sym_budget *b, u32 uid);
/* Takes bytes out of the budget for the present user: 0, or -EFBIG (nothing is taken then). */
int budget_take(struct sym_budget *b, u64 bytes);
void budget_give_back(struct sym_budget *b, u32 user, u64 bytes);
/* The same for a word of a dictionary, which stays. Dictionaries have half of the budget. */
int budget_take_word(struct sym_budget *b, u64 bytes);
/* A file of the present user is left aside, of this size. */
void budget_leave_out(struct sym_budget *b, u64 bytes);

/* A pass over names starts. True: so much memory is in use that all data of files is to be freed
 * first. */
bool budget_pass_begin(struct sym_budget *b);
void budget_pass_end(struct sym_budget *b);
/* Brackets around a stretch of work; they do not nest. */
void budget_begin(struct sym_budget *b, u64 max_ns);
/* 0, or -ETIMEDOUT if the work went over its limit. */
int budget_end(struct sym_budget *b);
/* True once the work is to be broken off. Cheap: call it in each turn of a long loop. */
bool budget_over(struct sym_budget *b);
/* Has the present user no time left? */
bool budget_spent(const struct sym_budget *b);
/* Has this account, which had no time left, enough again to read a file with? */
bool budget_is_back(const struct sym_budget *b, u32 user);

#endif
