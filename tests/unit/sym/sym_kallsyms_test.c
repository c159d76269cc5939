/* The kernel's symbols: captured text, hostile text in pieces of any size, and this host's. */
#include "data/sym/helpers.h"

#include "sym/kallsyms.h"

static int parse(const char *text, size_t n, size_t piece, struct kallsyms *k, struct err *err)
{
	int rc = 0;

	*k = (struct kallsyms){};
	for (size_t at = 0; at < n && !rc; at += piece)
		rc = kallsyms_feed(k, text + at, MIN(piece, n - at));
	assert_int_equal(rc, 0);
	return kallsyms_finish(k, err);
}

static void assert_symbol(
	const struct kallsyms *k, u64 address, const char *name, const char *module, u64 offset)
{
	struct kallsyms_hit hit;

	assert_int_equal(kallsyms_find(k, address, &hit), 0);
	assert_string_equal(hit.name, name);
	assert_int_equal(hit.offset, offset);
	if (module)
		assert_string_equal(hit.module, module);
	else
		assert_null(hit.module);
}

static void assert_nothing(const struct kallsyms *k, u64 address)
{
	struct kallsyms_hit hit;

	assert_int_equal(kallsyms_find(k, address, &hit), -ENOENT);
}

static const char captured[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T startup_64\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000110 t verify_cpu\n"
			       "ffffffff81000210 W weak_one\n"
			       "ffffffff81000220 d some_data\n"
			       "ffffffff81000230 B some_bss\n"
			       "ffffffff82000000 T _etext\n"
			       "ffffffff82100000 D more_data\n"
			       "ffffffffc0300000 t ext4_find\t[ext4]\n"
			       "ffffffffc0300400 T ext4_other\t[ext4]\n"
			       "ffffffffc0200000 t xfs_find\t[xfs]\n"
			       "ffffffffc0100000 t bpf_prog_6deef7357e7b4530_probe\t[bpf]\n";

static void parses(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < sizeof(captured); piece += 7) {
		_cleanup_kallsyms_ struct kallsyms k;

		assert_int_equal(parse(captured, strlen(captured), piece, &k, NULL), 0);
		assert_int_equal(k.lines_skipped, 0);
		assert_symbol(&k, 0xffffffff81000000, "startup_64", NULL, 0);
		assert_symbol(&k, 0xffffffff81000111, "verify_cpu", NULL, 1);
		assert_symbol(&k, 0xffffffff81000235, "weak_one", NULL, 0x25);
		assert_symbol(&k, 0xffffffffc0300401, "ext4_other", "[ext4]", 1);
		assert_symbol(&k, 0xffffffffc0200001, "xfs_find", "[xfs]", 1);
		assert_symbol(
			&k, 0xffffffffc0100010, "bpf_prog_6deef7357e7b4530_probe", "[bpf]", 0x10);
		assert_nothing(&k, 0xffffffff80ffffff);
		assert_nothing(&k, 0xffffffff82000010); /* past the end of text */
		assert_nothing(&k, 0xffffffff81000210 + (1 << 20));
		assert_nothing(&k, 0);
		assert_nothing(&k, ~0ULL);
	}
}

/* Code of a module that is not in the text lies behind that of another one. */
static void after_a_module(void **state)
{
	_cleanup_kallsyms_ struct kallsyms k;

	(void)state;
	assert_int_equal(parse(captured, strlen(captured), 4096, &k, NULL), 0);
	assert_symbol(&k, 0xffffffffc0300400 + 8191, "ext4_other", "[ext4]", 8191);
	assert_nothing(&k, 0xffffffffc0300400 + 8192);
	assert_symbol(&k, 0xffffffffc0300000 + 1023, "ext4_find", "[ext4]", 1023);
	assert_nothing(&k, 0xffffffffc0200000 + 8192);
	/* programs of BPF may be long */
	assert_symbol(
		&k, 0xffffffffc0100000 + 65536, "bpf_prog_6deef7357e7b4530_probe", "[bpf]", 65536);
}

static void hidden(void **state)
{
	static const char text[] = "0000000000000000 T startup_64\n"
				   "0000000000000000 t verify_cpu\n"
				   "0000000000000000 t ext4_find\t[ext4]\n";
	struct err err = {};
	struct kallsyms k;

	(void)state;
	assert_int_equal(parse(text, strlen(text), 4096, &k, &err), -EPERM);
	assert_int_equal(err.code, -EPERM);
	assert_non_null(strstr(err.msg, "hides"));
	assert_non_null(strstr(err.hint, "kptr_restrict"));
	assert_nothing(&k, 0);
	assert_int_equal(parse(text, strlen(text), 4096, &k, NULL), -EPERM);
}

static void empty(void **state)
{
	static const char *const texts[] = {"", "\n", "\n\n\n", "ffffffff81000000 D data\n"};
	struct kallsyms k;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(texts[i], strlen(texts[i]), 3, &k, &err), -ENOENT);
}

