/* See anonymize.h. */
#include "export/anonymize.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/groups.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/meta.h"
#include "export/public_names.h"
#include "probes/where/where.h"

#define ODD_NAMES 4096

enum word_class { OF_PROGRAM, OF_FILE, OF_FUNCTION, OF_GROUP, CLASSES };

static const char *const class_names[CLASSES] = {
	[OF_PROGRAM] = "program",
	[OF_FILE] = "file",
	[OF_FUNCTION] = "function",
	[OF_GROUP] = "group",
};

/* A text that was met. */
struct word_key {
	XXH128_hash_t hash;
	u64 class;
};

/* What is known of a string of the recording at hand, as bits. */
enum string_role {
	STRING_PUBLIC = 1,
	STRING_MODULE_PUBLIC = 2, /* its text is the path of a public_module() */
	STRING_FUNCTION = 4,
	STRING_FILE = 8,
	STRING_KERNEL = 16, /* the module of kernel frames */
};

struct string_known {
	XXH128_hash_t hash;
	u32 roles;
};

struct frame_known {
	u32 module;
	bool kernel;
};

struct line_known {
	u32 frame, function, file;
};

struct anonymizer {
	struct sink learn, pass; /* the first members */
	struct sink *next;
	const struct schema *schema;
	struct groups words; /* struct word_key: u32 number, 0: not yet */
	u32 n_words[CLASSES];
	VEC(char *) odd; /* private names that are no single words */
	/* of the recording at hand */
	struct groups strings; /* u32 id: struct string_known */
	struct groups frames;  /* u32 id: struct frame_known */
	VEC(struct line_known) lines;
	bool resolved;
	bool failed;
	struct str text; /* the one that is being written */
	char record[REC_MAX_SIZE + 8];
};

static XXH128_hash_t hash_of(const char *text)
{
	return XXH3_128bits(text, strlen(text));
}

static u32 *word_get(struct anonymizer *a, XXH128_hash_t hash, enum word_class class)
{
	const struct word_key key = {hash, class};
	u32 *number = groups_get(&a->words, &key);

	a->failed |= !number;
	if (number && !*number)
		*number = ++a->n_words[class];
	return number;
}

/* 0: it has no word of this class. */
static u32 word_find(const struct anonymizer *a, const char *text, enum word_class class)
{
	const struct word_key key = {hash_of(text), class};
	const u32 *number = groups_find(&a->words, &key);

	return number ? *number : 0;
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("_./@+-", c) || (unsigned char)c >= 0x80;
}

/* Names that words_add() would not see as one word. */
static void odd_keep(struct anonymizer *a, const char *text)
{
	const char *at = text;
	char *copy;

	while (*at && is_word_char(*at))
		at++;
	if (!*at || strlen(text) < 2 || a->odd.n >= ODD_NAMES)
		return;
	copy = strdup(text);
	a->failed |= !copy || vec_push(&a->odd, copy);
}

static void anonymize_word_add(
	struct anonymizer *a, struct str *out, const char *text, enum word_class class)
{
	const u32 *number = word_get(a, hash_of(text), class);

	str_addf(out, "%s-%u", class_names[class], number ? *number : 0);
}

/* "/a/b" to "/group-1/group-2" */
static void anonymize_group_add(struct anonymizer *a, struct str *out, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");
		_cleanup_str_ struct str part = {};

		str_addn(&part, path, n);
		a->failed |= part.failed;
		if (public_group(path, n))
			str_addn(out, path, n);
		else
			anonymize_word_add(a, out, str_get(&part), OF_GROUP);
		path += n;
		if (*path)
			str_addc(out, *path++);
	}
}

/* A name that stands alone. */
static void anonymize_name_add(
	struct anonymizer *a, struct str *out, const char *text, enum word_class class)
{
	const char *name = path_name(text);

