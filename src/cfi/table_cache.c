/* See tables.h. */
#include "cfi/table_cache.h"

#include <errno.h>
#include <string.h>

#include "cfi/content.h"
#include "cfi/elf_table.h"
#include "sym/moduleelf.h"

/* A table, by the content it was made of. Several modules may use it. */
struct content {
	XXH128_hash_t hash;
	struct cfi_table *table;
	u64 last_used;
	UT_hash_handle hh;
};

/* What is known of one module: no content, and no error, until it is asked for. */
struct entry {
	struct content *content;
	int error;
	char *problem;
	VEC(struct elf_segment) segments;
};

struct cfi_tables {
	struct module_table *modules;
	u64 max_bytes;
	u64 seed; /* of hashes of content */
	u64 clock;
	struct content *contents;
	VEC(struct entry) entries; /* by module id */
	struct cfi_tables_stats stats;
};

int cfi_tables_new(struct module_table *modules, u64 max_bytes, struct cfi_tables **ret)
{
	struct cfi_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->modules = modules;
	t->max_bytes = max_bytes;
	if (cfi_content_seed(&t->seed)) {
		free(t);
		return -EIO;
	}
	*ret = t;
	return 0;
}

static void content_free(struct cfi_tables *t, struct content *c)
{
	t->stats.bytes -= c->table->bytes;
	HASH_DEL(t->contents, c);
	cfi_table_free(c->table);
	free(c);
}

void cfi_tables_free(struct cfi_tables *t)
{
	struct content *c, *tmp;

	if (!t)
		return;
	vec_each (entry, &t->entries) {
		free(entry->problem);
		vec_free(&entry->segments);
	}
	vec_free(&t->entries);
	HASH_ITER (hh, t->contents, c, tmp)
		content_free(t, c);
	free(t);
}

static struct content *content_oldest(const struct cfi_tables *t)
{
	struct content *oldest = NULL, *c, *tmp;

	HASH_ITER (hh, t->contents, c, tmp) {
		if (!oldest || c->last_used < oldest->last_used)
			oldest = c;
	}
	return oldest;
}

static void content_drop(struct cfi_tables *t, struct content *c)
{
	vec_each (entry, &t->entries) {
		if (entry->content == c)
			entry->content = NULL;
	}
	content_free(t, c);
	t->stats.dropped++;
}

/* Takes the table in every case. */
static int content_add(
	struct cfi_tables *t, XXH128_hash_t hash, struct cfi_table *made, struct content **ret)
{
	_cleanup_cfi_table_ struct cfi_table *table = made;
	struct content *c;

	if (table->bytes > t->max_bytes)
		return -EFBIG;
	while (t->stats.bytes + table->bytes > t->max_bytes)
		content_drop(t, content_oldest(t));
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->hash = hash;
	HASH_ADD(hh, t->contents, hash, sizeof(c->hash), c);
	if (!c->hh.tbl) {
		free(c);
		return -ENOMEM;
	}
	c->table = take_ptr(table);
	t->stats.bytes += c->table->bytes;
	t->stats.compiled++;
	*ret = c;
	return 0;
}

static int entry_load_file(
	struct cfi_tables *t, struct entry *entry, const struct elf_file *file, struct err *err)
{
	struct cfi_source source;
	struct cfi_table *table;
	XXH128_hash_t hash;
	int rc = cfi_elf_source(file, NULL, &source, err);

	if (rc)
		return rc;
	hash = cfi_content_hash(&source, t->seed);
	HASH_FIND(hh, t->contents, &hash, sizeof(hash), entry->content);
	if (entry->content) {
		t->stats.shared++;
	} else {
		rc = cfi_table_compile(&source, &table);
		if (!rc)
			rc = content_add(t, hash, table, &entry->content);
		if (rc)
			return err_errno(err, rc, "its table cannot be made");
	}
	vec_free(&entry->segments);
	vec_each (segment, &file->segments) {
		rc = vec_push(&entry->segments, *segment);
		if (rc)
			return rc;
	}
	return 0;
}

static int entry_load(struct cfi_tables *t, struct entry *entry, u32 id)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct err err = {};
	int rc = module_elf_open(t->modules, id, &file);

	if (rc)
		rc = err_errno(&err, rc, "the file cannot be opened");
	else
		rc = entry_load_file(t, entry, &file, &err);
	if (rc && rc != -ENOMEM) {
		entry->error = rc;
		entry->problem = strdup(err.msg);
		t->stats.failed++;
	}
	return rc;
}

/* -ENOENT: not a module with a file. */
static int entry_get(struct cfi_tables *t, u32 id, struct entry **ret)
{
	const struct module *module = module_table_get(t->modules, id);
	struct entry *entry, none = {};
	int rc;

	if (!module || (module->kind != MODULE_FILE && module->kind != MODULE_VDSO))
		return -ENOENT;
	while (t->entries.n <= id) {
		rc = vec_push(&t->entries, none);
		if (rc)
			return rc;
	}
	entry = &t->entries.v[id];
	if (!entry->content && !entry->error) {
		rc = entry_load(t, entry, id);
		if (rc)
			return rc;
	}
	*ret = entry;
	return entry->error;
}

int cfi_tables_find(struct cfi_tables *t, u32 module, u64 offset, const struct cfi_rule **ret)
{
	struct elf_file file = {.fd = -1};
	struct entry *entry;
	u64 address;
	int rc = entry_get(t, module, &entry);

	if (rc)
		return rc;
	file.segments.v = entry->segments.v;
	file.segments.n = entry->segments.n;
	entry->content->last_used = ++t->clock;
	if (elf_file_address(&file, offset, &address))
		address = ~0ULL; /* has no rule */
	*ret = cfi_table_find(entry->content->table, address);
	return 0;
}

const char *cfi_tables_problem(const struct cfi_tables *t, u32 module)
{
	const char *problem = module < t->entries.n ? t->entries.v[module].problem : NULL;

	return problem ? problem : "";
}

void cfi_tables_stats(const struct cfi_tables *t, struct cfi_tables_stats *ret)
{
	*ret = t->stats;
}

int cfi_process_find(void *ctx, u64 ip, struct cfi_place *ret)
{
	static const struct cfi_rule unsupported = {.kind = CFI_UNSUPPORTED};
	const struct cfi_process *p = ctx;
	struct map_hit hit;
	int rc;

	if (process_map_find(p->map, ip, &hit))
		return CFI_STOP_NO_CODE;
	*ret = (struct cfi_place){.module = hit.module, .offset = hit.offset};
	rc = cfi_tables_find(p->tables, hit.module, hit.offset, &ret->rule);
	if (rc)
		ret->rule = rc == -ENOEXEC ? &unsupported : NULL;
	return rc == -ENOMEM ? rc : 0;
}
