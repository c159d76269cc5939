/* See reader_names.h: the side of memwhy. */
#include "capture/reader/reader_names.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "capture/reader/reader_names_work.h"
#include "capture/reader/reader_talk.h"
#include "sym/dwarfinfo.h"
#include "sym/rootfs.h"

/* An ask that is being answered. */
struct asked {
	struct reader *r;
	const struct reader_module *module;
	const struct reader_names_how *how;
	u32 n;    /* places */
	u32 next; /* the first that may have an answer yet */
	u32 opens;
	u64 until_ns;
};

/* Is it a file that has symbols? What else memwhy may read is nobody's business. */
static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

static int file_give(struct asked *a, int rc, int fd)
{
	_cleanup_close_ int own = rc ? -1 : fd;
	struct names_given given = {.rc = rc};
	char where[PATH_MAX];

	if (!rc && !is_elf(fd))
		given.rc = -ENOEXEC;
	if (!given.rc && !fd_path(fd, where))
		given.where = (u32)strlen(where) + 1;
	rc = reader_give(a->r, &given, sizeof(given), given.rc ? -1 : fd);
	return rc ? rc : reader_write(a->r, where, given.where, a->until_ns);
}

static int open_for(struct asked *a, bool ours, u32 bytes)
{
	char path[PATH_MAX];
	int fd = -1, rc;

	if (!bytes || bytes > sizeof(path))
		return reader_bad(a->r);
	rc = reader_read(a->r, path, bytes, a->until_ns);
	if (rc)
		return rc;
	if (strnlen(path, bytes) != bytes - 1)
		return reader_bad(a->r);
	rc = root_open_file(ours ? ROOT_OURS : a->module->root_fd, path, &fd);
	return file_give(a, rc, fd);
}

/* Servers have a limit of time of their own. */
static int fetch_for(struct asked *a, u32 bytes)
{
	struct debuginfod *servers = a->how->servers;
	u64 begun = clock_mono_ns();
	u8 id[BUILD_ID_MAX];
	int fd = -1, rc;

	if (!bytes || bytes > sizeof(id) || !servers)
		return reader_bad(a->r);
	rc = reader_read(a->r, id, bytes, a->until_ns);
	if (rc)
		return rc;
	rc = debuginfod_fetch(servers, id, bytes, &fd);
	a->until_ns += clock_mono_ns() - begun;
	return file_give(a, rc, fd);
}

/* The next n bytes of a block; NULL: there are not so many. */
static const void *piece(const char **at, const char *end, size_t n)
{
	const char *p = *at;

	if ((size_t)(end - p) < n)
		return NULL;
	*at += n;
	return p;
}

static bool text_take(const char **at, const char *end, u32 n, const char **ret)
{
	const char *text = n <= NAMES_TEXT_MAX ? piece(at, end, n) : NULL;

	*ret = n ? text : NULL;
	return !n || (text && strnlen(text, n) == n - 1);
}

static bool reader_names_line_take(const char **at, const char *end, struct sym_frame *ret)
{
	const void *p = piece(at, end, sizeof(struct names_line));
	struct names_line line;

	if (!p)
		return false;
	memcpy(&line, p, sizeof(line));
	*ret = (struct sym_frame){.offset = line.offset, .line = line.line};
	return text_take(at, end, line.function, &ret->function) &&
	       text_take(at, end, line.file, &ret->file);
}

static int reader_names_frame_take(struct asked *a, const char **at, const char *end)
{
	struct sym_frame frames[DWARF_FRAMES_MAX];
	const void *p = piece(at, end, sizeof(struct names_frame));
	struct names_frame head;

	if (!p)
		return reader_bad(a->r);
	memcpy(&head, p, sizeof(head));
	if (head.place < a->next || head.place >= a->n || !head.n || head.n > DWARF_FRAMES_MAX)
		return reader_bad(a->r);
	a->next = head.place + 1;
	for (u32 i = 0; i < head.n; i++)
		if (!reader_names_line_take(at, end, &frames[i]))
			return reader_bad(a->r);
	return a->how->named(a->how->arg, head.place, &(struct sym_frames){frames, head.n});
}