	if (public_module(name) && strstr(name, "memwhy-track"))
		str_add(out, "libmemwhy-track.so");
	else if (public_word(text))
		str_add(out, text);
	else if (class == OF_GROUP)
		anonymize_group_add(a, out, text);
	else
		anonymize_word_add(
			a, out, text, strchr(text, '/') && class == OF_PROGRAM ? OF_FILE : class);
}

/* Does its first part name a control group? */
static bool is_group_path(const struct anonymizer *a, const char *path)
{
	char part[NAME_MAX + 1];
	size_t n = strcspn(path + 1, "/");

	if (*path != '/' || n >= sizeof(part) || !n)
		return false;
	memcpy(part, path + 1, n);
	part[n] = 0;
	return public_group(part, n) || word_find(a, part, OF_GROUP);
}

/* A word of a sentence. */
static void said_add(struct anonymizer *a, struct str *out, const char *word)
{
	static const enum word_class order[] = {OF_PROGRAM, OF_FILE, OF_FUNCTION};

	if (public_word(word)) {
		str_add(out, word);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (word_find(a, word, order[i])) {
			anonymize_word_add(a, out, word, order[i]);
			return;
		}
	if (is_group_path(a, word))
		anonymize_group_add(a, out, word);
	else if (*word == '/' && word[1] && !public_path(word))
		anonymize_word_add(a, out, word, OF_FILE);
	else
		str_add(out, word);
}

static const char *odd_at(const struct anonymizer *a, const char *text)
{
	vec_each (odd, &a->odd)
		if (!strncmp(text, *odd, strlen(*odd)))
			return *odd;
	return NULL;
}

/* What memwhy calls a scope by. */
static bool is_label(const char *word)
{
	static const char *const labels[] = {"command", "cgroup", "comm", "pid", "container",
		"only", "from", "to", "and", "its", "children", "system-wide", "s", "ms", "us"};

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (!strcmp(word, labels[i]))
			return true;
	return !word[strspn(word, "0123456789.")];
}

/* A sentence of memwhy's with names in it. `all`: every word that is no label is one. */
static void words_add(struct anonymizer *a, struct str *out, const char *text, bool all)
{
	while (*text) {
		const char *odd = odd_at(a, text);
		_cleanup_str_ struct str word = {};
		size_t n = 0;

		if (odd) {
			str_add(out, "\xe2\x80\xa6");
			text += strlen(odd);
			continue;
		}
		while (text[n] && is_word_char(text[n]) && (!n || !odd_at(a, text + n)))
			n++;
		if (!n) {
			str_addc(out, *text++);
			continue;
		}
		while (n > 1 && text[n - 1] == '.')
			n--;
		str_addn(&word, text, n);
		a->failed |= word.failed;
		if (all && !is_label(str_get(&word)))
			anonymize_name_add(a, out, str_get(&word),
				*text == '/' && strstr(str_get(out), "group") ? OF_GROUP
									      : OF_PROGRAM);
		else
			said_add(a, out, str_get(&word));
		text += n;
	}
}

static bool is_sentence(u16 kind)
{
	return kind == REC_NOTE || kind == REC_METHOD || kind == REC_LOSS;
}

static enum word_class class_of(const struct field *f)
{
	static const char *const files[] = {"file", "mount", "directory", "mapping", "where"};

	if (strstr(f->name, "path"))
		return OF_GROUP; /* of control groups */
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(f->name, files[i]))
			return OF_FILE;
	return OF_PROGRAM;
}

static void field_text(struct anonymizer *a, const struct kind *k, const struct field *f,
	const char *text, struct str *out)
{
	if (k->kind == REC_SESSION)
		words_add(a, out, text, true);
	else if (is_sentence(k->kind))
		words_add(a, out, text, false);
	else
		anonymize_name_add(a, out, text, class_of(f));
}

static bool is_hidden(const struct kind *k, const struct field *f)
{
	return f->type == FIELD_CHARS && !public_field(k, f);
}

/* A copy of the text of a field, which need not end in NUL. */
static char *chars_of(const struct rec *r, const struct field *f)
{
	return strndup((const char *)r + f->offset, f->count);
}

