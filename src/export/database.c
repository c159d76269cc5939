/* See database.h. */
#include "export/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/str.h"
#include "event/meta.h"
#include "export/database_file.h"

#define APPLICATION_ID 0x6d776879 /* "mwhy" */

struct database {
	struct sink sink; /* the first member */
	const struct schema *schema;
	sqlite3 *db;
	sqlite3_stmt *insert[REC_KINDS]; /* NULL: no table yet */
	struct str text;                 /* of one value */
};

/* Records that give names: the last one of a key counts. */
static const struct {
	u16 kind;
	const char *key;
} dictionaries[] = {
	{REC_STRING, "id"},
	{REC_TASK, "tgid, tid"},
	{REC_CGROUP, "id"},
	{REC_FRAME, "id"},
	{REC_MODULE, "path"},
	{REC_SYMBOL, "frame"},
	{REC_STACK, "id"},
};

static const char *dictionary_key(u16 kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(dictionaries); i++)
		if (dictionaries[i].kind == kind)
			return dictionaries[i].key;
	return NULL;
}

/* Views over the dictionaries. Numbers in arrays are JSON. */
static const char views[] =
	"CREATE VIEW frame_functions AS SELECT s.frame AS frame, e.key / 4 AS position,"
	" (SELECT text FROM string WHERE id = json_extract(s.lines, '$[' || e.key || ']')) AS "
	"function,"
	" (SELECT text FROM string WHERE id = json_extract(s.lines, '$[' || (e.key + 1) || ']')) "
	"AS file,"
	" json_extract(s.lines, '$[' || (e.key + 2) || ']') AS line,"
	" e.key / 4 + 1 < s.n AS inlined"
	" FROM symbol s, json_each(s.lines) e WHERE e.key % 4 = 0 AND e.key / 4 < s.n;"
	"CREATE VIEW stack_frames AS SELECT s.id AS stack, e.key AS position, e.value AS frame"
	" FROM stack s, json_each(s.frames) e WHERE e.key < s.n;"
	"CREATE VIEW stack_lines AS SELECT sf.stack AS stack, sf.position AS position,"
	" ff.position AS depth, coalesce(ff.function, printf('0x%x', f.\"offset\")) AS function,"
	" ff.file AS file, ff.line AS line, coalesce(ff.inlined, 0) AS inlined,"
	" (SELECT text FROM string WHERE id = f.module) AS module, f.space = 1 AS kernel"
	" FROM stack_frames sf JOIN frame f ON f.id = sf.frame"
	" LEFT JOIN frame_functions ff ON ff.frame = sf.frame;"
	"CREATE VIEW stack_text AS SELECT stack, group_concat(function, ' < ') AS text FROM"
	" (SELECT * FROM stack_lines ORDER BY stack, position, depth) GROUP BY stack;"
	"CREATE VIEW modules AS SELECT (SELECT text FROM string WHERE id = m.path) AS path,"
	" substr(m.build_id, 1, 2 * m.length) AS build_id FROM module m;";

static int failed(struct database *d, int rc)
{
	return !rc || rc == SQLITE_DONE || rc == SQLITE_ROW     ? 0
	       : rc == SQLITE_NOMEM                             ? -ENOMEM
	       : sqlite3_extended_errcode(d->db) == SQLITE_FULL ? -ENOSPC
								: -EIO;
}

static int database_run(struct database *d, const struct str *sql)
{
	return sql->failed ? -ENOMEM
			   : failed(d, sqlite3_exec(d->db, str_get(sql), NULL, NULL, NULL));
}

static bool is_text(const struct field *f)
{
	return f->type == FIELD_CHARS || f->type == FIELD_TEXT || f->type == FIELD_U32S ||
	       f->count != 1;
}

static bool database_is_named(const struct field *f)
{
	return !is_text(f) && (f->unit == UNIT_STRING || f->unit == UNIT_CGROUP);
}

