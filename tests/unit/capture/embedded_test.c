/* The ELF files that memwhy carries: a BPF object for each probe with programs, with and without the
 * walk, which libbpf opens; the preload library, to the byte; damaged bytes are refused. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/embedded.h"
#include "probes/probe.h"

static void check_opens(const char *name)
{
	const struct embedded *e = embedded_find(name);
	struct bpf_object *obj;
	void *elf;
	size_t size;

	assert_non_null(e);
	assert_int_equal(embedded_unpack(e, &elf, &size), 0);
	assert_true(size > (size_t)(e->end - e->data)); /* it is packed */
	obj = bpf_object__open_mem(elf, size, NULL);
	free(elf); /* libbpf keeps nothing of it */
	assert_non_null(obj);
	assert_non_null(bpf_object__btf(obj));
	assert_non_null(bpf_object__next_program(obj, NULL));
	bpf_object__close(obj);
}

static void test_each_probe(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < probes_n; i++) {
		char walk[64];

		if (!probes[i]->bpf)
			continue;
		snprintf(walk, sizeof(walk), "%s_walk", probes[i]->name);
		check_opens(probes[i]->name);
		check_opens(walk);
		n++;
	}
	assert_true(n >= 10);
	check_opens("percpu_where");
	assert_null(embedded_find("nosuch"));
}

static void test_tracker(void **state)
{
	const struct embedded *e = embedded_find(EMBEDDED_TRACKER);
	const char *build = getenv("BUILD");
	char path[4096];
	void *elf, *built;
	size_t size;
	FILE *f;

	(void)state;
	assert_non_null(e);
	assert_int_equal(embedded_unpack(e, &elf, &size), 0);
	assert_true(size > (size_t)(e->end - e->data));
	snprintf(path, sizeof(path), "%s/libmemwhy-track.so", build ? build : "build");
	f = fopen(path, "r");
	built = malloc(size + 1);
	assert_non_null(f);
	assert_non_null(built);
	assert_int_equal(fread(built, 1, size + 1, f), size);
	assert_memory_equal(elf, built, size);
	fclose(f);
	free(built);
	free(elf);
}

static void test_damage(void **state)
{
	const struct embedded *e = embedded_find("faults_walk");
	size_t n = (size_t)(e->end - e->data), size = 1;
	char *copy = malloc(n);
	void *elf = NULL;

	(void)state;
	assert_non_null(copy);
	for (size_t cut = 0; cut < n; cut += n / 50) {
		struct embedded short_of = {"x", e->data, e->data + cut, e->after};

		assert_int_equal(embedded_unpack(&short_of, &elf, &size), -EBADMSG);
	}
	memcpy(copy, e->data, n);
	copy[0] ^= 1;
	assert_int_equal(
		embedded_unpack(&(struct embedded){"x", copy, copy + n, e->after}, &elf, &size),
		-EBADMSG);
	assert_null(elf);
	assert_int_equal(size, 1);
	/* Without what it is packed against. */
	assert_int_equal(
		embedded_unpack(&(struct embedded){"x", e->data, e->end, ""}, &elf, &size), -EBADMSG);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_probe),
		cmocka_unit_test(test_tracker),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