static u32 anonymize_u32_at(const struct rec *r, size_t offset)
{
	u32 value = 0;

	if (offset + sizeof(value) <= r->size)
		memcpy(&value, (const char *)r + offset, sizeof(value));
	return value;
}

static struct string_known *string_get(struct anonymizer *a, u32 id)
{
	struct string_known *known = groups_get(&a->strings, &id);

	a->failed |= !known;
	return known;
}

static void role_add(struct anonymizer *a, u32 id, u32 role)
{
	struct string_known *known = id ? string_get(a, id) : NULL;

	if (known)
		known->roles |= role;
}

/* A text without its padding; to be freed. */
static char *tail_text(const struct rec *r, size_t offset, u32 length)
{
	size_t room = r->size > offset ? r->size - offset : 0;

	return strndup((const char *)r + offset, MIN((size_t)length, room));
}

static void string_learn(struct anonymizer *a, const struct rec *r)
{
	const struct rec_string *s = (const struct rec_string *)r;
	_cleanup_free_ char *text = tail_text(r, offsetof(struct rec_string, text), s->length);
	struct string_known *known = string_get(a, s->id);

	a->failed |= !text;
	if (!text || !known)
		return;
	known->hash = hash_of(text);
	if (public_module(text))
		known->roles |= STRING_MODULE_PUBLIC;
}

static void frame_learn(struct anonymizer *a, const struct rec *r)
{
	const struct rec_frame *f = (const struct rec_frame *)r;
	struct frame_known *known = groups_get(&a->frames, &f->id);

	a->failed |= !known;
	if (!known)
		return;
	*known = (struct frame_known){f->module, f->h.flags == FRAME_KERNEL};
	role_add(a, f->module, known->kernel ? STRING_KERNEL : STRING_FILE);
}

static void symbol_learn(struct anonymizer *a, const struct rec *r)
{
	const struct rec_symbol *s = (const struct rec_symbol *)r;
	size_t room = (r->size - offsetof(struct rec_symbol, lines)) / sizeof(s->lines[0]);

	for (u32 i = 0; i < MIN((size_t)s->n, room); i++)
		a->failed |=
			vec_push(&a->lines, ((struct line_known){s->frame, s->lines[i].function,
						    s->lines[i].file})) != 0;
}

static void cgroup_learn(struct anonymizer *a, const struct rec *r)
{
	const struct rec_cgroup *g = (const struct rec_cgroup *)r;
	_cleanup_free_ char *path = tail_text(r, offsetof(struct rec_cgroup, path), g->length);

	a->failed |= !path;
	str_clear(&a->text);
	if (path)
		anonymize_group_add(a, &a->text, path);
	for (const char *part = path; part && *part; part += strcspn(part, "/")) {
		_cleanup_free_ char *copy = NULL;

		part += strspn(part, "/");
		copy = strndup(part, strcspn(part, "/"));
		if (copy)
			odd_keep(a, copy);
	}
}

/* Names in records of probes: texts, and strings of which their fields say what they are. */
static void fields_learn(struct anonymizer *a, const struct kind *k, const struct rec *r)
{
	for (size_t i = 0; i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];

		if (is_hidden(k, f) && !is_sentence(k->kind) && k->kind != REC_SESSION) {
			_cleanup_free_ char *text = chars_of(r, f);

			a->failed |= !text;
			str_clear(&a->text);
			if (text)
				anonymize_name_add(a, &a->text, text, class_of(f));
			if (text && !public_word(text))
				odd_keep(a, text);
		}
		if (f->unit != UNIT_STRING || k->kind < REC_FAULTS_AGG)
			continue;
		for (u32 n = 0; f->type == FIELD_U32 && n < f->count; n++)
			role_add(a, anonymize_u32_at(r, f->offset + n * sizeof(u32)),
				public_field(k, f)       ? STRING_PUBLIC
				: class_of(f) == OF_FILE ? STRING_FILE
							 : 0);
	}
}

