/* See reader_names_work.h. */
#include "capture/reader/reader_names_work.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "capture/reader/reader_work.h"
#include "sym/perfmap.h"

#define BLOCK_ENOUGH (64U << 10) /* is sent */
/* Where little is to be kept. Of symbols that nobody asked for lately, between two asks: a machine
 * on which much is started has new files each second, and most are never asked for again. Of all,
 * so many. */
#define KEPT_BYTES (3U << 20)
#define KEPT_NS (10 * NSEC_PER_SEC)
#define KEPT_MOST (6U << 20)

struct opened {
	int fd;
	char *where;
};

/* The one of this process. */
static struct {
	int statm;
	struct symbolizer *symbolizer; /* NULL: nothing was asked yet */
	struct sym_budget budget;
	struct str block;
	VEC(struct opened) opened; /* for this ask */
	const char *where;         /* the file that is asked for */
} work;

void names_work_begin(int statm)
{
	work.statm = statm;
}

static void says(u32 what, const void *bytes, size_t n)
{
	struct names_says_head head = {what, (u32)n};

	work_write(&head, sizeof(head));
	work_write(bytes, n);
}

/* What was asked for comes, with where it is. */
static int given_take(int *ret_fd)
{
	struct names_given given;
	struct opened o = {};
	int rc;

	if (!work_take(&given, sizeof(given), &o.fd))
		_exit(0);
	o.where = given.where ? calloc(1, given.where) : NULL;
	if (o.where)
		work_read(o.where, given.where);
	else if (given.where)
		_exit(1);
	rc = given.rc ? given.rc : o.fd < 0 ? -EBADF : vec_push(&work.opened, o);
	if (rc) {
		if (o.fd >= 0)
			close(o.fd);
		free(o.where);
		return rc;
	}
	*ret_fd = o.fd;
	return 0;
}

static int opener_open(void *arg, bool ours, const char *path, int *ret_fd)
{
	size_t n = strlen(path) + 1;

	(void)arg;
	if (n > PATH_MAX || work.opened.n == NAMES_OPENS_MAX)
		return -ENOENT;
	says(ours ? NAMES_OPEN_OURS : NAMES_OPEN, path, n);
	return given_take(ret_fd);
}

static int opener_fetch(void *arg, const u8 *build_id, size_t n, int *ret_fd)
{
	(void)arg;
	says(NAMES_FETCH, build_id, n);
	return given_take(ret_fd);
}

/* A number that was closed may be another file's: the last one counts. Others are copies of the
 * file that is asked for. */
static int opener_where(void *arg, int fd, char ret[PATH_MAX])
{
	const char *where = work.where;

	(void)arg;
	for (size_t i = 0; i < work.opened.n; i++)
		if (work.opened.v[i].fd == fd)
			where = work.opened.v[i].where;
	if (!where || !*where || strlen(where) >= PATH_MAX)
		return -ENOENT;
	strcpy(ret, where);
	return 0;
}

static void block_send(void)
{
	if (work.block.failed)
		_exit(1);
	if (work.block.len)
		says(NAMES_BLOCK, work.block.buf, work.block.len);
	work.block.len = 0;
}

static u32 text_bytes(const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0;

	return n > NAMES_TEXT_MAX ? 0 : (u32)n;
}

static void frames_tell(u32 place, const struct sym_frames *frames)
{
	struct names_frame head = {place, (u32)frames->n};

	if (!frames->v[frames->n - 1].function)
		return;
	str_addn(&work.block, (const char *)&head, sizeof(head));
	for (size_t i = 0; i < frames->n; i++) {
		const struct sym_frame *f = &frames->v[i];
		struct names_line line = {
			.offset = f->offset,
			.line = f->line,
			.function = text_bytes(f->function),
			.file = text_bytes(f->file),
		};

		str_addn(&work.block, (const char *)&line, sizeof(line));
		if (line.function)
			str_addn(&work.block, f->function, line.function);
		if (line.file)
			str_addn(&work.block, f->file, line.file);
	}
	if (work.block.len >= BLOCK_ENOUGH)
		block_send();
}

