/* See reader.h. */
#include "capture/reader/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/answering.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd_pass.h"
#include "capture/reader/reader_talk.h"
#include "cfi/rule_set.h"
#include "sys/process/proc.h"
#include "sys/root.h"
#include "sys/scan.h"

#define SECTION_MAX (64ULL << 20) /* as cfi/elf_table.c */
#define RULES_MAX 65536
#define LOOK_MS 500 /* at one that has not answered */
#define STUCK_LOOKS 4

static struct reader *capture_reader_new(void)
{
	struct reader *r = calloc(1, sizeof(*r));

	for (u32 i = 0; r && i < READERS; i++)
		r->all[i].socket = -1;
	if (r)
		r->begun_ns = clock_mono_ns();
	return r;
}

int reader_open(struct reader **ret)
{
	struct reader *r = capture_reader_new();
	int rc = r ? 0 : -ENOMEM;

	for (u32 i = 0; i < READERS && !rc; i++)
		rc = child_begin(
			SOCK_STREAM, SIGKILL, reader_work, &r->all[i].pid, &r->all[i].socket);
	if (rc) {
		reader_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

int reader_over(int socket, struct reader **ret)
{
	struct reader *r = capture_reader_new();

	if (!r)
		return -ENOMEM;
	r->all[0].socket = socket;
	*ret = r;
	return 0;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	/* Each reads to the end of its socket: all end at once. */
	for (u32 i = 0; i < READERS; i++)
		if (r->all[i].socket >= 0)
			close(r->all[i].socket);
	/* One that was closed early may have died only since. */
	for (u32 i = 0; i < READERS; i++)
		if (r->all[i].pid > 0)
			waitpid(r->all[i].pid, NULL, r->all[i].socket >= 0 ? 0 : WNOHANG);
	free(r);
}

/* One that nobody has asked since it died is still connected. */
bool reader_is_gone(const struct reader *r)
{
	char byte;

	for (u32 i = 0; i < READERS; i++)
		if (r->all[i].socket >= 0 &&
			recv(r->all[i].socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
			return false;
	return true;
}

pid_t reader_pid(const struct reader *r, u32 i)
{
	return r->all[i].socket >= 0 ? r->all[i].pid : 0;
}

u64 reader_cpu_ns(const struct reader *r)
{
	u64 sum = 0;

	for (u32 i = 0; i < READERS; i++)
		sum += r->all[i].cpu_ns;
	return sum;
}

u64 reader_grown_bytes(const struct reader *r)
{
	u64 sum = 0;

	for (u32 i = 0; i < READERS; i++)
		sum += r->all[i].grown_bytes;
	return sum;
}

int reader_bad(struct reader *r)
{
	struct one *o = &r->all[r->at];

	/* Its socket may be gone before it has ended: another look at it is at the end. */
	if (o->pid > 0 && waitpid(o->pid, NULL, WNOHANG) == o->pid)
		o->pid = 0;
	close(take_fd(o->socket));
	return -EBADMSG;
}

void reader_meanwhile(struct reader *r, int fd, void (*take)(void *arg), void *arg)
{
	r->meanwhile.fd = fd;
	r->meanwhile.take = take;
	r->meanwhile.arg = arg;
}

/* How it was when it was looked at. */
struct stuck {
	u64 ran_ns;
	u32 looks; /* in a row it waited, and did nothing between them */
};

/*
 * Does it wait for the server of a file (NFS, FUSE) that does not answer? It waits for nothing else
 * while it is to answer itself, and not even SIGKILL ends that. A slow server lets it go on for a
 * moment now and then; one that has no processor is ready to run. A disk answers, however late:
 * what has a device of its own is waited for.
 */
static bool is_stuck(struct reader *r, struct stuck *s)
{
	_cleanup_str_ struct str text = {};
	const struct one *o = &r->all[r->at];
	struct proc_stat st;
	u64 ran_ns = 0;
	struct scan at;
	bool waits;

	if (!o->pid || proc_stat_read(o->pid, &st) || sys_read(&text, "/proc/%d/schedstat", o->pid))
		return false;
	at = scan_text(str_get(&text));
	if (!scan_u64(&at, &ran_ns))
		return false;
	waits = st.state != 'R' && !(st.state == 'D' && major(r->device));
	s->looks = waits && (!s->looks || ran_ns == s->ran_ns) ? s->looks + 1 : 0;
	s->ran_ns = ran_ns;
	if (s->looks < STUCK_LOOKS)
		return false;
	if (r->n_hung < READERS)
		r->hung[r->n_hung++] = r->device;
	return true;
}

int reader_read(struct reader *r, void *to, size_t n, u64 until_ns)
{
	struct stuck stuck = {};
	u64 look_ns = clock_mono_ns() + LOOK_MS * NSEC_PER_MSEC;
	struct pollfd p[2] = {{.fd = r->all[r->at].socket, .events = POLLIN},
		{.fd = r->meanwhile.take ? r->meanwhile.fd : -1, .events = POLLIN}};

	for (char *at = to; n;) {
		u64 now = clock_mono_ns();
		ssize_t k;

		if (now >= until_ns || (now >= look_ns && is_stuck(r, &stuck)))
			return reader_bad(r);
		if (now >= look_ns)
			look_ns = now + LOOK_MS * NSEC_PER_MSEC;
		if (poll(p, ARRAY_SIZE(p),
			    (int)((MIN(until_ns, look_ns) - now) / NSEC_PER_MSEC) + 1) < 0 &&
			errno != EINTR)
			return reader_bad(r);
		if (p[1].revents)
			r->meanwhile.take(r->meanwhile.arg);
		k = recv(p[0].fd, at, n, MSG_DONTWAIT);
		if (k < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (k <= 0)
			return reader_bad(r);
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

int reader_write(struct reader *r, const void *from, size_t n, u64 until_ns)
{
	struct pollfd p = {.fd = r->all[r->at].socket, .events = POLLOUT};

	for (const char *at = from; n;) {
		u64 now = clock_mono_ns();
		ssize_t k;

		if (now >= until_ns)
			return reader_bad(r);
		if (poll(&p, 1, (int)((until_ns - now) / NSEC_PER_MSEC) + 1) < 0 && errno != EINTR)
			return reader_bad(r);
		k = send(p.fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (k < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (k <= 0)
			return reader_bad(r);
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

static u64 device_of(int file)
{
	struct stat st;

	return stat_known(file, "", AT_EMPTY_PATH, &st) ? 0 : st.st_dev;
}

static bool is_hung(const struct reader *r, u64 device)
{
	for (u32 i = 0; i < r->n_hung; i++)
		if (r->hung[i] == device)
			return true;
	return false;
}

int reader_give(struct reader *r, void *head, size_t n, int file)
{
	if (file >= 0)
		r->device = device_of(file);
	return fd_send(r->all[r->at].socket, head, n, file) ? reader_bad(r) : 0;
}

int reader_ask(struct reader *r, enum reader_what what, int file)
{
	struct reader_ask ask = {.what = what};

	if (file >= 0 && r->n_hung && is_hung(r, device_of(file)))
		return -EBADMSG;
	while (r->at < READERS && r->all[r->at].socket < 0)
		r->at++;
	if (r->at == READERS) {
		r->at = READERS - 1;
		return -ESRCH;
	}
	return reader_give(r, &ask, sizeof(ask), file);
}

void reader_spent(struct reader *r, const struct reader_spent *spent)
{
	struct one *o = &r->all[r->at];

	o->cpu_ns = MIN(spent->cpu_ns, clock_mono_ns() - r->begun_ns);
	o->grown_bytes = MIN(spent->grown_bytes, READER_MEMORY_MAX);
}

int reader_error(struct reader *r, s32 rc)
{
	if (rc > 0 || rc < -4095)
		return reader_bad(r);
	return rc == -ENOMEM || rc == -EBADMSG ? -EFBIG : rc;
}

static bool place_is_sound(const struct reader_answer *a)
{
	return a->size && a->size <= SECTION_MAX && a->offset <= INT64_MAX - a->size &&
	       a->code_start < a->code_end && a->code_end - a->code_start <= UINT32_MAX &&
	       a->n <= SEGMENTS_MAX;
}

int reader_segments(struct reader *r, struct elf_segment *v, u32 n, u64 until_ns)
{
	int rc = reader_read(r, v, n * sizeof(*v), until_ns);

	for (u32 i = 0; i < n && !rc; i++) {
		const u8 *byte = (const u8 *)&v[i].executable; /* which may be no bool */

		v[i].executable = *byte != 0;
	}
	return rc;
}

int reader_look(struct reader *r, int fd, struct reader_file *ret)
{
	u64 until = clock_mono_ns() + ANSWER_NS;
	struct reader_file file = {};
	struct reader_answer a;
	int rc = reader_ask(r, READER_LOOK, fd);

	if (!rc)
		rc = reader_read(r, &a, sizeof(a), until);
	if (rc)
		return rc;
	if (a.rc)
		return reader_error(r, a.rc);
	if (!place_is_sound(&a))
		return reader_bad(r);
	if (vec_reserve(&file.segments, a.n))
		return -ENOMEM;
	rc = reader_segments(r, file.segments.v, a.n, until);
	if (rc) {
		vec_free(&file.segments);
		return rc;
	}
	file.segments.n = a.n;
	file.offset = a.offset;
	file.size = a.size;
	file.address = a.address;
	file.code_start = a.code_start;
	file.code_end = a.code_end;
	*ret = file;
	return 0;
}

void reader_skip(struct reader *r)
{
	if (send(r->all[r->at].socket, "", 1, MSG_NOSIGNAL) != 1)
		reader_bad(r);
}

static bool rules_are_sound(const struct cfi_rule *rules, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (rules[i].kind >= CFI_KINDS || rules[i].bp > CFI_LOST || rules[i].bx > CFI_LOST)
			return false;
	return rules[CFI_RULE_NONE].kind == CFI_NONE;
}

static bool rows_are_sound(const struct cfi_table *t, u64 code_bytes)
{
	const struct cfi_rows *rows = &t->rows;

	for (u32 i = 0; i < rows->n; i++)
		if (rows->rule_of[i] >= t->n_rules || rows->pc[i] > code_bytes ||
			(i && rows->pc[i] <= rows->pc[i - 1]))
			return false;
	return true;
}

/* As cfi/table.h promises: a row for two bytes of the section, with one before and one behind. */
static bool head_is_sound(const struct reader_table_answer *a, const struct reader_file *f)
{
	return a->n_rules && a->n_rules <= RULES_MAX && a->n_rows <= f->size / 2 + 2 &&
	       a->base == f->code_start;
}

/* One block of memory, as cfi_table_free() has it. */
static int capture_reader_table_read(struct reader *r, const struct reader_table_answer *a,
	const struct reader_file *f, u64 until, struct cfi_table **ret)
{
	size_t rules = a->n_rules * sizeof(struct cfi_rule), pcs = a->n_rows * sizeof(u32);
	size_t bytes = sizeof(struct cfi_table) + rules + pcs + a->n_rows * sizeof(u16);
	_cleanup_cfi_table_ struct cfi_table *t = malloc(bytes);
	int rc;

	if (!t)
		return -ENOMEM;
	rc = reader_read(r, t + 1, bytes - sizeof(*t), until);
	if (rc)
		return rc;
	*t = (struct cfi_table){
		.rows = {.rules = (void *)(t + 1),
			.pc = (void *)((char *)(t + 1) + rules),
			.rule_of = (void *)((char *)(t + 1) + rules + pcs),
			.n = a->n_rows},
		.n_rules = a->n_rules,
		.base = a->base,
		.bytes = bytes,
		.counts = a->counts,
	};
	t->counts.section_bytes = f->size;
	if (!rules_are_sound(t->rows.rules, t->n_rules) ||
		!rows_are_sound(t, f->code_end - f->code_start))
		return reader_bad(r);
	*ret = take_ptr(t);
	return 0;
}

static int table_answered(
	struct reader *r, const struct reader_file *file, u64 until, struct cfi_table **ret)
{
	struct reader_table_answer a;
	int rc = reader_read(r, &a, sizeof(a), until);

	if (rc)
		return rc;
	if (a.rc)
		return reader_error(r, a.rc);
	reader_spent(r, &a.spent);
	return head_is_sound(&a, file) ? capture_reader_table_read(r, &a, file, until, ret)
				       : reader_bad(r);
}

int reader_table(struct reader *r, const struct reader_file *file, struct cfi_table **ret)
{
	u64 until = clock_mono_ns() + ANSWER_NS;
	int rc = send(r->all[r->at].socket, "\1", 1, MSG_NOSIGNAL) == 1 ? 0 : reader_bad(r);

	return rc ? rc : table_answered(r, file, until, ret);
}

int reader_function_table(struct reader *r, int fd, const struct reader_file *file, u64 address,
	struct cfi_table **ret)
{
	u64 until = clock_mono_ns() + ANSWER_NS;
	struct reader_function_ask ask = {.address = address};
	int rc = reader_ask(r, READER_FUNCTION_TABLE, fd);

	rc = rc ? rc : reader_write(r, &ask, sizeof(ask), until);
	return rc ? rc : table_answered(r, file, until, ret);
}

int reader_functions(struct reader *r, int fd, u32 type, const char *const *names, u32 n,
	u64 *ret_offsets, bool *ret_static)
{
	u64 until = clock_mono_ns() + ANSWER_NS;
	struct reader_functions_ask ask = {.type = type, .n = n};
	struct reader_functions_answer a;
	int rc = n <= READER_FUNCTIONS_MAX ? reader_ask(r, READER_FUNCTIONS, fd) : -EINVAL;

	for (u32 i = 0; i < n && !rc; i++)
		snprintf(ask.names[i], sizeof(ask.names[i]), "%s", names[i]);
	rc = rc ? rc : reader_write(r, &ask, sizeof(ask), until);
	rc = rc ? rc : reader_read(r, &a, sizeof(a), until);
	if (rc)
		return rc;
	*ret_static = a.is_static != 0;
	memcpy(ret_offsets, a.offsets, n * sizeof(*ret_offsets));
	return a.rc ? reader_error(r, a.rc) : 0;
}

int reader_symbol(struct reader *r, int fd, const char *symbol, struct reader_symbol *ret)
{
	u64 until = clock_mono_ns() + ANSWER_NS;
	struct reader_symbol_ask ask = {};
	struct reader_symbol_answer a;
	int rc = strlen(symbol) < sizeof(ask.name) ? reader_ask(r, READER_SYMBOL, fd)
						   : -ENAMETOOLONG;

	if (!rc)
		strcpy(ask.name, symbol);
	rc = rc ? rc : reader_write(r, &ask, sizeof(ask), until);
	rc = rc ? rc : reader_read(r, &a, sizeof(a), until);
	if (rc)
		return rc;
	if (a.rc)
		return reader_error(r, a.rc);
	if (a.offset > INT64_MAX || !memchr(a.near, '\0', sizeof(a.near)))
		return reader_bad(r);
	*ret = (struct reader_symbol){a.found != 0, a.stripped != 0, a.offset, {}};
	strcpy(ret->near, a.near);
	return 0;
}

int reader_needs(struct reader *r, int fd, char ret[READER_NEEDS_MAX], u32 *ret_n)
{
	u64 until = clock_mono_ns() + ANSWER_NS;
	struct reader_answer a;
	int rc = reader_ask(r, READER_NEEDS, fd);

	if (!rc)
		rc = reader_read(r, &a, sizeof(a), until);
	if (rc)
		return rc;
	if (a.rc)
		return reader_error(r, a.rc);
	if (a.n > READER_NEEDS_MAX)
		return reader_bad(r);
	rc = reader_read(r, ret, a.n, until);
	if (!rc && a.n && ret[a.n - 1])
		return reader_bad(r);
	*ret_n = rc ? 0 : a.n;
	return rc;
}