/* Slab caches and functions of the kernel own rows of ledgers, too. */
static void owner_learn(struct anonymizer *a, const struct rec *r)
{
	const struct where_owner *o = (const struct where_owner *)r;

	if (o->row == WHERE_SLAB || o->row == WHERE_VMALLOC || o->row == WHERE_PERCPU)
		role_add(a, o->name, STRING_PUBLIC);
}

static int learn_put(struct sink *sink, const struct rec *r)
{
	struct anonymizer *a = (struct anonymizer *)sink; /* its first member */
	const struct kind *k = schema_find(a->schema, r->kind);

	if (!k || r->size < k->size)
		return 0;
	switch (r->kind) {
	case REC_STRING:
		string_learn(a, r);
		break;
	case REC_FRAME:
		frame_learn(a, r);
		break;
	case REC_SYMBOL:
		symbol_learn(a, r);
		break;
	case REC_CGROUP:
		cgroup_learn(a, r);
		break;
	case REC_WHERE_OWNER:
		owner_learn(a, r);
		break;
	}
	fields_learn(a, k, r);
	return a->failed ? -ENOMEM : 0;
}

static bool module_is_public(const struct anonymizer *a, const struct frame_known *f)
{
	const struct string_known *module = groups_find(&a->strings, &f->module);

	return f->kernel || (module && module->roles & STRING_MODULE_PUBLIC);
}

static enum word_class string_class(const struct string_known *s)
{
	return s->roles & STRING_FUNCTION ? OF_FUNCTION
	       : s->roles & STRING_FILE   ? OF_FILE
					  : OF_PROGRAM;
}

/* All of the recording was seen: of which module each function is. */
static void resolve(struct anonymizer *a)
{
	vec_each (l, &a->lines) {
		const struct frame_known *f = groups_find(&a->frames, &l->frame);
		bool is_public = f && module_is_public(a, f);

		role_add(a, l->function, is_public ? STRING_PUBLIC : STRING_FUNCTION);
		role_add(a, l->file, is_public ? STRING_PUBLIC : STRING_FILE);
	}
	for (size_t i = 0; i < a->strings.n; i++) {
		const struct string_known *s = groups_value(&a->strings, i);

		if (!(s->roles & (STRING_PUBLIC | STRING_MODULE_PUBLIC | STRING_KERNEL)))
			word_get(a, s->hash, string_class(s));
	}
	a->resolved = true;
}

/* Functions of BPF programs stand among the kernel's. */
static bool string_is_public(const struct string_known *s, const char *text)
{
	return s && s->roles & (STRING_PUBLIC | STRING_KERNEL) &&
	       strncmp(text, "bpf_prog_", 9) != 0 &&
	       !(s->roles & STRING_PUBLIC && !(s->roles & STRING_FILE) && *text == '/');
}

/* Writes a record with another text at its end, which is a->text. */
static int tail_put(struct anonymizer *a, size_t offset, size_t length_at)
{
	struct rec *r = (struct rec *)a->record;
	u32 length = (u32)MIN(a->text.len, REC_MAX_SIZE - offset - 8);

	if (a->text.failed || a->failed)
		return -ENOMEM;
	memcpy(a->record + length_at, &length, sizeof(length));
	memset(a->record + offset, 0, sizeof(a->record) - offset);
	memcpy(a->record + offset, str_get(&a->text), length);
	r->size = (u32)((offset + length + 1 + 7) & ~7UL);
	return a->next->put(a->next, r);
}

static int string_put(struct anonymizer *a)
{
	const struct rec_string *s = (const struct rec_string *)a->record;
	_cleanup_free_ char *text = tail_text(&s->h, offsetof(struct rec_string, text), s->length);
	const struct string_known *known = groups_find(&a->strings, &s->id);

	if (!text)
		return -ENOMEM;
	if (string_is_public(known, text))
		str_add(&a->text, text);
	else
		anonymize_name_add(a, &a->text, text, known ? string_class(known) : OF_PROGRAM);
	return tail_put(a, offsetof(struct rec_string, text), offsetof(struct rec_string, length));
}

