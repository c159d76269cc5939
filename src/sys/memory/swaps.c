/* See swaps.h. */
#include "sys/memory/swaps.h"

#include "sys/root.h"
#include "sys/scan.h"

void swaps_free(struct swaps *swaps)
{
	vec_free(&swaps->list);
}

static bool kib_parse(struct scan *s, u64 *ret)
{
	u64 v;

	return scan_u64(s, &v) && !__builtin_mul_overflow(v, 1024ULL, ret);
}

/* A path that does not fit is none that could be opened. */
static bool area_parse(struct scan *s, struct swap_area *ret)
{
	struct scan path, type;

	if (!scan_word(s, &path) || !scan_copy(&path, ret->path, sizeof(ret->path)) ||
		!scan_word(s, &type) || !kib_parse(s, &ret->size_bytes) ||
		!kib_parse(s, &ret->used_bytes) || !scan_s64(s, &ret->priority))
		return false;
	scan_unescape(ret->path, " \t\n\\");
	ret->is_file = scan_is(&type, "file");
	return ret->is_file || scan_is(&type, "partition");
}

int swaps_parse(const char *text, struct swaps *ret)
{
	struct scan line;

	ret->list.n = 0;
	while (ret->list.n < SWAPS_MAX && scan_line(&text, &line)) {
		struct swap_area area = {};

		if (area_parse(&line, &area) && vec_push(&ret->list, area))
			return -ENOMEM;
	}
	return 0;
}

int swaps_read(struct swaps *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/swaps");

	return rc ? rc : swaps_parse(str_get(&text), ret);
}

int zram_stat_parse(const char *text, struct zram_stat *ret)
{
	struct scan s = scan_text(text);
	struct zram_stat st;

	if (!scan_u64(&s, &st.data_bytes) || !scan_u64(&s, &st.compressed_bytes) ||
		!scan_u64(&s, &st.memory_bytes))
		return -EINVAL;
	*ret = st;
	return 0;
}

int zram_stat_read(const char *path, struct zram_stat *ret)
{
	_cleanup_str_ struct str text = {};
	u64 number;
	struct scan s;
	int rc;

	if (strncmp(path, "/dev/zram", 9) != 0)
		return -ENOENT;
	s = scan_text(path + 9);
	if (!scan_u64(&s, &number) || !scan_done(&s))
		return -ENOENT;
	rc = sys_read(&text, "/sys/block/zram%llu/mm_stat", number);
	return rc ? rc : zram_stat_parse(str_get(&text), ret);
}
