/* See budget.h. */
#include "sym/names_budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define STATM_BYTES 128
#define RSS_CHECK_EVERY_NS (20 * NSEC_PER_MSEC)
/* libdw makes at most a few bytes of each byte of honest debug information. */
#define RSS_SPARE_BYTES (64ULL << 20)
#define RSS_PER_BYTE 8
#define REFILL_PART 100

static bool statm_read(int fd, char *ret, size_t size)
{
	_cleanup_close_ int own = fd < 0 ? open("/proc/self/statm", O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = pread(fd < 0 ? own : fd, ret, size - 1, 0);

	ret[MAX(n, 0)] = '\0';
	return n > 0;
}

/* Resident bytes of this process; 0 where /proc cannot be read, which turns the limit off. */
static u64 self_rss_bytes(const struct sym_budget *b)
{
	unsigned long size, resident;
	char text[STATM_BYTES];

	if (!statm_read(b->statm - 1, text, sizeof(text)))
		return 0;
	if (sscanf(text, "%lu %lu", &size, &resident) != 2)
		return 0;
	return (u64)resident * (u64)sysconf(_SC_PAGESIZE);
}

/* Root, who runs memwhy, and whom sudo runs it for. */
static bool is_trusted(u32 uid)
{
	const char *sudo = getenv("SUDO_UID");

	return !uid || uid == geteuid() || (sudo && strtoul(sudo, NULL, 10) == uid);
}

void budget_init(struct sym_budget *b, u64 bytes, u64 ns)
{
	*b = (struct sym_budget){
		.bytes_max = bytes ? bytes : BUDGET_BYTES_DEFAULT,
		.ns_max = ns ? ns : BUDGET_NS_DEFAULT,
		.users = {{.trusted = true}},
		.n_users = 1,
	};
	b->ns_left = b->ns_max;
	b->start_rss_bytes = self_rss_bytes(b);
}

void budget_limit(struct sym_budget *b, u64 bytes)
{
	b->bytes_max = bytes;
}

void budget_others(struct sym_budget *b, u64 bytes)
{
	b->bytes_others = MIN(bytes, b->bytes_max);
}

void budget_statm(struct sym_budget *b, int fd)
{
	b->statm = fd + 1;
}

u32 budget_user(struct sym_budget *b, u32 uid)
{
	struct budget_user fresh = {.uid = uid, .trusted = is_trusted(uid)};

	for (b->user = 0; b->user < b->n_users; b->user++)
		if (b->users[b->user].uid == uid)
			return b->user;
	if (b->n_users == BUDGET_USERS)
		return b->user = BUDGET_USERS - 1;
	if (b->n_users == BUDGET_USERS - 1)
		fresh = (struct budget_user){.uid = BUDGET_OTHERS};
	b->users[b->n_users++] = fresh;
	return b->user;
}

/* The part of the whole that a user has. */
static u64 share(const struct budget_user *u, u64 of)
{
	return u->trusted ? of : of / BUDGET_SHARE;
}

int budget_take(struct sym_budget *b, u64 bytes)
{
	struct budget_user *u = &b->users[b->user];

	if (bytes > b->bytes_max || b->bytes_taken + b->bytes_others > b->bytes_max - bytes ||
		u->bytes + bytes > share(u, b->bytes_max))
		return -EFBIG;
	b->bytes_taken += bytes;
	u->bytes += bytes;
	return 0;
}

void budget_give_back(struct sym_budget *b, u32 user, u64 bytes)
{
	b->bytes_taken -= MIN(bytes, b->bytes_taken);
	b->users[user].bytes -= MIN(bytes, b->users[user].bytes);
}

int budget_take_word(struct sym_budget *b, u64 bytes)
{
	if (b->words_bytes + bytes > b->bytes_max / 2 ||
		b->bytes_taken + b->bytes_others + bytes > b->bytes_max) {
		b->words_out++;
		return -EFBIG;
	}
	b->words_bytes += bytes;
	b->bytes_taken += bytes;
	return 0;
}

void budget_leave_out(struct sym_budget *b, u64 bytes)
{
	struct budget_user *u = &b->users[b->user];

	u->files_out++;
	u->bytes_out += bytes;
}

/* What a session of days may spend grows with it. */
static void time_refill(struct sym_budget *b)
{
	u64 now = clock_mono_ns(), more = b->pass_ns ? (now - b->pass_ns) / REFILL_PART : 0;

	more = MIN(more, BUDGET_REFILL_NS - b->refilled_ns);
	b->pass_ns = now;
	b->refilled_ns += MIN(more, b->ns_max - b->ns_left);
	b->ns_left = MIN(b->ns_left + more, b->ns_max);
	for (u32 i = 0; i < b->n_users; i++)
		b->users[i].ns -= MIN(share(&b->users[i], more), b->users[i].ns);
}

bool budget_pass_begin(struct sym_budget *b)
{
	bool full = b->grown_bytes > b->bytes_max / 2;

	time_refill(b);
	if (full)
		b->grown_bytes = 0;
	b->start_rss_bytes = self_rss_bytes(b);
	return full;
}

void budget_pass_end(struct sym_budget *b)
{
	u64 rss = self_rss_bytes(b);

	b->grown_bytes += rss > b->start_rss_bytes ? rss - b->start_rss_bytes : 0;
}

static u64 left_ns(const struct sym_budget *b, u32 user)
{
	const struct budget_user *u = &b->users[user];
	u64 most = share(u, b->ns_max), left = u->ns < most ? most - u->ns : 0;

	return MIN(left, b->ns_left);
}

bool budget_spent(const struct sym_budget *b)
{
	return !left_ns(b, b->user);
}

bool budget_is_back(const struct sym_budget *b, u32 user)
{
	return left_ns(b, user) >= MIN(NSEC_PER_SEC, share(&b->users[user], b->ns_max) / 4);
}

void budget_begin(struct sym_budget *b, u64 max_ns)
{
	u64 left = left_ns(b, b->user);

	b->begun_ns = clock_mono_ns();
	b->deadline_ns = b->begun_ns + MIN(max_ns, left);
	b->over = !left;
}

int budget_end(struct sym_budget *b)
{
	u64 spent = clock_mono_ns() - b->begun_ns;

	b->ns_left -= MIN(spent, b->ns_left);
	b->users[b->user].ns += spent;
	return b->over ? -ETIMEDOUT : 0;
}

static u64 rss_max(const struct sym_budget *b)
{
	u64 grown = MIN(RSS_PER_BYTE * b->bytes_taken, b->bytes_max);

	return b->start_rss_bytes + RSS_SPARE_BYTES + grown;
}

bool budget_over(struct sym_budget *b)
{
	u64 now;

	if (b->over)
		return true;
	now = clock_mono_ns();
	b->over = now >= b->deadline_ns;
	if (now - b->rss_checked_ns >= RSS_CHECK_EVERY_NS) {
		b->rss_checked_ns = now;
		if (self_rss_bytes(b) > rss_max(b))
			b->over = true;
	}
	return b->over;
}
