/*
 * Variables of ELF files (elfvars, elftls): this program's own and libc's, where they really are in
 * memory, by their files and /proc/self/maps; and the file cut anywhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sym/elftls.h"
#include "sym/elfvars.h"
#include "sys/process/maps.h"

char variables_test_bss[5000];
char variables_test_data[300] = {1};
static char hidden_bss[70000];
static u64 hidden_data[100] = {1};
static __thread char thread_area[3000];
static __thread u64 thread_aligned[8] __attribute__((aligned(64))) = {1};

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
	assert_int_equal(elf_variables_read(&file, STT_OBJECT, 16, &v), 0);
	assert_variable(&v, bias, "variables_test_bss", variables_test_bss,
		sizeof(variables_test_bss), true);
	assert_variable(&v, bias, "variables_test_data", variables_test_data,
		sizeof(variables_test_data), false);
	assert_variable(&v, bias, "hidden_bss", hidden_bss, sizeof(hidden_bss), true);
	assert_variable(&v, bias, "hidden_data", hidden_data, sizeof(hidden_data), false);
	for (size_t i = 0; i < v.list.n; i++)
		assert_true(v.list.v[i].size >= 16);
}

static u64 thread_pointer(void)
{
	u64 at;

	__asm__("mov %%fs:0, %0" : "=r"(at));
	return at;
}

static void assert_block(const struct elf_tls *tls, u64 begin, const void *at, u64 bytes)
{
	u64 address = (u64)(uintptr_t)at;

	assert_true(address >= begin && address + bytes <= begin + tls->bytes);
}

static void test_own_thread_variables(void **state)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	_cleanup_elf_variables_ struct elf_variables v = {};
	struct elf_tls tls;
	u64 begin;

	(void)state;
	assert_int_equal(self_open(&file), 0);
	assert_int_equal(elf_tls_read(&file, &tls), 0);
	begin = thread_pointer() - tls.below;
	assert_block(&tls, begin, thread_area, sizeof(thread_area));
	assert_int_equal(elf_variables_read(&file, STT_TLS, 1, &v), 0);
	assert_variable(&v, begin, "thread_area", thread_area, sizeof(thread_area), true);
	assert_variable(&v, begin, "thread_aligned", thread_aligned, sizeof(thread_aligned), false);
}

/* libc's errno, by the word that the loader wrote for it. */
static void test_library_thread_variables(void **state)
{
	_cleanup_elf_variables_ struct elf_variables v = {};
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	_cleanup_maps_ struct maps maps = {};
	const struct mapping *data = NULL;
	struct elf_tls tls;
	u64 address, offset, bias, begin;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps), 0);
	vec_each (m, &maps.list)
		if (strstr(m->path, "/libc.so.6") && m->prot & 2)
			data = m;
	if (!data)
		skip();
	assert_int_equal(elf_file_open(open(data->path, O_RDONLY | O_CLOEXEC), &file), 0);
	assert_int_equal(elf_tls_read(&file, &tls), 0);
	assert_int_equal(elf_tls_word(&file, &address, &offset), 0);
	assert_int_equal(elf_variables_bias(&file, data->offset, data->start, &bias), 0);
	begin = thread_pointer() + *(const u64 *)(uintptr_t)(address + bias) - offset;
	assert_block(&tls, begin, &errno, sizeof(errno));
	assert_int_equal(elf_variables_read(&file, STT_TLS, 1, &v), 0);
	assert_variable(&v, begin, "errno", &errno, sizeof(errno), true);
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
		struct elf_tls tls;
		u64 address, offset;

		assert_int_equal(ftruncate(fd, cut), 0);
		if (elf_file_open(open(path, O_RDONLY | O_CLOEXEC), &file))
			continue;
		elf_variables_read(&file, STT_OBJECT, 1, &v);
		elf_tls_read(&file, &tls);
		elf_tls_word(&file, &address, &offset);
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
		cmocka_unit_test(test_own_thread_variables),
		cmocka_unit_test(test_library_thread_variables),
		cmocka_unit_test(test_cut_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
