/* Tests of the slab probe's sampler. */
#include "probes/samplers_fixture.h"

#include "probes/slab/slab.h"

static const struct slab_usage *cache(const struct sampler_test *t, const char *name)
{
	const struct slab_usage *r;

	for (size_t i = 0; (r = sampler_record(t, REC_SLAB_CACHE, i)); i++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

static void line(struct str *text, const char *name, u64 active, u64 slabs)
{
	str_addf(text, "%s %llu %llu 192 21 1 : tunables 0 0 0 : slabdata %llu %llu 0\n", name,
		active, slabs * 21, slabs, slabs);
}

static void put(struct str *text)
{
	fixture_put("/proc/slabinfo", text->buf, text->len);
	str_clear(text);
}

static void head(struct str *text)
{
	str_add(text, "slabinfo - version: 2.1\n# name <active_objs> ...\n");
}

/* As `check` has it: the biggest, and those that grow. */
static void open_gentle(struct sampler_test *t)
{
	t->c.opt.gentle = true;
	sampler_open(t, &probe_slab);
}

static void test_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		struct sampler_test t = {};
		u64 last = UINT64_MAX;

		fixture_use(fixture_kernels[i]);
		open_gentle(&t);
		sampler_sample(&t);
		assert_in_range(sampler_count(&t, REC_SLAB_CACHE), 1, 25);
		for (size_t k = 0; k < sampler_count(&t, REC_SLAB_CACHE); k++) {
			const struct slab_usage *r = sampler_record(&t, REC_SLAB_CACHE, k);

			assert_true(r->bytes && r->bytes == r->first_bytes);
			assert_true(r->active_objects <= r->objects);
			if (!strcmp(r->name, SLAB_LARGE_NAME)) /* comes last, whatever its size */
				continue;
			assert_true(r->bytes <= last);
			last = r->bytes;
		}
		sampler_close(&t);
	}
	sys_root_set("");
}

static void test_growth(void **state)
{
	const struct slab_usage *r;
	struct sampler_test t = {};
	struct str text = {};
	char root[PATH_MAX], name[32];

	(void)state;
	fixture_make(root);
	head(&text);
	for (u64 i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "cache-%llu", i);
		line(&text, name, i * 20, i + 1000);
	}
	line(&text, "grower", 5, 2);
	line(&text, "a name \x1b[31m", 5, 3);
	put(&text);
	open_gentle(&t);
	sampler_sample(&t);
	assert_int_equal(sampler_count(&t, REC_SLAB_CACHE), 24);
	r = sampler_record(&t, REC_SLAB_CACHE, 0);
	assert_string_equal(r->name, "cache-39");
	assert_int_equal(r->bytes, 1039 * sysconf(_SC_PAGESIZE));
	assert_int_equal(r->active_objects, 780);
	assert_int_equal(r->object_bytes, 192);
	assert_null(cache(&t, "grower"));
	sampler_forget(&t);
	sampler_sample(&t); /* not yet due */
	assert_int_equal(t.records.n, 0);

	/* Caches came, went and moved; two grew by more than a mebibyte, one is new. */
	head(&text);
	for (u64 i = 39; i < 40; i--) {
		snprintf(name, sizeof(name), "cache-%llu", i);
		if (i != 7)
			line(&text, name, i * 20, i + 1000);
	}
	line(&text, "newcomer", 9, 300);
	line(&text, "a name \x1b[31m", 6, 400);
	line(&text, "grower", 50, 2 + 500);
	put(&text);
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_SLAB_CACHE), 27);
	r = cache(&t, "grower");
	assert_int_equal(r->first_bytes, 2 * sysconf(_SC_PAGESIZE));
	assert_int_equal(r->first_active_objects, 5);
	assert_int_equal(r->bytes, 502 * sysconf(_SC_PAGESIZE));
	assert_int_equal(cache(&t, "newcomer")->first_bytes, 0);
	assert_int_equal(cache(&t, "a name \x1b[31m")->active_objects, 6);
	sampler_close(&t);
	str_free(&text);
	fixture_remove(root);
}