static void hostile(void **state)
{
	static const char text[] = "ffffffff81000000\n"
				   "ffffffff81000000 \n"
				   "ffffffff81000000 T\n"
				   "ffffffff81000000 T \n"
				   "ffffffff81000000 T  two_spaces\n"
				   "ffffffff81000000T glued\n"
				   " T no_address\n"
				   "xyz T no_number\n"
				   "fffffffff81000000 T seventeen_digits\n"
				   "-1 T negative\n"
				   "0x10 T prefixed\n"
				   "\r\n"
				   "1000 T good\n"
				   "2000 T module_without_end\t[abc\n"
				   "3000 T odd\ttail\n"
				   "4000 T nul\0name\n"
				   "FFFF T upper";
	_cleanup_kallsyms_ struct kallsyms k;

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece += 5) {
		assert_int_equal(parse(text, sizeof(text) - 1, piece, &k, NULL), 0);
		assert_int_equal(k.lines_skipped, 12);
		assert_symbol(&k, 0x1001, "good", NULL, 1);
		assert_symbol(&k, 0x2001, "module_without_end", "[abc", 1);
		assert_symbol(&k, 0x3001, "odd", NULL, 1);
		assert_symbol(&k, 0x4001, "nul", NULL, 1);
		assert_symbol(&k, 0xffff, "upper", NULL, 0);
		kallsyms_free(&k);
	}
}

static void overlong_lines(void **state)
{
	_cleanup_str_ struct str text = {};
	_cleanup_kallsyms_ struct kallsyms k;

	(void)state;
	str_add(&text, "1000 T first\n2000 T ");
	for (int i = 0; i < 100000; i++)
		str_addc(&text, 'n');
	str_add(&text, "\n3000 T last\n4000 T ");
	for (int i = 0; i < 100000; i++)
		str_addc(&text, 'n');
	for (size_t piece = 1; piece < 300000; piece = piece * 5 + 1) {
		assert_int_equal(parse(text.buf, text.len, piece, &k, NULL), 0);
		assert_int_equal(k.list.n, 2);
		assert_int_equal(k.lines_skipped, 2);
		assert_symbol(&k, 0x3001, "last", NULL, 1);
		kallsyms_free(&k);
	}
}

static void unsorted(void **state)
{
	static const char text[] = "3000 T third\n1000 T first\n2000 T second\n1000 T alias\n";
	_cleanup_kallsyms_ struct kallsyms k;

	(void)state;
	assert_int_equal(parse(text, strlen(text), 100, &k, NULL), 0);
	assert_int_equal(k.list.n, 3);
	assert_symbol(&k, 0x1fff, "first", NULL, 0xfff);
	assert_symbol(&k, 0x2000, "second", NULL, 0);
}

static void this_host(void **state)
{
	_cleanup_kallsyms_ struct kallsyms k;
	struct kallsyms_hit hit;
	struct err err = {};
	size_t bytes, checked = 0;
	int rc = kallsyms_load(&k, &err);
	FILE *f;

	(void)state;
	if (rc)
		skip_because("%s", err.msg);
	assert_int_equal(k.lines_skipped, 0);
	bytes = k.list.cap * sizeof(*k.list.v) + k.names.cap + k.modules.cap * sizeof(u32);
	print_message("%zu functions in %zu KiB\n", k.list.n, bytes / 1024);
	assert_true(bytes < 8 << 20);
	f = fopen("/proc/kallsyms", "r");
	assert_non_null(f);
	for (char line[2048], name[1024], type; fgets(line, sizeof(line), f);) {
		u64 address;

		assert_int_equal(sscanf(line, "%llx %c %1023s", &address, &type, name), 3);
		/* BPF programs come and go meanwhile */
		if (!strchr("tTwW", type) || strstr(line, "[bpf]") ||
			kallsyms_find(&k, address, &hit))
			continue;
		assert_int_equal(hit.offset, 0);
		checked += !strcmp(hit.name, name);
	}
	fclose(f);
	/* All but the second and further names of an address, BPF programs, and what ends the text.
	 */
	assert_true(checked + k.list.n / 50 > k.list.n);
}

static void from_a_file(void **state)
{
	_cleanup_kallsyms_ struct kallsyms k;
	int fd;

	(void)state;
	file_write(in_scratch("kallsyms"), captured, strlen(captured));
	fd = open(in_scratch("kallsyms"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(kallsyms_load_fd(&k, fd, NULL), 0);
	close(fd);
	assert_symbol(&k, 0xffffffff81000111, "verify_cpu", NULL, 1);
	kallsyms_free(&k);
	assert_int_equal(kallsyms_load_fd(&k, -1, NULL), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses),
		cmocka_unit_test(after_a_module),
		cmocka_unit_test(hidden),
		cmocka_unit_test(empty),
		cmocka_unit_test(hostile),
		cmocka_unit_test(overlong_lines),
		cmocka_unit_test(unsorted),
		cmocka_unit_test(this_host),
		cmocka_unit_test(from_a_file),
	};

	return cmocka_run_group_tests_name("sym_kallsyms", tests, scratch_setup, scratch_teardown);
}
