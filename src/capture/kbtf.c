/* See kbtf.h. The format is in Documentation/bpf/btf.rst of the kernel. */
#include "capture/kbtf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/groups.h"
#include "base/vec.h"

#define PATH "/sys/kernel/btf/vmlinux"
#define WINDOW (64U << 10)
#define TYPE_MAX (32U << 10) /* bytes of one type: members of the largest struct */
#define DEPTH_MAX 16
#define NAME_LEN 64

struct kbtf {
	int fd;
	char *map; /* the whole file where the kernel lets it be mapped (6.16), else NULL */
	size_t map_size;
	struct btf_header h;
	char *strings;      /* all of them */
	VEC(u32) offsets;   /* of each type from the start of the types; [0] is void */
	bool tracepoints;   /* wanted are the typedefs btf_trace_NAME, instead of: */
	struct groups want; /* name -> 1 */
	u64 lengths;        /* bit n: a name of n bytes is wanted */
	struct groups done; /* type id -> id in out */
	struct btf *out;
	int ptr;   /* id in out of the one pointer type */
	char *buf; /* TYPE_MAX bytes a level of depth */
};

bool kbtf_available(void)
{
	return !access(PATH, R_OK);
}

static int kbtf_read(const struct kbtf *k, void *buf, size_t n, u64 at)
{
	size_t done = 0;

	if (k->map) {
		if (at > k->map_size || n > k->map_size - at)
			return -EINVAL;
		memcpy(buf, k->map + at, n);
		return 0;
	}
	while (done < n) {
		ssize_t got = pread(k->fd, (char *)buf + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EINVAL;
		done += (size_t)got;
	}
	return 0;
}

static void kbtf_map(struct kbtf *k)
{
	struct stat st;
	void *p = fstat(k->fd, &st)
			  ? MAP_FAILED
			  : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, k->fd, 0);

	if (p == MAP_FAILED)
		return;
	k->map = p;
	k->map_size = (size_t)st.st_size;
}

/* Bytes of a type: its head and what its kind adds. 0: a kind newer than this program. */
static size_t type_size(const struct btf_type *t)
{
	size_t n = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(*t) + 4;
	case BTF_KIND_ARRAY:
		return sizeof(*t) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(*t) + n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(*t) + n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return sizeof(*t) + n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return sizeof(*t) + n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return sizeof(*t) + n * sizeof(struct btf_var_secinfo);
	default:
		return btf_kind(t) <= BTF_KIND_ENUM64 ? sizeof(*t) : 0;
	}
}

static bool is_named_by(const struct btf_type *t)
{
	return t->name_off && (btf_is_composite(t) || btf_is_any_enum(t));
}

static const char *name_of(const struct kbtf *k, u32 off)
{
	return off < k->h.str_len ? k->strings + off : "";
}

/* The names of local's types, without flavour. */
static int want_names(struct kbtf *k, const struct btf *local)
{
	for (u32 id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);
		const char *name = btf__name_by_offset(local, t->name_off), *flavour;
		char key[NAME_LEN] = "";

		if (!is_named_by(t))
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
static bool is_wanted(const struct kbtf *k, const struct btf_type *t)
{
	const char *name = name_of(k, t->name_off);
	size_t len = strnlen(name, NAME_LEN);
	char key[NAME_LEN] = "";

	if (len == NAME_LEN || !(k->lengths >> len & 1))
		return false;
	memcpy(key, name, len);
	return groups_find(&k->want, key);
}

static int kbtf_open(struct kbtf *k)
{
	int rc;

	k->fd = open(PATH, O_RDONLY | O_CLOEXEC);
	if (k->fd < 0)
		return -errno;
	kbtf_map(k);
	rc = kbtf_read(k, &k->h, sizeof(k->h), 0);
	if (!rc && (k->h.magic != BTF_MAGIC || !k->h.str_len || k->h.str_len > 64U << 20))
		rc = -EINVAL;
	if (rc)
		return rc;
	k->strings = malloc(k->h.str_len + 1UL);
	k->buf = malloc((size_t)DEPTH_MAX * TYPE_MAX);
	if (!k->strings || !k->buf)
		return -ENOMEM;
	k->strings[k->h.str_len] = '\0';
	return kbtf_read(k, k->strings, k->h.str_len, (u64)k->h.hdr_len + k->h.str_off);
}

#define TRACEPOINT "btf_trace_"

static bool is_tracepoint(const struct kbtf *k, const struct btf_type *t)
{
	return btf_is_typedef(t) &&
	       !strncmp(name_of(k, t->name_off), TRACEPOINT, sizeof(TRACEPOINT) - 1);
}

/* Walks all types through a window; fills offsets, and wanted with the ids of wanted types. */
static int scan_types(struct kbtf *k, u32 **wanted, size_t *n_wanted)
{
	_cleanup_free_ char *window = malloc(WINDOW);
	u64 base = (u64)k->h.hdr_len + k->h.type_off, at = 0, from = 0, have = 0;
	VEC(u32) ids = {};
	int rc = window ? vec_push(&k->offsets, 0U) : -ENOMEM;

	while (!rc && at + sizeof(struct btf_type) <= k->h.type_len) {
		const struct btf_type *t;
		size_t size;

		if (at + sizeof(*t) > from + have) {
			from = at;
			have = MIN((u64)WINDOW, k->h.type_len - at);
			rc = kbtf_read(k, window, have, base + from);
			if (rc)
				break;
		}
		t = (const void *)(window + (at - from));
		size = type_size(t);
		rc = size ? vec_push(&k->offsets, (u32)at) : -EINVAL;
		if (!rc &&
			(k->tracepoints ? is_tracepoint(k, t) : is_named_by(t) && is_wanted(k, t)))
			rc = vec_push(&ids, (u32)(k->offsets.n - 1));
		at += size;
	}
	*wanted = ids.v;
	*n_wanted = ids.n;
	return rc;
}

static const struct btf_type *type_read(struct kbtf *k, u32 id, int depth)
{
	char *buf = k->buf + (size_t)depth * TYPE_MAX;
	u64 at = (u64)k->h.hdr_len + k->h.type_off;
	struct btf_type *t = (void *)buf;

	if (!id || id >= k->offsets.n || kbtf_read(k, t, sizeof(*t), at + k->offsets.v[id]))
		return NULL;
	if (type_size(t) > TYPE_MAX || kbtf_read(k, t, type_size(t), at + k->offsets.v[id]))
		return NULL;
	return t;
}

static int type_copy(struct kbtf *k, u32 id, int depth);

static int struct_copy(struct kbtf *k, const struct btf_type *t, bool with_members, int depth)
{
	const struct btf_member *m = btf_members(t);
	const char *name = name_of(k, t->name_off);
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
		rc = btf__add_field(k->out, name_of(k, m[i].name_off), types[i],
			btf_member_bit_offset(t, i), btf_member_bitfield_size(t, i));
		if (rc)
			return rc;
	}
	return id;
}

