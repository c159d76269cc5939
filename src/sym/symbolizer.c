/* See symbolizer.h. */
#include "sym/symbolizer.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"
#include "sym/hash.h"
#include "sym/kallsyms.h"
#include "sym/modulesyms.h"
#include "sym/rootfs.h"
#include "sym/strpool.h"

#define TRIM_BYTES (1U << 20) /* are worth giving back to the kernel */

/* No padding: it is hashed as bytes. */
struct answer_key {
	u64 offset;
	u32 module;
	u32 flags;
};

struct answer {
	struct answer_key key;
	UT_hash_handle hh;
	size_t n;
	struct sym_frame v[];
};

struct symbolizer {
	struct sym_options opts;
	struct sym_budget own;
	struct sym_budget *budget;
	struct module_table *modules;
	VEC(struct module_syms) syms; /* by module id, as far as asked for */
	u32 last;                     /* module that was given last */
	struct answer *answers;
	struct strpool strings;
	struct kallsyms kernel;
	bool kernel_missing; /* it could not be loaded */
	struct err kernel_err;
	u32 kernel_loads; /* how often tried */
};

int symbolizer_open(
	const struct sym_options *opts, struct module_table *modules, struct symbolizer **ret)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->opts = opts ? *opts : (struct sym_options){.dwarf = true};
	s->modules = modules;
	s->budget = s->opts.budget ? s->opts.budget : &s->own;
	budget_init(&s->own, s->opts.max_debug_bytes, s->opts.max_debug_ns);
	*ret = s;
	return 0;
}

static void answers_forget(struct symbolizer *s)
{
	struct answer *a, *tmp;

	HASH_ITER (hh, s->answers, a, tmp) {
		HASH_DEL(s->answers, a);
		free(a);
	}
}

void symbolizer_close(struct symbolizer *s)
{
	if (!s)
		return;
	vec_each (ms, &s->syms)
		module_syms_free(ms);
	vec_free(&s->syms);
	answers_forget(s);
	strpool_free(&s->strings);
	kallsyms_free(&s->kernel);
	free(s);
}

bool symbolizer_exhausted(const struct symbolizer *s)
{
	return !s->budget->ns_left;
}

/* Whose debug files are opened here, and below which root. */
struct opener {
	struct symbolizer *s;
	int root_fd;
};

static int opener_open(void *arg, bool ours, const char *path, int *ret_fd)
{
	const struct opener *o = arg;

	return root_open_file(ours ? ROOT_OURS : o->root_fd, path, ret_fd);
}

/* That of another root as far as there is a path to it. */
static int opener_where(void *arg, int fd, char ret[PATH_MAX])
{
	(void)arg;
	return fd < 0 ? -ENOENT : fd_path(fd, ret);
}

static int opener_fetch(void *arg, const u8 *build_id, size_t n, int *ret_fd)
{
	const struct opener *o = arg;

	return debuginfod_fetch(o->s->opts.servers, build_id, n, ret_fd);
}

static int syms_slot(struct symbolizer *s, u32 id, struct module_syms **ret)
{
	struct module_syms none = {};

	while (s->syms.n <= id) {
		if (vec_push(&s->syms, none))
			return -ENOMEM;
	}
	*ret = &s->syms.v[id];
	return 0;
}

static void table_load(struct symbolizer *s, const struct module *m, struct module_syms *ms)
{
	struct opener own = {s, module_table_root(s->modules, m->id)};
	const struct debug_opener opener = {
		.open = opener_open,
		.where = opener_where,
		.fetch = s->opts.servers ? opener_fetch : NULL,
		.arg = &own,
	};
	struct sym_file file = {
		.kind = m->kind,
		.path = m->path,
		.fd = -1,
		.other_root = own.root_fd != ROOT_OURS,
		.opener = &opener,
	};

	if (m->kind == MODULE_FILE)
		file.error = module_table_fd(s->modules, m->id, &file.fd);
	module_syms_load(ms, &file, s->opts.dwarf, s->budget);
	if (ms->info.build_id_len)
		module_table_set_build_id(
			s->modules, m->id, ms->info.build_id, ms->info.build_id_len);
}

static int module_syms_of(struct symbolizer *s, u32 id, struct module_syms **ret)
{
	const struct module *m = s->modules ? module_table_get(s->modules, id) : NULL;
	int rc = m || id < s->syms.n ? syms_slot(s, id, ret) : -ENOENT;

	if (rc)
		return rc;
	if (m && module_syms_wanted(*ret, s->budget))
		table_load(s, m, *ret);
	return (*ret)->loaded ? 0 : -ENOENT;
}