static void module_names(const struct names_ask *ask, const char *path, int fd,
	const struct reader_place *places, struct names_done *done)
{
	const struct debug_opener opener = {
		.open = opener_open,
		.where = opener_where,
		.fetch = ask->servers ? opener_fetch : NULL,
	};
	const struct sym_file file = {
		.kind = ask->kind,
		.path = path,
		.fd = fd,
		.other_root = ask->other_root,
		.opener = &opener,
	};
	struct sym_module_info info = {};
	struct sym_frames frames;
	bool left_out = false;

	done->rc = symbolizer_give(work.symbolizer, ask->module, &file, &info, &left_out);
	done->debug_error = left_out ? info.debug_error : 0;
	done->build_id_len = info.build_id_len;
	memcpy(done->build_id, info.build_id, sizeof(done->build_id));
	for (u32 i = 0; i < ask->n && !done->rc; i++) {
		done->rc = symbolizer_resolve_user(
			work.symbolizer, ask->module, places[i].offset, places[i].flags, &frames);
		if (!done->rc)
			frames_tell(i, &frames);
	}
	if (ask->last)
		symbolizer_forget(work.symbolizer, ask->module);
}

static void made_names(const struct names_ask *ask, int fd, const struct reader_place *places,
	struct names_done *done)
{
	struct perf_map *map = NULL;
	u64 bytes = 0;
	u32 user = 0;

	done->rc = perf_map_read(fd, &work.budget, &map, &bytes, &user);
	for (u32 i = 0; i < ask->n && !done->rc && map; i++) {
		u64 back = places[i].flags & SYM_RETURN_ADDRESS ? 1 : 0;
		struct sym_frame frame = {};

		if (perf_map_find(map, places[i].offset - back, &frame.function, &frame.offset))
			continue;
		frame.offset += back;
		frames_tell(i, &(struct sym_frames){&frame, 1});
	}
	perf_map_free(map);
	budget_give_back(&work.budget, user, bytes);
}

static void budget_ready(const struct names_ask *ask)
{
	const struct sym_options o = {.dwarf = ask->lines, .budget = &work.budget};

	if (!work.symbolizer) {
		budget_init(&work.budget, ask->bytes_max, 0);
		budget_statm(&work.budget, work.statm);
		if (symbolizer_open(&o, NULL, &work.symbolizer))
			_exit(1);
	}
	budget_limit(&work.budget, ask->bytes_max);
	budget_others(&work.budget, ask->bytes_others);
	if (budget_pass_begin(&work.budget))
		symbolizer_forget_all(work.symbolizer);
}

/* Elsewhere what is not asked for any more makes room for others. */
static void reader_names_work_keep(const struct names_ask *ask)
{
	symbolizer_keep(work.symbolizer, ask->sparing ? KEPT_BYTES : ask->bytes_max / 2, KEPT_NS);
	if (ask->sparing)
		symbolizer_keep(work.symbolizer, KEPT_MOST, 0);
}

static void opened_forget(void)
{
	vec_each (o, &work.opened)
		free(o->where);
	work.opened.n = 0;
}

static void *reader_names_work_take(size_t n)
{
	void *p = n ? malloc(n) : NULL;

	if (n && !p)
		_exit(1);
	work_read(p, n);
	return p;
}

void names_work(int fd)
{
	_cleanup_close_ int own = fd;
	_cleanup_free_ char *path = NULL, *where = NULL;
	_cleanup_free_ struct reader_place *places = NULL;
	struct names_done done = {};
	struct names_ask ask;

	work_read(&ask, sizeof(ask));
	path = reader_names_work_take(ask.path);
	work.where = where = reader_names_work_take(ask.where);
	places = reader_names_work_take(ask.n * sizeof(*places));
	budget_ready(&ask);
	if (ask.kind == MODULE_ANON)
		made_names(&ask, own, places, &done);
	else
		module_names(&ask, path, own, places, &done);
	block_send();
	symbolizer_forget_answers(work.symbolizer);
	reader_names_work_keep(&ask);
	opened_forget();
	budget_pass_end(&work.budget);
	done.bytes_held = work.budget.bytes_taken;
	done.spent = work_spent();
	says(NAMES_DONE, &done, sizeof(done));
}
