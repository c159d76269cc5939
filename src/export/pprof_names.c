/* See pprof_names.h. */
#include "export/pprof_names.h"

#include <errno.h>
#include <string.h>

#include <xxhash.h>

#include "export/proto.h"

enum { PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
};

/*
 * A recording has the places of code in its file, whatever address it had in each process. So each
 * module gets a range of its own, of the same size in each profile: tools that compare profiles
 * tell modules apart by size and build id.
 */
#define MODULE_BYTES (1ULL << 36)
#define KERNEL_START 0xffff000000000000ULL
#define KERNEL_NAME "[kernel.kallsyms]"

struct module_key {
	u32 path; /* string of the stream; 0: not known */
	u32 kernel;
};

struct pprof_mapping {
	u64 id;
	bool functions, files, lines, inlined;
};

struct function_key {
	u64 name, file;
};

int pprof_names_init(struct pprof_names *n, const struct stream *stream)
{
	*n = (struct pprof_names){.stream = stream};
	groups_init(&n->strings, sizeof(XXH128_hash_t), sizeof(u64));
	groups_init(&n->functions, sizeof(struct function_key), sizeof(u64));
	groups_init(&n->locations, sizeof(u32), sizeof(u64));
	groups_init(&n->mappings, sizeof(struct module_key), sizeof(struct pprof_mapping));
	proto_text(&n->string_table, PROFILE_STRING, "");
	return n->string_table.failed ? -ENOMEM : 0;
}

void pprof_names_free(struct pprof_names *n)
{
	groups_free(&n->strings);
	groups_free(&n->functions);
	groups_free(&n->locations);
	groups_free(&n->mappings);
	str_free(&n->string_table);
	str_free(&n->function_table);
	str_free(&n->location_table);
}

u64 pprof_string(struct pprof_names *n, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	XXH128_hash_t hash = XXH3_128bits(text, len);
	u64 *id = len ? groups_get(&n->strings, &hash) : NULL;

	if (!id) {
		n->failed |= len != 0;
		return 0;
	}
	if (!*id) {
		*id = n->strings.n;
		proto_text(&n->string_table, PROFILE_STRING, text);
	}
	return *id;
}

static u64 function_id(struct pprof_names *n, const char *name, const char *file)
{
	struct function_key key = {pprof_string(n, name), pprof_string(n, file)};
	u64 *id = groups_get(&n->functions, &key);
	_cleanup_str_ struct str f = {};

	if (!id) {
		n->failed = true;
		return 0;
	}
	if (*id)
		return *id;
	*id = n->functions.n;
	proto_u64(&f, FUNCTION_ID, *id);
	proto_u64(&f, FUNCTION_NAME, key.name);
	proto_u64(&f, FUNCTION_SYSTEM_NAME, key.name);
	if (key.file)
		proto_u64(&f, FUNCTION_FILE, key.file);
	proto_message(&n->function_table, PROFILE_FUNCTION, &f);
	return *id;
}

/* NULL: the code is in no file. */
static struct pprof_mapping *mapping_of(struct pprof_names *n, const struct rec_frame *f)
{
	struct module_key key = {};
	struct pprof_mapping *m;

	if (!f || (f->h.flags != FRAME_KERNEL && !stream_string(n->stream, f->module)))
		return NULL;
	key.kernel = f->h.flags == FRAME_KERNEL;
	key.path = f->module;
	m = groups_get(&n->mappings, &key);
	n->failed |= !m;
	if (m && !m->id)
		m->id = n->mappings.n;
	return m;
}

static u64 address_of(
	const struct pprof_names *n, const struct rec_frame *f, const struct pprof_mapping *m)
{
	if (!f || (f->h.flags == FRAME_KERNEL && !n->kernel_addresses))
		return 0;
	if (m && f->h.flags != FRAME_KERNEL)
		return m->id * MODULE_BYTES + f->offset % MODULE_BYTES;
	return f->address ? f->address : f->offset;
}

struct location {
	struct pprof_names *names;
	struct pprof_mapping *mapping; /* NULL: none */
	struct str encoded;
};