/* Numbers with the names they stand for beside them. */
static void view_add(struct str *sql, const struct kind *k)
{
	str_addf(sql, "CREATE VIEW \"%s_named\" AS SELECT r.*", k->name);
	for (size_t i = 0; i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];

		if (database_is_named(f))
			str_addf(sql, ", (SELECT %s FROM %s WHERE id = r.\"%s\") AS \"%s_name\"",
				f->unit == UNIT_STRING ? "text" : "path",
				f->unit == UNIT_STRING ? "string" : "cgroup", f->name, f->name);
		else if (f->unit == UNIT_STACK && !is_text(f))
			str_addf(sql,
				", (SELECT text FROM stack_text WHERE stack = r.\"%s\") AS "
				"\"%s_text\"",
				f->name, f->name);
		else if (!strcmp(f->name, "tgid"))
			str_add(sql, ", (SELECT comm FROM task t WHERE t.tgid = r.tgid AND t.tid = "
				     "0) AS "
				     "process_name");
	}
	str_addf(sql, " FROM \"%s\" r;", k->name);
}

static void indices_add(struct str *sql, const struct kind *k)
{
	str_addf(sql, "CREATE INDEX \"%s_by_time\" ON \"%s\" (time_ns);", k->name, k->name);
	for (size_t i = 0; i < k->n_fields; i++)
		if (!is_text(&k->fields[i]) &&
			(k->fields[i].unit == UNIT_STACK || !strcmp(k->fields[i].name, "tgid")))
			str_addf(sql, "CREATE INDEX \"%s_by_%s\" ON \"%s\" (\"%s\");", k->name,
				k->fields[i].name, k->name, k->fields[i].name);
}

static int table_make(struct database *d, const struct kind *k)
{
	_cleanup_str_ struct str sql = {};
	const char *key = dictionary_key(k->kind);

	str_addf(&sql, "CREATE TABLE \"%s\" (time_ns INTEGER", k->name);
	for (size_t i = 0; i < k->n_fields; i++)
		str_addf(&sql, ", \"%s\" %s", k->fields[i].name,
			is_text(&k->fields[i]) ? "TEXT" : "INTEGER");
	if (key)
		str_addf(&sql, ", PRIMARY KEY (%s)", key);
	str_add(&sql, ");");
	if (!key)
		indices_add(&sql, k);
	return database_run(d, &sql);
}

static int insert_prepare(struct database *d, const struct kind *k)
{
	_cleanup_str_ struct str sql = {};

	str_addf(&sql, "INSERT OR REPLACE INTO \"%s\" VALUES (?", k->name);
	for (size_t i = 0; i < k->n_fields; i++)
		str_add(&sql, ", ?");
	str_add(&sql, ")");
	if (sql.failed)
		return -ENOMEM;
	return failed(d, sqlite3_prepare_v3(d->db, str_get(&sql), -1, SQLITE_PREPARE_PERSISTENT,
				 &d->insert[k->kind], NULL));
}

/* The table of a kind, with its view. */
static int kind_make(struct database *d, const struct kind *k)
{
	_cleanup_str_ struct str sql = {};
	int rc = table_make(d, k);

	if (!rc)
		rc = insert_prepare(d, k);
	if (rc || dictionary_key(k->kind))
		return rc;
	view_add(&sql, k);
	return database_run(d, &sql);
}

static s64 number_at(const struct rec *r, const struct field *f, size_t i)
{
	static const u8 sizes[] = {[FIELD_U8] = 1,
		[FIELD_U16] = 2,
		[FIELD_U32] = 4,
		[FIELD_U64] = 8,
		[FIELD_S32] = 4,
		[FIELD_S64] = 8};
	u8 size = f->type < ARRAY_SIZE(sizes) ? sizes[f->type] : 4;
	const char *at = (const char *)r + f->offset + i * size;
	u64 v = 0;

	if (!size || f->offset + (i + 1) * size > r->size)
		return 0;
	memcpy(&v, at, size);
	return f->type == FIELD_S32 ? (s64)(s32)v : (s64)v;
}

