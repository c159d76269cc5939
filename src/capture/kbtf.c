/* See kbtf.h. */
#include "capture/kbtf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "base/groups.h"
#include "capture/kbtf_index.h"

#define DEPTH_MAX 16
#define NAME_LEN 64

struct kbtf {
	const struct kbtf_index *of;
	struct groups want; /* name -> 1 */
	u64 lengths;        /* bit n: a name of n bytes is wanted */
	struct groups done; /* type id -> id in out */
	struct btf *out;
	int ptr;   /* id in out of the one pointer type */
	char *buf; /* KBTF_TYPE_MAX bytes a level of depth */
};

/* The names of local's types, without flavour. */
static int want_names(struct kbtf *k, const struct btf *local)
{
	for (u32 id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);
		const char *name = btf__name_by_offset(local, t->name_off), *flavour;
		char key[NAME_LEN] = "";

		if (!kbtf_is_named(t))
			continue;
		flavour = strstr(name, "___");
		snprintf(key, sizeof(key), "%.*s", (int)(flavour ? flavour - name : NAME_LEN - 1),
			name);
		if (!groups_get(&k->want, key))
			return -ENOMEM;
		k->lengths |= 1ULL << strlen(key);
	}
	return 0;
}

/* The length tells most names apart without looking further. */
static bool is_wanted(const struct kbtf *k, u32 name_off)
{
	const char *name = kbtf_index_name(k->of, name_off);
	size_t len = strnlen(name, NAME_LEN);
	char key[NAME_LEN] = "";

	if (len == NAME_LEN || !(k->lengths >> len & 1))
		return false;
	memcpy(key, name, len);
	return groups_find(&k->want, key);
}

static const struct btf_type *type_read(struct kbtf *k, u32 id, int depth)
{
	return kbtf_index_type(k->of, id, k->buf + (size_t)depth * KBTF_TYPE_MAX);
}

static int type_copy(struct kbtf *k, u32 id, int depth);

static int struct_copy(struct kbtf *k, const struct btf_type *t, bool with_members, int depth)
{
	const struct btf_member *m = btf_members(t);
	const char *name = kbtf_index_name(k->of, t->name_off);
	u32 n = with_members ? btf_vlen(t) : 0;
	_cleanup_free_ int *types = calloc(n + 1UL, sizeof(*types));
	int id, rc = types ? 0 : -ENOMEM;

	for (u32 i = 0; i < n && rc >= 0; i++)
		rc = types[i] = type_copy(k, m[i].type, depth + 1);
	if (rc < 0)
		return rc;
	id = btf_is_struct(t) ? btf__add_struct(k->out, name, t->size)
			      : btf__add_union(k->out, name, t->size);
	for (u32 i = 0; i < n && id >= 0; i++) {
		rc = btf__add_field(k->out, kbtf_index_name(k->of, m[i].name_off), types[i],
			btf_member_bit_offset(t, i), btf_member_bitfield_size(t, i));
		if (rc)
			return rc;
	}
	return id;
}

static int enum_copy(struct kbtf *k, const struct btf_type *t)
{
	int id = btf__add_enum(k->out, kbtf_index_name(k->of, t->name_off), t->size), rc = 0;

	for (u32 i = 0; i < btf_vlen(t) && id >= 0 && !rc && btf_is_enum(t); i++)
		rc = btf__add_enum_value(k->out, kbtf_index_name(k->of, btf_enum(t)[i].name_off),
			btf_enum(t)[i].val);
	return rc ? rc : id;
}

static int array_copy(struct kbtf *k, const struct btf_type *t, int depth)
{
	const struct btf_array *a = btf_array(t);
	u32 nelems = a->nelems;
	int elem = type_copy(k, a->type, depth + 1);
	int index = elem < 0 ? elem : btf__add_int(k->out, "u32", 4, 0);

	return index < 0 ? index : btf__add_array(k->out, index, elem, nelems);
}

/* The copy of a type, as far as relocations look at it: pointers are all alike, and of a struct
 * that is neither wanted nor anonymous only the size is kept. Id in out, 0 for void, or -errno. */