int symbolizer_give(struct symbolizer *s, u32 module, const struct sym_file *file,
	struct sym_module_info *ret, bool *ret_left_out)
{
	struct module_syms *ms;
	int rc = syms_slot(s, module, &ms);
	bool before;

	if (rc)
		return rc;
	before = ms->left_out;
	if (module_syms_wanted(ms, s->budget))
		module_syms_load(ms, file, s->opts.dwarf, s->budget);
	*ret_left_out = ms->left_out && !before;
	ms->used_ns = clock_mono_ns();
	s->last = module;
	*ret = ms->info;
	return 0;
}

int symbolizer_module_info(struct symbolizer *s, u32 module, struct sym_module_info *ret)
{
	struct module_syms *ms;
	int rc = module_syms_of(s, module, &ms);

	if (!rc)
		*ret = ms->info;
	return rc;
}

void symbolizer_forget(struct symbolizer *s, u32 module)
{
	if (module < s->syms.n)
		module_syms_free(&s->syms.v[module]);
}

void symbolizer_forget_all(struct symbolizer *s)
{
	vec_each (ms, &s->syms)
		module_syms_free(ms);
	malloc_trim(0);
}

static struct module_syms *least_used(struct symbolizer *s)
{
	struct module_syms *least = NULL;

	vec_each (ms, &s->syms)
		if (ms->loaded && ms != &s->syms.v[s->last] &&
			(!least || ms->used_ns < least->used_ns))
			least = ms;
	return least;
}

void symbolizer_keep(struct symbolizer *s, u64 bytes, u64 for_ns)
{
	u64 before = s->budget->bytes_taken, now = clock_mono_ns();
	struct module_syms *least;

	while (s->budget->bytes_taken > bytes && (least = least_used(s)) &&
		now - least->used_ns >= for_ns)
		module_syms_free(least);
	if (before - s->budget->bytes_taken >= TRIM_BYTES)
		malloc_trim(0);
}

void symbolizer_forget_answers(struct symbolizer *s)
{
	answers_forget(s);
	strpool_free(&s->strings);
}

static struct answer *answer_find(struct symbolizer *s, const struct answer_key *key)
{
	struct answer *a;

	HASH_FIND(hh, s->answers, key, sizeof(*key), a);
	return a;
}

/* Remembers frames and hands out the kept ones. */
static int answer_keep(struct symbolizer *s, const struct answer_key *key,
	const struct sym_frame *frames, size_t n, struct sym_frames *ret)
{
	struct answer *a = calloc(1, sizeof(*a) + n * sizeof(*frames));

	if (!a)
		return -ENOMEM;
	a->key = *key;
	a->n = n;
	memcpy(a->v, frames, n * sizeof(*frames));
	HASH_ADD(hh, s->answers, key, sizeof(*key), a);
	if (!a->hh.tbl) {
		free(a);
		return -ENOMEM;
	}
	*ret = (struct sym_frames){.v = a->v, .n = n};
	return 0;
}

/* A lookup in one module. `address` is what names are looked up for, `back` how far before the
 * address asked for that is. */
struct query {
	struct module_syms *ms;
	const char *module;
	u64 offset;
	u64 address;
	u64 back;
};

/* One frame from symbol tables alone; the name stays NULL if they know none. */
static struct sym_frame frame_from_symbols(struct symbolizer *s, const struct query *q)
{
	const struct elf_symbol *sym = elf_symbols_find(&q->ms->symbols, q->address);
	struct sym_frame frame = {.module = q->module, .offset = q->offset};
	const char *file;

	if (!sym)
		return frame;
	frame.function = strpool_add_demangled(&s->strings, sym->name);
	frame.offset = q->address - sym->address + q->back;
	frame.source = q->ms->symbols_source;
	if (q->ms->go.n && !go_table_line(&q->ms->go, q->address, &file, &frame.line))
		frame.file = strpool_add(&s->strings, file);
	return frame;
}

/* The path of a source file as the compiler had it, made absolute. */
static const char *source_path(struct symbolizer *s, const struct dwarf_frame *f)
{
	_cleanup_str_ struct str path = {};

	if (!f->file || f->file[0] == '/' || !f->dir || !*f->dir)
		return strpool_add(&s->strings, f->file);
	str_addf(&path, "%s/%s", f->dir, f->file);
	return path.failed ? NULL : strpool_add(&s->strings, path.buf);
}

/* Of the two names of a function the one that tells more: DWARF made for lines only leaves out
 * what linkers need, and with it the namespace. */
static const char *fuller_name(
	struct symbolizer *s, const char *from_dwarf, const struct sym_frame *table)
{
	const char *name = strpool_add_demangled(&s->strings, from_dwarf);
	bool plain = name && name == strpool_add(&s->strings, from_dwarf);