static int block_take(struct asked *a, u32 bytes)
{
	_cleanup_free_ char *block = NULL;
	int rc;

	if (!bytes || bytes > NAMES_BLOCK_MAX)
		return reader_bad(a->r);
	block = malloc(bytes);
	if (!block)
		return -ENOMEM;
	rc = reader_read(a->r, block, bytes, a->until_ns);
	for (const char *at = block, *end = block + bytes; at < end && !rc;)
		rc = reader_names_frame_take(a, &at, end);
	return rc;
}

static int done_take(struct asked *a, u32 bytes, struct reader_names_ret *ret)
{
	struct names_done done;
	int rc;

	if (bytes != sizeof(done))
		return reader_bad(a->r);
	rc = reader_read(a->r, &done, sizeof(done), a->until_ns);
	if (rc)
		return rc;
	if (done.debug_error > 0 || done.debug_error < -4095 ||
		done.build_id_len > sizeof(done.build_id))
		return reader_bad(a->r);
	reader_spent(a->r, &done.spent);
	*ret = (struct reader_names_ret){
		.error = done.rc ? reader_error(a->r, done.rc) : 0,
		.debug_error = done.debug_error,
		.bytes_held = MIN(done.bytes_held, a->how->bytes_max),
		.build_id_len = done.build_id_len,
	};
	memcpy(ret->build_id, done.build_id, sizeof(ret->build_id));
	return ret->error == -EBADMSG ? -EBADMSG : 0;
}

static int answers_take(struct asked *a, struct reader_names_ret *ret)
{
	for (;;) {
		struct names_says_head head;
		int rc = reader_read(a->r, &head, sizeof(head), a->until_ns);

		if (rc)
			return rc;
		if (head.what == NAMES_DONE)
			return done_take(a, head.bytes, ret);
		if (head.what != NAMES_BLOCK && ++a->opens > 2 * NAMES_OPENS_MAX)
			return reader_bad(a->r);
		if (head.what == NAMES_BLOCK)
			rc = block_take(a, head.bytes);
		else if (head.what == NAMES_FETCH)
			rc = fetch_for(a, head.bytes);
		else if (head.what == NAMES_OPEN || head.what == NAMES_OPEN_OURS)
			rc = open_for(a, head.what == NAMES_OPEN_OURS, head.bytes);
		else
			rc = reader_bad(a->r);
		if (rc)
			return rc;
	}
}

static int names_ask(struct asked *a, const struct reader_place *places)
{
	const struct reader_module *m = a->module;
	const char *path = m->path ? m->path : "";
	char where[PATH_MAX];
	struct names_ask ask = {
		.module = m->id,
		.kind = m->kind,
		.n = a->n,
		.path = (u32)strlen(path) + 1,
		.where = m->fd >= 0 && !fd_path(m->fd, where) ? (u32)strlen(where) + 1 : 0,
		.other_root = m->root_fd != ROOT_OURS,
		.lines = a->how->lines,
		.servers = a->how->servers != NULL,
		.last = a->how->last,
		.sparing = a->how->sparing,
		.bytes_max = a->how->bytes_max,
		.bytes_others = a->how->bytes_others,
	};
	int rc = reader_ask(a->r, READER_NAMES, m->fd);

	if (!rc)
		rc = reader_write(a->r, &ask, sizeof(ask), a->until_ns);
	if (!rc)
		rc = reader_write(a->r, path, ask.path, a->until_ns);
	if (!rc)
		rc = reader_write(a->r, where, ask.where, a->until_ns);
	return rc ? rc : reader_write(a->r, places, a->n * sizeof(*places), a->until_ns);
}

int reader_names(struct reader *r, const struct reader_module *module,
	const struct reader_place *places, u32 n, const struct reader_names_how *how,
	struct reader_names_ret *ret)
{
	struct asked a = {
		.r = r,
		.module = module,
		.how = how,
		.n = n,
		.until_ns = clock_mono_ns() + ANSWER_NS + how->ns_max,
	};
	int rc = names_ask(&a, places);

	if (!rc)
		rc = answers_take(&a, ret);
	/* Of an answer that was left half way nothing can be made any more. */
	if (rc && rc != -EBADMSG && rc != -ESRCH)
		(void)reader_bad(r);
	return rc;
}