static int type_make(struct kbtf *k, u32 id, int depth)
{
	const struct btf_type *t = depth < DEPTH_MAX ? type_read(k, id, depth) : NULL;

	if (!t)
		return id && depth < DEPTH_MAX ? -EINVAL : 0;
	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
		return k->ptr;
	case BTF_KIND_INT:
		return btf__add_int(
			k->out, kbtf_index_name(k->of, t->name_off), t->size, btf_int_encoding(t));
	case BTF_KIND_ARRAY:
		return array_copy(k, t, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return struct_copy(k, t, !t->name_off || is_wanted(k, t->name_off), depth);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return enum_copy(k, t);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return type_copy(k, t->type, depth + 1);
	default:
		return 0;
	}
}

static int type_copy(struct kbtf *k, u32 id, int depth)
{
	int *done = groups_find(&k->done, &id);
	int made;

	if (done)
		return *done;
	made = type_make(k, id, depth);
	if (made < 0)
		return made;
	done = groups_get(&k->done, &id);
	if (!done)
		return -ENOMEM;
	return *done = made;
}

static int kbtf_build(struct kbtf *k, const struct btf *local)
{
	int rc = kbtf_index_get(&k->of);

	k->buf = malloc((size_t)DEPTH_MAX * KBTF_TYPE_MAX);
	if (!rc && !k->buf)
		rc = -ENOMEM;
	if (!rc)
		rc = want_names(k, local);
	if (!rc)
		k->ptr = rc = btf__add_ptr(k->out, 0);
	for (size_t i = 0; rc >= 0 && i < k->of->named.n; i++)
		if (is_wanted(k, k->of->named.v[i].name_off))
			rc = type_copy(k, k->of->named.v[i].id, 0);
	return rc < 0 ? rc : 0;
}

static void kbtf_close(struct kbtf *k)
{
	free(k->buf);
	groups_free(&k->want);
	groups_free(&k->done);
}

/* typedef void (*btf_trace_NAME)(void *, arguments...) */
static int tracepoint_add(const struct kbtf_index *x, u32 id, char *buf, struct groups *ret)
{
	const struct btf_type *t = kbtf_index_type(x, id, buf);
	const char *name = t ? kbtf_index_name(x, t->name_off) : "";
	char key[KBTF_TRACEPOINT] = "";
	u32 *arguments;

	t = t ? kbtf_index_type(x, t->type, buf) : NULL;
	t = t ? kbtf_index_type(x, t->type, buf) : NULL;
	if (!t || !btf_is_func_proto(t) || !btf_vlen(t))
		return 0;
	snprintf(key, sizeof(key), "%.63s", name + sizeof(KBTF_TRACEPOINT_PREFIX) - 1);
	arguments = groups_get(ret, key);
	if (!arguments)
		return -ENOMEM;
	*arguments = btf_vlen(t) - 1;
	return 0;
}

int kbtf_tracepoints(struct groups *ret)
{
	_cleanup_free_ char *buf = malloc(KBTF_TYPE_MAX);
	const struct kbtf_index *x;
	int rc = buf ? kbtf_index_get(&x) : -ENOMEM;

	groups_init(ret, KBTF_TRACEPOINT, sizeof(u32));
	for (size_t i = 0; !rc && i < x->tracepoints.n; i++)
		rc = tracepoint_add(x, x->tracepoints.v[i], buf, ret);
	return rc;
}

u32 kbtf_percpu_id(const char *name)
{
	_cleanup_free_ char *buf = malloc(2UL * KBTF_TYPE_MAX);
	const struct btf_type *section, *var;
	const struct kbtf_index *x;

	if (!buf || kbtf_index_get(&x))
		return 0;
	section = kbtf_index_type(x, x->percpu, buf);
	for (u32 i = 0; section && i < btf_vlen(section); i++) {
		u32 id = btf_var_secinfos(section)[i].type;

		var = kbtf_index_type(x, id, buf + KBTF_TYPE_MAX);
		if (var && !strcmp(kbtf_index_name(x, var->name_off), name))
			return id;
	}
	return 0;
}

