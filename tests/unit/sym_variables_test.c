/*
 * Variables of ELF files (elfvars): this program's own, where they really are in memory, by its
 * file and /proc/self/maps; and the file cut anywhere.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym/elfvars.h"
#include "sys/maps.h"

char variables_test_bss[5000];
char variables_test_data[300] = {1};
static char hidden_bss[70000];
static u64 hidden_data[100] = {1};

static int self_open(struct elf_file *ret)
{
	return elf_file_open(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), ret);
}

/* Addresses in memory of the file's data, by the mapping that may be written to. */
static u64 bias_of(const struct elf_file *file)
{
	_cleanup_maps_ struct maps maps = {};
	const struct mapping *m;
	u64 bias = 0;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(&maps, (u64)(uintptr_t)hidden_data);
	assert_non_null(m);
	assert_int_equal(m->kind, MAPPING_FILE);
	assert_int_equal(elf_variables_bias(file, m->offset, m->start, &bias), 0);
	return bias;
}

static void assert_variable(const struct elf_variables *v, u64 bias, const char *name,
	const void *at, u64 size, bool bss)
{
	for (size_t i = 0; i < v->list.n; i++) {
		if (strcmp(v->list.v[i].name, name) != 0)
			continue;
		assert_int_equal(v->list.v[i].address + bias, (u64)(uintptr_t)at);
		assert_int_equal(v->list.v[i].size, size);
		assert_int_equal(v->list.v[i].bss, bss);
		return;
	}
	fail_msg("no variable %s", name);
}

static void test_own_variables(void **state)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	_cleanup_elf_variables_ struct elf_variables v = {};
	u64 bias;

	(void)state;
	hidden_bss[0] = 1;
	assert_int_equal(self_open(&file), 0);
	bias = bias_of(&file);
	assert_int_equal(elf_variables_read(&file, 16, &v), 0);
	assert_variable(&v, bias, "variables_test_bss", variables_test_bss,
		sizeof(variables_test_bss), true);
	assert_variable(&v, bias, "variables_test_data", variables_test_data,
		sizeof(variables_test_data), false);
	assert_variable(&v, bias, "hidden_bss", hidden_bss, sizeof(hidden_bss), true);
	assert_variable(&v, bias, "hidden_data", hidden_data, sizeof(hidden_data), false);
	for (size_t i = 0; i < v.list.n; i++)
		assert_true(v.list.v[i].size >= 16);
}

/* Any error, but never a crash. */
static void test_cut_files(void **state)
{
	char path[] = "/tmp/memwhy-variables-XXXXXX";
	int fd = mkstemp(path), self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t size = lseek(self, 0, SEEK_END);
	char *bytes = malloc((size_t)size);

	(void)state;
	assert_true(fd >= 0 && bytes);
	assert_int_equal(pread(self, bytes, (size_t)size, 0), size);
	assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
	for (off_t cut = size; cut > 0; cut -= size / 97 + 1) {
		_cleanup_elf_file_ struct elf_file file = {.fd = -1};
		_cleanup_elf_variables_ struct elf_variables v = {};

		assert_int_equal(ftruncate(fd, cut), 0);
		if (!elf_file_open(open(path, O_RDONLY | O_CLOEXEC), &file))
			elf_variables_read(&file, 1, &v);
	}
	unlink(path);
	close(fd);
	close(self);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_variables),
		cmocka_unit_test(test_cut_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