/* Several numbers: a JSON array; bytes of an id: hexadecimal. */
static void numbers_add(struct str *s, const struct rec *r, const struct field *f)
{
	size_t n = f->type == FIELD_U32S ? (r->size - f->offset) / sizeof(u32) : f->count;
	bool hex = f->type == FIELD_U8 && f->unit == UNIT_HEX;

	if (!hex)
		str_addc(s, '[');
	for (size_t i = 0; i < n; i++) {
		if (hex) {
			str_addf(s, "%02llx", number_at(r, f, i));
			continue;
		}
		if (i)
			str_addc(s, ',');
		str_add_s64(s, number_at(r, f, i));
	}
	if (!hex)
		str_addc(s, ']');
}

static void database_text_add(struct str *s, const struct rec *r, const struct field *f)
{
	size_t room = r->size - f->offset;
	size_t n = strnlen((const char *)r + f->offset,
		f->type == FIELD_CHARS ? MIN(room, (size_t)f->count) : room);
	char *text = strndup((const char *)r + f->offset, n);

	s->failed |= !text;
	if (text)
		str_add_printable(s, text);
	free(text);
}

static int value_bind(
	struct database *d, sqlite3_stmt *s, int at, const struct rec *r, const struct field *f)
{
	if (f->offset > r->size)
		return 0; /* NULL: the record does not have it */
	if (!is_text(f))
		return sqlite3_bind_int64(s, at, number_at(r, f, 0));
	str_clear(&d->text);
	if (f->type == FIELD_CHARS || f->type == FIELD_TEXT)
		database_text_add(&d->text, r, f);
	else
		numbers_add(&d->text, r, f);
	if (d->text.failed)
		return SQLITE_NOMEM;
	return sqlite3_bind_text(s, at, str_get(&d->text), (int)d->text.len, SQLITE_TRANSIENT);
}

static int database_put(struct sink *sink, const struct rec *r)
{
	struct database *d = (struct database *)sink;
	const struct kind *k = r->kind < REC_KINDS ? schema_find(d->schema, r->kind) : NULL;
	sqlite3_stmt *s;
	int rc = 0;

	if (!k || r->size < sizeof(*r) || r->size < k->size)
		return 0;
	if (!d->insert[r->kind])
		rc = kind_make(d, k);
	if (rc)
		return rc;
	s = d->insert[r->kind];
	rc = sqlite3_bind_int64(s, 1, (s64)r->time_ns);
	for (size_t i = 0; i < k->n_fields && !rc; i++)
		rc = value_bind(d, s, (int)i + 2, r, &k->fields[i]);
	if (!rc)
		rc = sqlite3_step(s);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return failed(d, rc);
}

/* What every database has: the description of all kinds, and the tables of names. */
static int schema_write(struct database *d)
{
	_cleanup_str_ struct str sql = {};
	int rc = 0;

	str_addf(&sql,
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;"
		"PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN;",
		APPLICATION_ID, DATABASE_VERSION);
	rc = database_run(d, &sql);
	for (size_t i = 0; i < meta_kinds_n && !rc; i++)
		rc = kind_make(d, &meta_kinds[i]);
	str_clear(&sql);
	str_add(&sql, views);
	return rc ? rc : database_run(d, &sql);
}

int database_begin(int fd, const struct schema *schema, struct database **ret, struct err *err)
{
	struct database *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return err_errno(err, -ENOMEM, "the database");
	d->sink.put = database_put;
	d->schema = schema;
	rc = database_file_use(fd);
	if (!rc)
		rc = sqlite3_open_v2("recording", &d->db,
			SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, DATABASE_FILE);
	rc = rc ? -EIO : schema_write(d);
	if (rc) {
		err_errno(err, rc, "the database: %.100s", sqlite3_errmsg(d->db));
		database_end(d, NULL);
		return rc;
	}
	*ret = d;
	return 0;
}

struct sink *database_sink(struct database *d)
{
	return &d->sink;
}

int database_end(struct database *d, struct err *err)
{
	int rc = sqlite3_get_autocommit(d->db)
			 ? 0
			 : failed(d, sqlite3_exec(d->db, "COMMIT", NULL, NULL, NULL));

	if (rc)
		err_errno(err, rc, "the database: %.100s", sqlite3_errmsg(d->db));
	for (size_t i = 0; i < REC_KINDS; i++)
		sqlite3_finalize(d->insert[i]);
	sqlite3_close(d->db);
	str_free(&d->text);
	free(d);
	return rc;
}