int kbtf_percpu(const char *const *names, size_t n, u64 *ret)
{
	_cleanup_free_ char *buf = malloc(2UL * KBTF_TYPE_MAX);
	const struct btf_type *section;
	const struct kbtf_index *x;
	size_t found = 0;
	int rc = buf ? kbtf_index_get(&x) : -ENOMEM;

	section = rc ? NULL : kbtf_index_type(x, x->percpu, buf);
	for (u32 i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *v = btf_var_secinfos(section) + i;
		const struct btf_type *var = kbtf_index_type(x, v->type, buf + KBTF_TYPE_MAX);

		for (size_t k = 0; var && k < n; k++) {
			if (strcmp(kbtf_index_name(x, var->name_off), names[k]))
				continue;
			ret[k] = v->offset;
			found++;
		}
	}
	return rc ? rc : found == n ? 0 : -ENODATA;
}

int kbtf_extract(const struct btf *local, struct btf **ret)
{
	struct kbtf k = {.out = btf__new_empty()};
	int rc = k.out ? 0 : -ENOMEM;

	groups_init(&k.want, NAME_LEN, sizeof(u32));
	groups_init(&k.done, sizeof(u32), sizeof(int));
	if (!rc && kbtf_available())
		rc = kbtf_build(&k, local);
	kbtf_close(&k);
	if (rc)
		btf__free(k.out);
	else
		*ret = k.out;
	return rc;
}

static int enum_tell(const struct btf *btf, const char *name,
	int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	s32 id = btf__find_by_name_kind(btf, name, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
	u32 n = t ? btf_vlen(t) : 0;

	for (u32 i = 0; i < n; i++) {
		const struct btf_enum *e = btf_enum(t) + i;
		int rc = fn(arg, (u32)e->val, btf__name_by_offset(btf, e->name_off));

		if (rc < 0)
			return rc;
	}
	return (int)n;
}

int kbtf_enum(const char *name, int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	struct btf *local = btf__new_empty(), *kernel = NULL;
	int rc = local ? btf__add_enum(local, name, 4) : -ENOMEM;

	if (rc > 0) /* an enum without values would be a declaration, for which nothing is taken */
		rc = btf__add_enum_value(local, "any", 0);
	if (!rc)
		rc = kbtf_extract(local, &kernel);
	if (!rc)
		rc = enum_tell(kernel, name, fn, arg);
	btf__free(kernel);
	btf__free(local);
	return rc;
}

u32 kbtf_iterator(const char *name)
{
	_cleanup_free_ char *buf = malloc(KBTF_TYPE_MAX);
	const struct kbtf_index *x;

	if (!buf || kbtf_index_get(&x))
		return 0;
	vec_each (id, &x->iterators) {
		const struct btf_type *t = kbtf_index_type(x, *id, buf);

		if (t && !strcmp(kbtf_index_name(x, t->name_off), name))
			return *id;
	}
	return 0;
}

static int member_offset(const struct btf *btf, const char *type, const char *member)
{
	s32 id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;

	for (u32 i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return (int)btf_member_bit_offset(t, i) / 8;
	return -ENOENT;
}

int kbtf_offset(const char *type, const char *member)
{
	struct btf *local = btf__new_empty(), *kernel = NULL;
	int rc = local ? btf__add_struct(local, type, 4) : -ENOMEM;

	rc = rc < 0 ? rc : kbtf_extract(local, &kernel);
	rc = rc ? rc : member_offset(kernel, type, member);
	btf__free(kernel);
	btf__free(local);
	return rc;
}

/* Since tracepoints are guarded by SRCU-fast instead of preempt_disable(), each of them uses the
 * type of that guard (include/linux/tracepoint.h of 7.3). */
bool kbtf_raw_is_preemptible(void)
{
	static enum { UNKNOWN, NO, YES } known; /* once: every probe asks */

	if (!known)
		known = kbtf_has_name("class_srcu_fast_notrace_t") ? YES : NO;
	return known == YES;
}
