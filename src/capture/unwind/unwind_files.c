/* See unwind_files.h. */
#include "capture/unwind/unwind_files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/clock.h"
#include "capture/reader/reader.h"
#include "capture/unwind/unwind_pages.h"
#include "cfi/blocks.h"
#include "cfi/content.h"
#include "cfi/elf_table.h"
#include "sym/moduleelf.h"

/* A walk may still be reading what was in use a moment ago. */
#define REST_NS NSEC_PER_SEC
#define WALK_NS (20 * NSEC_PER_MSEC) /* more than one takes */

/* A table that is there, by the content it was made of. */
struct table_made {
	XXH128_hash_t hash;
	u32 number;                 /* from 1 on */
	u32 start, n, blocks, rows; /* words */
	u64 base;
	u64 cfi_bytes;
	u32 uses;
	u64 unused_ns;
	UT_hash_handle hh;
};

struct file {
	u32 table;    /* 0: none now */
	bool useless; /* it has none, and never will */
	bool known;   /* to programs, by this: */
	struct unwind_file_key key;
	VEC(struct elf_segment) segments;
};

struct unwind_files {
	struct module_table *modules;
	u64 seed;
	struct unwind_pages pages;
	int known;      /* map */
	u32 generation; /* of what is in it */
	struct cfi_rule_set rules;
	struct cfi_rule *rules_map;
	u32 rules_written;
	struct reader *reader; /* borrowed */
	VEC(u8) section;       /* until all that is asked for is made */
	struct table_made *by_content;
	VEC(struct table_made *) tables; /* by number, less one; NULL: dropped */
	VEC(struct file) files;          /* by module */
	VEC(u32) made;                   /* modules, since the last commit */
	struct unwind_files_stats stats;
};

