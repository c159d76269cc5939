/* See kbtf_index.h. */
#include "capture/kbtf_index.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "capture/kbtf.h"

#define PATH "/sys/kernel/btf/vmlinux"
#define WINDOW (64U << 10)
#define STRINGS_MAX (64U << 20)

/* The one of this process. */
static struct kbtf_index *known;

bool kbtf_available(void)
{
	return !access(PATH, R_OK);
}

static int index_read(const struct kbtf_index *x, void *buf, size_t n, u64 at)
{
	size_t done = 0;

	if (x->map) {
		if (at > x->map_size || n > x->map_size - at)
			return -EINVAL;
		memcpy(buf, x->map + at, n);
		return 0;
	}
	while (done < n) {
		ssize_t got = pread(x->fd, (char *)buf + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EINVAL;
		done += (size_t)got;
	}
	return 0;
}

static void index_map(struct kbtf_index *x)
{
	struct stat st;
	void *p = fstat(x->fd, &st)
			  ? MAP_FAILED
			  : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, x->fd, 0);

	if (p == MAP_FAILED)
		return;
	x->map = p;
	x->map_size = (size_t)st.st_size;
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

const char *kbtf_index_name(const struct kbtf_index *x, u32 off)
{
	return off < x->h.str_len ? x->strings + off : "";
}

/* The last byte must be the NUL of the last string. */
static int strings_open(struct kbtf_index *x)
{
	u64 at = (u64)x->h.hdr_len + x->h.str_off;
	int rc = 0;

	if (x->map) {
		if (at > x->map_size || x->h.str_len > x->map_size - at)
			return -EINVAL;
		x->strings = x->map + at;
	} else {
		x->strings = x->copy = malloc(x->h.str_len);
		rc = x->copy ? index_read(x, x->copy, x->h.str_len, at) : -ENOMEM;
	}
	return rc ? rc : x->strings[x->h.str_len - 1] ? -EINVAL : 0;
}

static int index_open(struct kbtf_index *x)
{
	int rc;

	x->fd = open(PATH, O_RDONLY | O_CLOEXEC);
	if (x->fd < 0)
		return -errno;
	index_map(x);
	rc = index_read(x, &x->h, sizeof(x->h), 0);
	if (!rc && (x->h.magic != BTF_MAGIC || !x->h.str_len || x->h.str_len > STRINGS_MAX))
		rc = -EINVAL;
	return rc ? rc : strings_open(x);
}

static int type_note(struct kbtf_index *x, const struct btf_type *t, u32 id)
{
	struct kbtf_named n = {.id = id, .name_off = t->name_off};
	const char *name;

	if (kbtf_is_named(t))
		return vec_push(&x->named, n);
	if (!btf_is_typedef(t) && !btf_is_datasec(t) && !btf_is_func(t))
		return 0;
	name = kbtf_index_name(x, t->name_off);
	if (btf_is_datasec(t) && !strcmp(name, ".data..percpu"))
		x->percpu = id;
	if (btf_is_typedef(t) &&
		!strncmp(name, KBTF_TRACEPOINT_PREFIX, sizeof(KBTF_TRACEPOINT_PREFIX) - 1))
		return vec_push(&x->tracepoints, id);
	if (btf_is_func(t) &&
		!strncmp(name, KBTF_ITERATOR_PREFIX, sizeof(KBTF_ITERATOR_PREFIX) - 1))
		return vec_push(&x->iterators, id);
	return 0;
}

/* Walks all types through a window. */
static int index_scan(struct kbtf_index *x)
{
	_cleanup_free_ char *window = malloc(WINDOW);
	u64 base = (u64)x->h.hdr_len + x->h.type_off, at = 0, from = 0, have = 0;
	int rc = window ? vec_push(&x->offsets, 0U) : -ENOMEM;

	while (!rc && at + sizeof(struct btf_type) <= x->h.type_len) {
		const struct btf_type *t;
		size_t size;

		if (at + sizeof(*t) > from + have) {
			from = at;
			have = MIN((u64)WINDOW, x->h.type_len - at);
			rc = index_read(x, window, have, base + from);
			if (rc)
				break;
		}
		t = (const void *)(window + (at - from));
		size = type_size(t);
		rc = size ? vec_push(&x->offsets, (u32)at) : -EINVAL;
		if (!rc)
			rc = type_note(x, t, (u32)(x->offsets.n - 1));
		at += size;
	}
	return rc;
}

const struct btf_type *kbtf_index_type(const struct kbtf_index *x, u32 id, char *buf)
{
	u64 at = (u64)x->h.hdr_len + x->h.type_off;
	struct btf_type *t = (void *)buf;

	if (!id || id >= x->offsets.n || index_read(x, t, sizeof(*t), at + x->offsets.v[id]))
		return NULL;
	if (type_size(t) > KBTF_TYPE_MAX || index_read(x, t, type_size(t), at + x->offsets.v[id]))
		return NULL;
	return t;
}

static void index_free(struct kbtf_index *x)
{
	if (x->map)
		munmap(x->map, x->map_size);
	if (x->fd >= 0)
		close(x->fd);
	free(x->copy);
	vec_free(&x->offsets);
	vec_free(&x->named);
	vec_free(&x->tracepoints);
	vec_free(&x->iterators);
	free(x);
}

int kbtf_index_get(const struct kbtf_index **ret)
{
	struct kbtf_index *x;
	int rc;

	if (!known) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return -ENOMEM;
		x->fd = -1;
		rc = index_open(x);
		if (!rc)
			rc = index_scan(x);
		if (rc) {
			index_free(x);
			return rc;
		}
		known = x;
	}
	*ret = known;
	return 0;
}

void kbtf_forget(void)
{
	if (known)
		index_free(known);
	known = NULL;
}

/* Names stand between NULs. */
bool kbtf_has_name(const char *name)
{
	const struct kbtf_index *x;
	char text[128];
	size_t n = strlen(name);

	if (n + 2 > sizeof(text) || kbtf_index_get(&x))
		return false;
	text[0] = '\0';
	memcpy(text + 1, name, n + 1);
	return memmem(x->strings, x->h.str_len, text, n + 2);
}