static void pprof_names_line_add(void *arg, const struct stack_line *l)
{
	struct location *at = arg;
	const char *name = l->function ? l->function : l->kernel ? NO_SYMBOL : NULL;
	_cleanup_str_ struct str line = {};

	if (!name)
		return;
	proto_u64(&line, LINE_FUNCTION, function_id(at->names, name, l->file));
	if (l->line)
		proto_u64(&line, LINE_NUMBER, l->line);
	proto_message(&at->encoded, LOCATION_LINE, &line);
	if (!at->mapping)
		return;
	at->mapping->functions |= l->function != NULL;
	at->mapping->files |= l->file != NULL;
	at->mapping->lines |= l->line != 0;
	at->mapping->inlined |= l->inlined;
}

u64 pprof_location(struct pprof_names *n, u32 frame)
{
	const struct rec_frame *f = stream_frame(n->stream, frame);
	u64 *id = groups_get(&n->locations, &frame);
	struct location at = {.names = n};
	u64 address;

	if (!id) {
		n->failed = true;
		return 0;
	}
	if (*id)
		return *id;
	*id = n->locations.n;
	at.mapping = mapping_of(n, f);
	address = address_of(n, f, at.mapping);
	proto_u64(&at.encoded, LOCATION_ID, *id);
	if (at.mapping)
		proto_u64(&at.encoded, LOCATION_MAPPING, at.mapping->id);
	if (address)
		proto_u64(&at.encoded, LOCATION_ADDRESS, address);
	frame_each(n->stream, frame, pprof_names_line_add, &at);
	proto_message(&n->location_table, PROFILE_LOCATION, &at.encoded);
	str_free(&at.encoded);
	return *id;
}

u64 pprof_location_unknown(struct pprof_names *n)
{
	_cleanup_str_ struct str line = {}, location = {};
	u64 *id = groups_get(&n->locations, &(u32){0}); /* no frame has this number */

	if (!id || *id) {
		n->failed |= !id;
		return id ? *id : 0;
	}
	*id = n->locations.n;
	proto_u64(&line, LINE_FUNCTION, function_id(n, "?", NULL));
	proto_u64(&location, LOCATION_ID, *id);
	proto_message(&location, LOCATION_LINE, &line);
	proto_message(&n->location_table, PROFILE_LOCATION, &location);
	n->failed |= line.failed || location.failed;
	return *id;
}

static u64 build_id(struct pprof_names *n, u32 path)
{
	const struct rec_module *m = path ? stream_module(n->stream, path) : NULL;
	char hex[2 * MODULE_BUILD_ID + 1] = "";

	for (u32 i = 0; m && i < m->length; i++)
		snprintf(hex + 2 * i, 3, "%02x", m->build_id[i]);
	return pprof_string(n, hex);
}

static void pprof_names_mapping_add(struct pprof_names *n, const struct module_key *key,
	const struct pprof_mapping *m, struct str *out)
{
	const char *path = stream_string(n->stream, key->path);
	_cleanup_str_ struct str s = {};
	u64 id = build_id(n, key->path);

	proto_u64(&s, MAPPING_ID, m->id);
	proto_u64(&s, MAPPING_START, key->kernel ? KERNEL_START : m->id * MODULE_BYTES);
	proto_u64(&s, MAPPING_LIMIT, key->kernel ? UINT64_MAX : (m->id + 1) * MODULE_BYTES);
	proto_u64(&s, MAPPING_FILE, pprof_string(n, path ? path : KERNEL_NAME));
	if (id)
		proto_u64(&s, MAPPING_BUILD_ID, id);
	proto_u64(&s, MAPPING_HAS_FUNCTIONS, m->functions);
	proto_u64(&s, MAPPING_HAS_FILENAMES, m->files);
	proto_u64(&s, MAPPING_HAS_LINES, m->lines);
	proto_u64(&s, MAPPING_HAS_INLINED, m->inlined);
	proto_message(out, PROFILE_MAPPING, &s);
}

/* Strings last: those of the mappings are among them. */
void pprof_names_add(struct pprof_names *n, struct str *out)
{
	for (size_t i = 0; i < n->mappings.n; i++)
		pprof_names_mapping_add(
			n, groups_key(&n->mappings, i), groups_value(&n->mappings, i), out);
	str_addn(out, str_get(&n->location_table), n->location_table.len);
	str_addn(out, str_get(&n->function_table), n->function_table.len);
	str_addn(out, str_get(&n->string_table), n->string_table.len);
	out->failed |= n->failed || n->location_table.failed || n->function_table.failed ||
		       n->string_table.failed;
}