static int enum_copy(struct kbtf *k, const struct btf_type *t)
{
	int id = btf__add_enum(k->out, name_of(k, t->name_off), t->size), rc = 0;

	for (u32 i = 0; i < btf_vlen(t) && id >= 0 && !rc && btf_is_enum(t); i++)
		rc = btf__add_enum_value(
			k->out, name_of(k, btf_enum(t)[i].name_off), btf_enum(t)[i].val);
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
		return btf__add_int(k->out, name_of(k, t->name_off), t->size, btf_int_encoding(t));
	case BTF_KIND_ARRAY:
		return array_copy(k, t, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return struct_copy(k, t, !t->name_off || is_wanted(k, t), depth);
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
	_cleanup_free_ u32 *wanted = NULL;
	size_t n = 0;
	int rc = kbtf_open(k);

	if (!rc)
		rc = want_names(k, local);
	if (!rc)
		rc = scan_types(k, &wanted, &n);
	if (!rc)
		k->ptr = rc = btf__add_ptr(k->out, 0);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = type_copy(k, wanted[i], 0);
	return rc < 0 ? rc : 0;
}

static void kbtf_close(struct kbtf *k)
{
	if (k->map)
		munmap(k->map, k->map_size);
	if (k->fd >= 0)
		close(k->fd);
	free(k->strings);
	free(k->buf);
	vec_free(&k->offsets);
	groups_free(&k->want);
	groups_free(&k->done);
}

/* typedef void (*btf_trace_NAME)(void *, arguments...) */
static int tracepoint_add(struct kbtf *k, u32 id, struct groups *ret)
{
	const struct btf_type *name = type_read(k, id, 0);
	const struct btf_type *ptr = name ? type_read(k, name->type, 1) : NULL;
	const struct btf_type *proto = ptr ? type_read(k, ptr->type, 2) : NULL;
	char key[KBTF_TRACEPOINT] = "";
	u32 *arguments;

	if (!proto || !btf_is_func_proto(proto) || !btf_vlen(proto))
		return 0;
	snprintf(key, sizeof(key), "%.63s", name_of(k, name->name_off) + sizeof(TRACEPOINT) - 1);
	arguments = groups_get(ret, key);
	if (!arguments)
		return -ENOMEM;
	*arguments = btf_vlen(proto) - 1;
	return 0;
}

int kbtf_tracepoints(struct groups *ret)
{
	struct kbtf k = {.fd = -1, .tracepoints = true};
	_cleanup_free_ u32 *found = NULL;
	size_t n = 0;
	int rc = kbtf_open(&k);

	groups_init(ret, KBTF_TRACEPOINT, sizeof(u32));
	if (!rc)
		rc = scan_types(&k, &found, &n);
	for (size_t i = 0; i < n && !rc; i++)
		rc = tracepoint_add(&k, found[i], ret);
	kbtf_close(&k);
	return rc;
}

int kbtf_extract(const struct btf *local, struct btf **ret)
{
	struct kbtf k = {.fd = -1, .out = btf__new_empty()};
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

/* Do these bytes stand in the file? It is read through a window: BTF has megabytes. */
static bool file_has(const char *path, const char *bytes, size_t n)
{
	char window[16384];
	size_t have = 0;
	ssize_t got;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (got = read(fd, window + have, sizeof(window) - have)) > 0) {
		have += (size_t)got;
		if (memmem(window, have, bytes, n))
			return true;
		if (have >= n) { /* its beginning may be at the end */
			memmove(window, window + have - (n - 1), n - 1);
			have = n - 1;
		}
	}
	return false;
}

bool kbtf_has_name(const char *name)
{
	char text[128];
	size_t n = strlen(name);

	if (n + 2 > sizeof(text))
		return false;
	text[0] = '\0'; /* names stand between NULs */
	memcpy(text + 1, name, n + 1);
	return file_has(PATH, text, n + 2);
}

/* Since tracepoints are guarded by SRCU-fast instead of preempt_disable(), each of them uses the
 * type of that guard (include/linux/tracepoint.h of 7.3). */
bool kbtf_raw_is_preemptible(void)
{
	static enum { UNKNOWN, NO, YES } known; /* once: it reads megabytes, and every probe asks */

	if (!known)
		known = kbtf_has_name("class_srcu_fast_notrace_t") ? YES : NO;
	return known == YES;
}