	if (!name || (plain && table->function && strstr(table->function, "::")))
		return table->function;
	return name;
}

/* Completes the frames that DWARF gave by what symbol tables know: the name of a function that
 * has only lines, and the offset, which counts from where the code of the function starts. */
static size_t frames_from_dwarf(struct symbolizer *s, const struct query *q,
	const struct dwarf_frames *found, struct sym_frame *frames)
{
	struct sym_frame *outer = &frames[found->n - 1];
	struct sym_frame table = frame_from_symbols(s, q);

	for (size_t i = 0; i < found->n; i++) {
		const struct dwarf_frame *f = &found->v[i];

		frames[i] = (struct sym_frame){
			.function = strpool_add_demangled(&s->strings, f->function),
			.module = q->module,
			.file = source_path(s, f),
			.line = f->line,
			.inlined = f->inlined,
			.source = SYM_DWARF,
		};
	}
	outer->function = fuller_name(s, found->v[found->n - 1].function, &table);
	outer->offset = table.offset;
	if (outer->function && !table.function)
		outer->offset = q->address - found->start + q->back;
	return found->n;
}

static size_t frames_find(struct symbolizer *s, const struct query *q, struct sym_frame *frames)
{
	struct dwarf_frames found;
	int rc = q->ms->dwarf ? dwarf_info_find(q->ms->dwarf, q->address, &found) : -ENOENT;

	if (!rc)
		return frames_from_dwarf(s, q, &found, frames);
	if (rc == -ETIMEDOUT)
		module_syms_abandon_dwarf(q->ms, s->budget);
	frames[0] = frame_from_symbols(s, q);
	return 1;
}

int symbolizer_resolve_user(
	struct symbolizer *s, u32 module, u64 offset, unsigned int flags, struct sym_frames *ret)
{
	struct answer_key key = {.offset = offset, .module = module, .flags = flags};
	struct sym_frame frames[DWARF_FRAMES_MAX];
	struct answer *known = answer_find(s, &key);
	struct query q = {.offset = offset};
	struct module_syms *ms;
	size_t n = 1;
	int rc;

	if (known) {
		*ret = (struct sym_frames){.v = known->v, .n = known->n};
		return 0;
	}
	rc = module_syms_of(s, module, &ms);
	if (rc)
		return rc;
	q.ms = ms;
	q.module = s->modules ? strpool_add(&s->strings, module_table_get(s->modules, module)->path)
			      : NULL;
	q.back = flags & SYM_RETURN_ADDRESS && offset ? 1 : 0;
	frames[0] = (struct sym_frame){.module = q.module, .offset = offset};
	if (!elf_file_address(&ms->file, offset - q.back, &q.address))
		n = frames_find(s, &q, frames);
	return answer_keep(s, &key, frames, n, ret);
}

int symbolizer_load_kernel(struct symbolizer *s, struct err *err)
{
	struct kallsyms fresh;
	int rc = kallsyms_load(&fresh, err);

	s->kernel_loads++;
	s->kernel_missing = rc != 0;
	if (rc)
		return rc;
	kallsyms_free(&s->kernel);
	s->kernel = fresh;
	return 0;
}

int symbolizer_resolve_kernel(
	struct symbolizer *s, u64 address, unsigned int flags, struct sym_frames *ret)
{
	u64 back = flags & SYM_RETURN_ADDRESS && address ? 1 : 0;
	struct sym_frame frame = {.module = "[kernel]", .offset = address};
	struct answer_key key = {.offset = address, .module = MODULE_ID_KERNEL};
	struct kallsyms_hit hit;
	struct answer *known;

	if (!s->kernel_loads)
		(void)symbolizer_load_kernel(s, &s->kernel_err);
	/* Answers from before the symbols were loaded again stay, but are not found any more. */
	key.flags = flags | s->kernel_loads << 8;
	known = answer_find(s, &key);
	if (known) {
		*ret = (struct sym_frames){.v = known->v, .n = known->n};
		return 0;
	}
	if (!kallsyms_find(&s->kernel, address - back, &hit)) {
		frame.function = strpool_add(&s->strings, hit.name);
		frame.offset = hit.offset + back;
		frame.source = SYM_KERNEL;
		if (hit.module)
			frame.module = strpool_add(&s->strings, hit.module);
	}
	return answer_keep(s, &key, &frame, 1, ret);
}

const struct err *symbolizer_kernel_error(const struct symbolizer *s)
{
	return s->kernel_missing ? &s->kernel_err : NULL;
}