static int cgroup_put(struct anonymizer *a)
{
	const struct rec_cgroup *g = (const struct rec_cgroup *)a->record;
	_cleanup_free_ char *path = tail_text(&g->h, offsetof(struct rec_cgroup, path), g->length);

	if (!path)
		return -ENOMEM;
	anonymize_group_add(a, &a->text, path);
	return tail_put(a, offsetof(struct rec_cgroup, path), offsetof(struct rec_cgroup, length));
}

/* A build id tells which program it is. */
static void module_hide(struct anonymizer *a)
{
	struct rec_module *m = (struct rec_module *)a->record;
	const struct string_known *path = groups_find(&a->strings, &m->path);

	if (path && path->roles & (STRING_MODULE_PUBLIC | STRING_KERNEL))
		return;
	m->length = 0;
	memset(m->build_id, 0, sizeof(m->build_id));
}

static int fields_put(struct anonymizer *a, const struct kind *k)
{
	struct rec *r = (struct rec *)a->record;

	for (size_t i = 0; i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];
		_cleanup_free_ char *text = NULL;

		if (!is_hidden(k, f))
			continue;
		text = chars_of(r, f);
		if (!text)
			return -ENOMEM;
		str_clear(&a->text);
		field_text(a, k, f, text, &a->text);
		if (a->text.failed || a->failed)
			return -ENOMEM;
		memset(a->record + f->offset, 0, f->count);
		memcpy(a->record + f->offset, str_get(&a->text),
			MIN(a->text.len, (size_t)f->count - 1));
	}
	return a->next->put(a->next, r);
}

/* Does it end in something of any length? */
static bool has_tail(const struct kind *k)
{
	return k->n_fields && !k->fields[k->n_fields - 1].count;
}

static int pass_put(struct sink *sink, const struct rec *r)
{
	struct anonymizer *a =
		(struct anonymizer *)((char *)sink - offsetof(struct anonymizer, pass));
	const struct kind *k = schema_find(a->schema, r->kind);
	struct rec *copy = (struct rec *)a->record;

	if (!a->resolved)
		resolve(a);
	/* What is not described might say anything. */
	if (!k || r->size < k->size || r->size > REC_MAX_SIZE)
		return a->failed ? -ENOMEM : 0;
	memcpy(copy, r, r->size);
	if (!has_tail(k))
		copy->size = (u32)((k->size + 7U) & ~7U);
	str_clear(&a->text);
	if (r->kind == REC_STRING)
		return string_put(a);
	if (r->kind == REC_CGROUP)
		return cgroup_put(a);
	if (r->kind == REC_MODULE)
		module_hide(a);
	return fields_put(a, k);
}

struct anonymizer *anonymizer_new(const struct schema *schema)
{
	struct anonymizer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->learn.put = learn_put;
	a->pass.put = pass_put;
	a->schema = schema;
	groups_init(&a->words, sizeof(struct word_key), sizeof(u32));
	groups_init(&a->strings, sizeof(u32), sizeof(struct string_known));
	groups_init(&a->frames, sizeof(u32), sizeof(struct frame_known));
	return a;
}

void anonymizer_free(struct anonymizer *a)
{
	if (!a)
		return;
	groups_free(&a->words);
	groups_free(&a->strings);
	groups_free(&a->frames);
	vec_each (odd, &a->odd)
		free(*odd);
	vec_free(&a->odd);
	vec_free(&a->lines);
	str_free(&a->text);
	free(a);
}

struct sink *anonymizer_learn(struct anonymizer *a)
{
	groups_clear(&a->strings);
	groups_clear(&a->frames);
	a->lines.n = 0;
	a->resolved = false;
	return &a->learn;
}

struct sink *anonymizer_pass(struct anonymizer *a, struct sink *next)
{
	a->next = next;
	return &a->pass;
}