/* A cache that rules look for has another's line where the kernel merged them. */
static void test_merged(void **state)
{
	struct sampler_test t = {};
	struct str text = {};
	char root[PATH_MAX], path[PATH_MAX];

	(void)state;
	fixture_make(root);
	fixture_put("/sys/kernel/slab/:A-0000080/object_size", "80\n", 3);
	for (int i = 0; i < 3; i++) {
		const char *const names[] = {"sigqueue", SLAB_INOTIFY_NAME, SLAB_KEYS_NAME};

		snprintf(path, sizeof(path), "%s/sys/kernel/slab/%s", root, names[i]);
		assert_int_equal(symlink(i < 2 ? ":A-0000080" : ":0000256", path), 0);
	}
	head(&text);
	line(&text, SLAB_KEYS_NAME, 20, 1000);
	line(&text, "sigqueue", 20, 1000);
	put(&text);
	open_gentle(&t);
	sampler_sample(&t);
	assert_string_equal(cache(&t, "sigqueue")->also, SLAB_INOTIFY_NAME);
	assert_string_equal(cache(&t, SLAB_KEYS_NAME)->also, "");
	sampler_close(&t);
	str_free(&text);
	fixture_remove(root);
}

/* What no cache has of Slab: blocks of kmalloc of whole pages. */
static void test_large(void **state)
{
	const struct slab_usage *r;
	struct sampler_test t = {};
	struct str text = {};
	char root[PATH_MAX];
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	(void)state;
	fixture_make(root);
	for (u64 more = 0; more <= 800; more += 800) {
		head(&text);
		line(&text, "cache", 20, 1000);
		put(&text);
		str_addf(&text, "Slab: %llu kB\n", (1100 + more) * page / 1024);
		fixture_put("/proc/meminfo", text.buf, text.len);
		str_clear(&text);
		if (more) {
			sampler_end(&t);
		} else {
			open_gentle(&t);
			sampler_sample(&t);
			assert_int_equal(cache(&t, SLAB_LARGE_NAME)->bytes, 100 * page);
			sampler_forget(&t);
		}
	}
	r = cache(&t, SLAB_LARGE_NAME);
	assert_int_equal(r->first_bytes, 100 * page);
	assert_int_equal(r->bytes, 900 * page);
	assert_int_equal(r->active_objects * r->object_bytes, r->bytes); /* none of it is unused */
	sampler_close(&t);
	str_free(&text);
	fixture_remove(root);
}

/* Beside the command's own counts: every cache, with what /sys/kernel/slab says of it. */
static void test_all(void **state)
{
	struct sampler_test t = {};
	struct str text = {};
	char root[PATH_MAX], path[PATH_MAX], name[32];

	(void)state;
	fixture_make(root);
	head(&text);
	for (u64 i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "cache-%llu", i);
		line(&text, name, i, i);
	}
	put(&text);
	fixture_put_text("/sys/kernel/slab/cache-3/object_size", "184\n");
	fixture_put_text("/sys/kernel/slab/cache-3/cpu_slabs", "4 N0=3 N1=1\n");
	fixture_put_text("/sys/kernel/slab/cache-3/aliases", "2\n");
	fixture_put_text("/sys/kernel/slab/cache-3/reclaim_account", "1\n");
	t.c.opt.named = "slab";
	sampler_open(&t, &probe_slab);
	sampler_sample(&t);
	assert_int_equal(sampler_count(&t, REC_SLAB_CACHE), 40);
	assert_int_equal(cache(&t, "cache-3")->used_bytes, 184);
	assert_int_equal(cache(&t, "cache-3")->held_slabs, 4);
	assert_int_equal(cache(&t, "cache-3")->aliases, 2);
	assert_int_equal(cache(&t, "cache-3")->reclaimable, 1);
	assert_int_equal(cache(&t, "cache-4")->used_bytes, 0);
	/* another cache was merged into it, and its CPUs hold none that the kernel tells of */
	fixture_put_text("/sys/kernel/slab/cache-3/aliases", "3\n");
	assert_int_equal(sys_path(path, "/sys/kernel/slab/cache-3/cpu_slabs"), 0);
	assert_int_equal(unlink(path), 0);
	t.records.n = 0;
	sampler_sample(&t);
	assert_int_equal(cache(&t, "cache-3")->aliases, 3);
	assert_int_equal(cache(&t, "cache-3")->held_slabs, 0);
	assert_int_equal(cache(&t, "cache-3")->used_bytes, 184);
	/* and it is gone */
	assert_int_equal(sys_path(path, "/sys/kernel/slab/cache-3/aliases"), 0);
	assert_int_equal(unlink(path), 0);
	t.records.n = 0;
	sampler_sample(&t);
	assert_int_equal(cache(&t, "cache-3")->used_bytes, 0);
	sampler_close(&t);
	str_free(&text);
	fixture_remove(root);
}

static void test_nothing(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	open_gentle(&t);
	sampler_sample(&t);
	assert_int_equal(t.records.n, 1);
	assert_string_equal(sampler_method(&t, "sizes of slab caches")->method, "");
	fixture_put_text("/proc/slabinfo", "nonsense\n");
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	sampler_close(&t);
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
