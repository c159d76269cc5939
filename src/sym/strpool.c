/* See strpool.h. */
#include "sym/strpool.h"

#include <string.h>

#include "sym/demangle.h"
#include "sym/hash.h"

struct strpool_entry {
	const char *readable; /* another entry's text, or this one's; NULL before asked for */
	UT_hash_handle hh;
	char text[];
};

void strpool_free(struct strpool *pool)
{
	struct strpool_entry *e, *tmp;

	HASH_ITER (hh, pool->entries, e, tmp) {
		HASH_DEL(pool->entries, e);
		free(e);
	}
	*pool = (struct strpool){};
}

static struct strpool_entry *entry_get(struct strpool *pool, const char *text)
{
	size_t len = strlen(text);
	struct strpool_entry *e;

	HASH_FIND(hh, pool->entries, text, len, e);
	if (e)
		return e;
	e = calloc(1, sizeof(*e) + len + 1);
	if (!e)
		return NULL;
	memcpy(e->text, text, len + 1);
	HASH_ADD(hh, pool->entries, text, len, e);
	if (!e->hh.tbl) {
		free(e);
		return NULL;
	}
	pool->bytes += sizeof(*e) + len + 1;
	return e;
}

const char *strpool_add(struct strpool *pool, const char *text)
{
	struct strpool_entry *e = text ? entry_get(pool, text) : NULL;

	return e ? e->text : NULL;
}

const char *strpool_add_demangled(struct strpool *pool, const char *mangled)
{
	struct strpool_entry *e = mangled ? entry_get(pool, mangled) : NULL;
	_cleanup_free_ char *readable = NULL;

	if (!e)
		return NULL;
	if (!e->readable) {
		readable = demangle(mangled);
		e->readable = readable ? strpool_add(pool, readable) : e->text;
	}
	return e->readable ? e->readable : e->text;
}