int unwind_files_open(struct module_table *modules, struct reader *reader, int pages, int rules,
	int known, u32 max_pages, struct unwind_files **ret)
{
	struct unwind_files *f = calloc(1, sizeof(*f));
	size_t size = UNWIND_RULES_MAX * sizeof(struct cfi_rule);
	int rc = f ? cfi_content_seed(&f->seed) : -ENOMEM;

	if (!f)
		return rc;
	f->modules = modules;
	f->reader = reader;
	f->known = known;
	if (!rc)
		rc = unwind_pages_init(&f->pages, pages, max_pages);
	if (!rc)
		rc = cfi_rules_init(&f->rules);
	f->rules_map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, rules, 0);
	if (f->rules_map == MAP_FAILED) {
		f->rules_map = NULL;
		rc = rc ? rc : -errno;
	}
	if (!rc)
		rc = unwind_pages_prepare(&f->pages);
	if (rc) {
		unwind_files_close(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void unwind_files_limit(struct unwind_files *f, u32 max_pages)
{
	f->pages.max = max_pages;
}

void unwind_files_close(struct unwind_files *f)
{
	if (!f)
		return;
	HASH_CLEAR(hh, f->by_content);
	vec_each (t, &f->tables)
		free(*t);
	vec_free(&f->tables);
	vec_each (file, &f->files)
		vec_free(&file->segments);
	vec_free(&f->files);
	vec_free(&f->made);
	unwind_pages_free(&f->pages);
	cfi_rules_free(&f->rules);
	vec_free(&f->section);
	if (f->rules_map)
		munmap(f->rules_map, UNWIND_RULES_MAX * sizeof(struct cfi_rule));
	free(f);
}

static void table_drop(struct unwind_files *f, struct table_made *t)
{
	unwind_pages_give(&f->pages, t->start, t->n);
	f->stats.words_bytes -= t->n * sizeof(u32);
	f->stats.cfi_bytes -= t->cfi_bytes;
	vec_each (file, &f->files) {
		if (file->table == t->number)
			file->table = 0;
	}
	f->stats.dropped++;
	HASH_DEL(f->by_content, t);
	f->tables.v[t->number - 1] = NULL;
	free(t);
}

/* What programs have noted of files is no longer so. */
static void known_changed(struct unwind_files *f)
{
	const struct unwind_file_key none = {};
	const struct unwind_file value = {.generation = ++f->generation};

	bpf_map_update_elem(f->known, &none, &value, BPF_ANY);
}

/* Takes a table out of the files by which programs find it themselves. */
static bool table_hide(struct unwind_files *f, u32 number)
{
	bool hidden = false;

	vec_each (file, &f->files) {
		if (file->table != number || !file->known)
			continue;
		bpf_map_delete_elem(f->known, &file->key);
		file->known = false;
		hidden = true;
	}
	return hidden;
}

static bool table_is_idle(const struct table_made *t, u64 now)
{
	return t && !t->uses && now - t->unused_ns >= REST_NS;
}

/* Drops the tables that no process uses. False: there were none. */
static bool unwind_files_room_make(struct unwind_files *f)
{
	const struct timespec walk = {.tv_nsec = WALK_NS};
	u64 now = clock_mono_ns();
	bool dropped = false, hidden = false;

	vec_each (t, &f->tables) {
		if (table_is_idle(*t, now))
			hidden |= table_hide(f, (*t)->number);
	}
	if (hidden) {
		known_changed(f);
		nanosleep(&walk, NULL);
	}
	vec_each (t, &f->tables) {
		if (!table_is_idle(*t, now))
			continue;
		table_drop(f, *t);
		dropped = true;
	}
	return dropped;
}

static int words_take(struct unwind_files *f, u32 n, u32 *ret_start)
{
	int rc = unwind_pages_take(&f->pages, n, ret_start);

	if (rc == -ENOSPC && unwind_files_room_make(f))
		rc = unwind_pages_take(&f->pages, n, ret_start);
	f->stats.pages = f->pages.n;
	return rc;
}

/* How many words it has is known when it is laid out, and that needs to know where. */
static int table_place(struct unwind_files *f, const struct cfi_table *from, struct table_made *t)
{
	u64 most = cfi_blocks_words_max(from);
	struct cfi_blocks laid;
	u32 *words;
	int rc;

	if (most > UINT32_MAX)
		return -ENOSPC;
	rc = words_take(f, (u32)most, &t->start);
	if (rc)
		return rc;
	rc = unwind_pages_map(&f->pages, t->start, (u32)most, &words);
	if (!rc)
		rc = cfi_blocks_make(from, t->start, &f->rules, words, &laid);
	if (rc) {
		unwind_pages_give(&f->pages, t->start, (u32)most);
		return rc;
	}
	t->n = laid.n;
	t->blocks = laid.n_blocks;
	t->rows = t->start + laid.rows;
	t->base = from->base;
	t->cfi_bytes = from->counts.section_bytes;
	unwind_pages_give(&f->pages, t->start + t->n, (u32)most - t->n);
	return 0;
}

static void rules_write(struct unwind_files *f)
{
	for (; f->rules_written < f->rules.list.n; f->rules_written++)
		f->rules_map[f->rules_written] = f->rules.list.v[f->rules_written];
}

static int table_number(struct unwind_files *f, struct table_made *t)
{
	for (u32 i = 0; i < f->tables.n; i++) {
		if (f->tables.v[i])
			continue;
		f->tables.v[i] = t;
		t->number = i + 1;
		return 0;
	}
	t->number = (u32)f->tables.n + 1;
	return vec_push(&f->tables, t);
}

/* What honest files never have. Entries for no code are left by linkers that threw it away. */
static const enum cfi_refusal damages[] = {
	CFI_REFUSED_ENTRY, CFI_REFUSED_CIE, CFI_REFUSED_FDE, CFI_REFUSED_EFFORT};

static void damage_note(struct unwind_files *f, const struct cfi_table *table, u32 module)
{
	const struct module *m = module_table_get(f->modules, module);
	struct unwind_files_stats *stats = &f->stats;

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		if (!table->counts.refused[damages[i]])
			continue;
		if (!stats->damaged++)
			snprintf(stats->damage, sizeof(stats->damage), "%.100s: %s", m->path,
				cfi_refusal_text(damages[i]));
		return;
	}
}

static int table_make(struct unwind_files *f, const struct cfi_table *compiled, u32 module,
	XXH128_hash_t hash, u32 *ret)
{
	struct table_made *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return -ENOMEM;
	t->hash = hash;
	t->unused_ns = clock_mono_ns();
	rc = table_place(f, compiled, t);
	if (!rc)
		rc = table_number(f, t);
	if (rc) {
		if (t->n)
			unwind_pages_give(&f->pages, t->start, t->n);
		free(t);
		return rc;
	}
	rules_write(f);
	damage_note(f, compiled, module);
	HASH_ADD(hh, f->by_content, hash, sizeof(t->hash), t);
	f->stats.files++;
	f->stats.words_bytes += t->n * sizeof(u32);
	f->stats.cfi_bytes += t->cfi_bytes;
	*ret = t->number;
	return 0;
}

/* From then on programs find its table where it is mapped. */
static bool file_show(struct unwind_files *f, struct file *file, u32 module)
{
	const struct module *m = module_table_get(f->modules, module);
	const struct table_made *t = f->tables.v[file->table - 1];
	struct unwind_file value = {
		.index = t->start, .blocks = t->blocks, .rows = t->rows, .module = module};
	u32 n = 0;

	if (m->kind != MODULE_FILE || !m->ino || file->known)
		return false;
	vec_each (s, &file->segments) {
		if (!s->executable)
			continue;
		if (n == UNWIND_SEGMENTS)
			return false;
		value.segments[n].offset = s->offset;
		value.segments[n].size = s->size;
		value.segments[n++].to = s->address - t->base - s->offset;
	}
	file->key = (struct unwind_file_key){
		.dev = (u64)major(m->dev) << 20 | minor(m->dev), /* linux/kdev_t.h */
		.ino = m->ino,
		.size = m->stamp.size,
		.mtime_ns = m->stamp.mtime_ns,
	};
	file->known = !bpf_map_update_elem(f->known, &file->key, &value, BPF_NOEXIST);
	return file->known;
}

/* The table of this content, if there is one; else the one that is made of it. */
static int table_get(struct unwind_files *f, const struct reader_file *from, u32 module,
	XXH128_hash_t hash, u32 *ret)
{
	_cleanup_cfi_table_ struct cfi_table *compiled = NULL;
	struct table_made *t;
	int rc;

	HASH_FIND(hh, f->by_content, &hash, sizeof(hash), t);
	if (t) {
		reader_skip(f->reader);
		*ret = t->number;
		return 0;
	}
	/* About a byte for a byte: what has to be waited for begins while it is compiled. */
	unwind_pages_expect(&f->pages, from->size / sizeof(u32));
	rc = reader_table(f->reader, from, &compiled);
	return rc ? rc : table_make(f, compiled, module, hash, ret);
}

/* What was read tells nothing of other files, so what they have in common is seen here. */
static int content_hash(
	struct unwind_files *f, int fd, const struct reader_file *from, XXH128_hash_t *ret)
{
	struct cfi_source source = {.code_start = from->code_start, .code_end = from->code_end};

	f->section.n = 0;
	if (vec_reserve(&f->section, from->size))
		return -ENOMEM;
	if (pread(fd, f->section.v, from->size, (off_t)from->offset) != (ssize_t)from->size)
		return -EIO;
	source.eh_frame = (struct cfi_section){f->section.v, from->size, from->address};
	*ret = cfi_content_hash(&source, f->seed);
	return 0;
}

static int file_read_cfi(struct unwind_files *f, struct file *file, u32 module)
{
	struct reader_file from = {};
	XXH128_hash_t hash;
	int fd, rc = module_table_fd(f->modules, module, &fd);

	if (!rc)
		rc = reader_look(f->reader, fd, &from);
	if (rc)
		return rc;
	rc = content_hash(f, fd, &from, &hash);
	if (rc)
		reader_skip(f->reader);
	else
		rc = table_get(f, &from, module, hash, &file->table);
	file->segments.n = 0;
	vec_each (segment, &from.segments) {
		if (!rc)
			rc = vec_push(&file->segments, *segment);
	}
	vec_free(&from.segments);
	return rc;
}

/* The kernel's own, which is no file. */
static int vdso_load(struct unwind_files *f, struct file *file, u32 module)
{
	_cleanup_elf_file_ struct elf_file elf = {.fd = -1};
	_cleanup_cfi_table_ struct cfi_table *compiled = NULL;
	const XXH128_hash_t hash = {.low64 = f->seed, .high64 = module};
	int rc = module_elf_open(f->modules, module, &elf);

	if (!rc)
		rc = cfi_elf_compile(&elf, &compiled, NULL);
	if (!rc)
		rc = table_make(f, compiled, module, hash, &file->table);
	file->segments.n = 0;
	vec_each (segment, &elf.segments) {
		if (!rc)
			rc = vec_push(&file->segments, *segment);
	}
	return rc;
}

/* Code of the file has frame pointers then. */
static void unread_note(struct unwind_files *f, u32 module)
{
	struct unwind_files_stats *stats = &f->stats;

	if (!stats->unread++)
		snprintf(stats->unread_file, sizeof(stats->unread_file), "%.100s",
			module_table_get(f->modules, module)->path);
}

static int file_load(struct unwind_files *f, struct file *file, u32 module)
{
	bool vdso = module_table_get(f->modules, module)->kind == MODULE_VDSO;
	int rc = vdso ? vdso_load(f, file, module) : file_read_cfi(f, file, module);

	if (rc == -EBADMSG || rc == -ESRCH)
		unread_note(f, module);
	return rc ? rc : vec_push(&f->made, module);
}

static bool is_file(const struct module *m)
{
	return m && (m->kind == MODULE_FILE || m->kind == MODULE_VDSO);
}

/* NULL: it has no table. */
static struct file *file_get(struct unwind_files *f, u32 module, int *ret_rc)
{
	const struct module *m = module_table_get(f->modules, module);
	struct file *file, none = {};
	int rc = 0;

	while (m && f->files.n <= module && !rc)
		rc = vec_push(&f->files, none);
	*ret_rc = rc;
	if (rc || !is_file(m))
		return NULL;
	file = &f->files.v[module];
	if (file->table)
		return file;
	if (file->useless)
		return NULL;
	rc = file_load(f, file, module);
	if (rc == -ENOSPC)
		f->stats.refused++;
	else if (rc && rc != -ENOMEM)
		file->useless = true;
	*ret_rc = rc == -ENOMEM ? rc : 0;
	return rc ? NULL : file;
}

int unwind_files_warm(struct unwind_files *f, u32 module)
{
	int rc;

	file_get(f, module, &rc);
	f->stats.pages = f->pages.n;
	return rc;
}

/* Of the segment with code that is mapped so: what its addresses are more than its offsets. A
 * mapping begins at a page, which may be the end of another segment in the file (lld, mold). */
static bool segment_mapped(const struct file *file, u64 offset, u64 size, u64 *ret)
{
	vec_each (s, &file->segments) {
		if (!s->executable || s->offset >= offset + size || s->offset + s->size <= offset)
			continue;
		*ret = s->address - s->offset;
		return true;
	}
	return false;
}

int unwind_files_use(
	struct unwind_files *f, u32 module, u64 offset, u64 start, struct unwind_mapping *to)
{
	int rc;
	struct file *file = file_get(f, module, &rc);
	struct table_made *t;
	u64 to_address;

	to->rows = module == MODULE_ID_ANON ? UNWIND_NO_FILE : 0;
	to->file = start - offset;
	to->module = is_file(module_table_get(f->modules, module)) ? module : 0;
	if (!file || !segment_mapped(file, offset, to->end - start, &to_address))
		return rc;
	t = f->tables.v[file->table - 1];
	t->uses++;
	to->bias = start - (offset + to_address - t->base);
	to->index = t->start;
	to->blocks = t->blocks;
	to->rows = t->rows;
	to->table = t->number;
	return 0;
}

void unwind_files_unuse(struct unwind_files *f, const struct unwind_mapping *m)
{
	struct table_made *t = m->table ? f->tables.v[m->table - 1] : NULL;

	if (!t || --t->uses)
		return;
	t->unused_ns = clock_mono_ns();
}

int unwind_files_commit(struct unwind_files *f)
{
	int rc = unwind_pages_commit(&f->pages);
	bool shown = false;

	vec_free(&f->section);
	vec_each (module, &f->made) {
		struct file *file = &f->files.v[*module];

		if (!rc && file->table)
			shown |= file_show(f, file, *module);
	}
	if (shown)
		known_changed(f);
	f->made.n = 0;
	return rc;
}

/* As unwind_rule_find() and unwind_row_find() in bpf/unwind_find.bpf.h. */
static int row_find(struct unwind_files *f, u32 at, u32 last, u32 pc, u32 *ret)
{
	u32 lo = 0, *rows;
	int rc = unwind_pages_map(&f->pages, at, last + 1, &rows);

	while (!rc && lo < last) {
		u32 mid = (lo + last + 1) / 2;

		if (CFI_ROW_PC(rows[mid]) <= pc)
			lo = mid;
		else
			last = mid - 1;
	}
	*ret = rc ? 0 : rows[lo];
	return rc;
}

int unwind_files_rule(
	struct unwind_files *f, const struct unwind_mapping *m, u64 ip, const struct cfi_rule **ret)
{
	u64 pc = ip - m->bias, block = pc >> CFI_BLOCK_SHIFT;
	u32 *word, row;
	int rc;

	*ret = NULL;
	if (block >= m->blocks)
		return 0;
	rc = unwind_pages_map(&f->pages, m->index + (u32)block, 1, &word);
	if (!rc)
		rc = row_find(f, m->rows + CFI_INDEX_FIRST(*word), CFI_INDEX_LAST(*word),
			pc & ((1U << CFI_BLOCK_SHIFT) - 1), &row);
	if (!rc && CFI_ROW_RULE(row))
		*ret = &f->rules_map[CFI_ROW_RULE(row)];
	return rc;
}

void unwind_files_looked(struct unwind_files *f)
{
	unwind_pages_unmap(&f->pages);
}

struct reader *unwind_files_reader(struct unwind_files *f)
{
	return f->reader;
}

const struct unwind_files_stats *unwind_files_stats(const struct unwind_files *f)
{
	return &f->stats;
}
