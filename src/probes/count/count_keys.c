/* See count_keys.h. */
#include "probes/count/count_keys.h"

#include <errno.h>
#include <string.h>

#include "probes/count/count_events.h"

static int key_add(struct count_keys *k, const char *word, size_t n, struct err *err)
{
	char name[FILTER_NAME];
	u8 from;

	if (!n || n >= sizeof(name))
		return err_set(err, -EINVAL, "--by: '%.*s' is not a name", (int)MIN(n, 40UL), word);
	memcpy(name, word, n);
	name[n] = '\0';
	from = event_common(name);
	if (!strcmp(name, "event") || (from && count_keys_have(k, from)))
		return 0;
	for (u32 i = 0; i < k->n; i++)
		if (!from && !strcmp(k->keys[i].name, name))
			return 0;
	if (k->n == COUNT_KEYS || (!from && k->n_fields == COUNT_FIELDS))
		return err_set(err, -EINVAL,
			"--by: at most %d keys, of them %d fields of the event", COUNT_KEYS,
			COUNT_FIELDS);
	k->keys[k->n].from = from ? from : COUNT_FIELD;
	memcpy(k->keys[k->n++].name, name, sizeof(name));
	k->n_fields += !from;
	return 0;
}

int count_keys_parse(const char *by, bool stacks, struct count_keys *ret, struct err *err)
{
	struct count_keys k = {};
	int rc = 0;

	for (const char *p = by ? by : ""; *p && !rc;) {
		size_t n = strcspn(p, ",");

		rc = key_add(&k, p, n, err);
		p += n;
		p += *p == ',';
	}
	if (!rc && stacks)
		rc = key_add(&k, "stack", 5, err);
	if (!rc)
		*ret = k;
	return rc;
}

bool count_keys_have(const struct count_keys *k, u8 from)
{
	for (u32 i = 0; i < k->n; i++)
		if (k->keys[i].from == from)
			return true;
	return false;
}
