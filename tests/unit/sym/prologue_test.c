/* Where probes are put in the first instructions of functions: in the allocators' own, as several
 * distributions have compiled them, and in code that must stop the search. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sym/prologue.h"

#define WANTS(...) (&(const struct prologue_wants){__VA_ARGS__})
#define BYTES(...) (const u8[]){__VA_ARGS__}, sizeof((const u8[]){__VA_ARGS__})
#define PLACE(same_stack_, ...) \
	prologue_place(BYTES(__VA_ARGS__), WANTS(.arguments = 7, .same_stack = same_stack_))

static void expect(struct prologue p, u32 offset, bool emulated)
{
	assert_int_equal(p.offset, offset);
	assert_int_equal(p.emulated, emulated);
}

static void test_of_debian(void **state)
{
	(void)state;
	/* malloc of glibc 2.36: push r12 */
	expect(PLACE(true, 0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb), 0, true);
	/* free: test rdi, rdi; je */
	expect(PLACE(true, 0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0, 0, 0, 0x55), 3, true);
	/* reallocarray: mov rax, rsi; mul rdx writes rdx */
	expect(PLACE(true, 0x48, 0x89, 0xf0, 0x48, 0xf7, 0xe2, 0x48, 0x89, 0xc6, 0x70, 5), 0,
		false);
	/* memalign: cmp byte [rip + x], 0; je */
	expect(PLACE(true, 0x80, 0x3d, 0x71, 0x0e, 0x14, 0, 0, 0x74, 7), 7, true);
	/* posix_memalign: the same; push r12 */
	expect(PLACE(true, 0x80, 0x3d, 1, 2, 0x14, 0, 0, 0x41, 0x54), 7, true);
}

/* Ubuntu compiles with endbr64. */
static void test_endbr(void **state)
{
	(void)state;
	expect(PLACE(true, 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54), 4, true);
	expect(PLACE(true, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x85, 0xff, 0x74, 0x10), 7, true);
	/* rdsspq rdi is no nop */
	expect(PLACE(true, 0xf3, 0x48, 0x0f, 0x1e, 0xcf, 0x55), 0, false);
}

static void test_stack(void **state)
{
	(void)state;
	/* sub rsp, 24; mov eax, fs:[0]; push */
	expect(PLACE(false, 0x48, 0x83, 0xec, 0x18, 0x64, 0x8b, 4, 0x25, 0, 0, 0, 0, 0x55), 12,
		true);
	expect(PLACE(false, 0x48, 0x81, 0xec, 0x08, 0x01, 0, 0, 0x55), 7, true);
	/* … where the stack pointer must not change */
	expect(PLACE(true, 0x48, 0x83, 0xec, 0x18, 0x55), 0, false);
	/* and rsp, -16; sub rsp, -128; mov rsp, rax; lea rsp, [rsp - 8] */
	expect(PLACE(false, 0x48, 0x83, 0xe4, 0xf0, 0x55), 0, false);
	expect(PLACE(false, 0x48, 0x83, 0xec, 0x80, 0x55), 0, false);
	expect(PLACE(false, 0x48, 0x89, 0xc4, 0x55), 0, false);
	expect(PLACE(false, 0x48, 0x8d, 0x64, 0x24, 0xf8, 0x55), 0, false);
}

static void test_arguments(void **state)
{
	(void)state;
	/* mov rax, rdi; mov [rax], rdi; cmp rdi, rsi: they are only read */
	expect(PLACE(true, 0x48, 0x89, 0xf8, 0x48, 0x89, 0x38, 0x48, 0x39, 0xf7, 0x55), 9, true);
	/* mov rdi, rax; mov rdi, [rax]; xor esi, esi; lea rsi, [rdi - 16]; mov dil, 1 */
	expect(PLACE(true, 0x48, 0x89, 0xc7, 0x55), 0, false);
	expect(PLACE(true, 0x48, 0x8b, 0x38, 0x55), 0, false);
	expect(PLACE(true, 0x31, 0xf6, 0x55), 0, false);
	expect(PLACE(true, 0x48, 0x8d, 0x77, 0xf0, 0x55), 0, false);
	expect(PLACE(true, 0x40, 0xb7, 1, 0x55), 0, false);
	/* mov dh, 1 is rdx's; mov bh, 1 is not */
	expect(PLACE(true, 0xb6, 1, 0x55), 0, false);
	expect(PLACE(true, 0xb7, 1, 0x55), 2, true);
	/* mov edx, 1; movzx edx, al; cmovne rdi, rax; sete dl */
	expect(PLACE(true, 0xba, 1, 0, 0, 0, 0x55), 0, false);
	expect(PLACE(true, 0x0f, 0xb6, 0xd0, 0x55), 0, false);
	expect(PLACE(true, 0x48, 0x0f, 0x45, 0xf8, 0x55), 0, false);
	expect(PLACE(true, 0x0f, 0x94, 0xc2, 0x55), 0, false);
	/* r14 and r15 are no arguments, though their low bits are those of rsi and rdi */
	expect(PLACE(true, 0x49, 0x89, 0xff, 0x45, 0x31, 0xf6, 0x41, 0x57), 6, true);
}

static void expect_held(struct prologue p, u32 offset, u8 first, u8 second)
{
	expect(p, offset, true);
	assert_int_equal(p.moved, first != 7 || second != 6);
	assert_int_equal(p.holds[0], first);
	assert_int_equal(p.holds[1], second);
	assert_int_equal(p.holds[2], 2);
}

/* Arguments that are copied to other registers before their own are used again. */
static void test_moved(void **state)
{
	/* malloc of mimalloc 2.0: mov rax, [rip + x]; mov rsi, rdi; mov rdi, fs:[rax]; cmp rsi,
	 * 1024; ja */
	static const u8 malloc_[] = {0x48, 0x8b, 5, 0x49, 0xb4, 0, 0, 0x48, 0x89, 0xfe, 0x64, 0x48,
		0x8b, 0x38, 0x48, 0x81, 0xfe, 0, 4, 0, 0, 0x77, 0x29};
	/* realloc: mov rax, [rip + x]; mov rdx, rsi; mov rsi, rdi; mov rax, fs:[rax]; mov rdi, rax;
	 * jmp */
	static const u8 realloc_[] = {0x48, 0x8b, 5, 0x49, 0xa9, 0, 0, 0x48, 0x89, 0xf2, 0x48, 0x89,
		0xfe, 0x64, 0x48, 0x8b, 0, 0x48, 0x89, 0xc7, 0xe9, 0xf7, 0x4e, 0xff, 0xff};
	/* free of jemalloc 5.3: copies, shifts and sums, and a branch behind 48 bytes of them */
	static const u8 free_[] = {0x48, 0x89, 0xf8, 0x48, 0x8b, 0x15, 0x0e, 0x53, 0x0a, 0, 0x48,
		0x89, 0xf9, 0x48, 0xc1, 0xe8, 0x1a, 0x48, 0x81, 0xe1, 0, 0, 0, 0xc0, 0x25, 0xf0, 0,
		0, 0, 0x64, 0x48, 3, 4, 0x25, 0, 0, 0, 0, 0x48, 1, 0xd0, 0x48, 0x3b, 0x88, 0xb0, 1,
		0, 0, 0x0f, 0x85, 0x8a, 0, 0, 0};

	(void)state;
	expect_held(prologue_place(malloc_, sizeof(malloc_),
			    WANTS(.arguments = 1, .may_move = true, .same_stack = true)),
		21, 6, 6 /* not wanted */);
	expect(prologue_place(malloc_, sizeof(malloc_), WANTS(.arguments = 1)), 0, false);
	expect(prologue_place(malloc_, sizeof(malloc_), WANTS(.arguments = 3, .may_move = true)), 0,
		false);
	expect_held(prologue_place(realloc_, sizeof(realloc_),
			    WANTS(.arguments = 3, .may_move = true, .same_stack = true)),
		20, 6, 2);
	expect_held(prologue_place(free_, sizeof(free_), WANTS(.arguments = 1)), 48, 7, 6);
	/* mov eax, edi has half of it; mov al, dil less; mov [rax], rdi none */
	expect(prologue_place(BYTES(0x89, 0xf8, 0x31, 0xff, 0x55),
		       WANTS(.arguments = 1, .may_move = true)),
		0, false);
	expect(prologue_place(BYTES(0x40, 0x88, 0xf8, 0x31, 0xff, 0x55),
		       WANTS(.arguments = 1, .may_move = true)),
		0, false);
	expect(prologue_place(BYTES(0x48, 0x89, 0x38, 0x31, 0xff, 0x55),
		       WANTS(.arguments = 1, .may_move = true)),
		0, false);
	/* mov rax, rdi; mul rsi changes rax and rdx; xor edi, edi */
	expect(prologue_place(BYTES(0x48, 0x89, 0xf8, 0x48, 0xf7, 0xe6, 0x31, 0xff, 0x55),
		       WANTS(.arguments = 1, .may_move = true)),
		0, false);
	/* mov rax, rdi; mov rcx, rax; xor eax, eax; xor edi, edi */
	expect_held(prologue_place(
			    BYTES(0x48, 0x89, 0xf8, 0x48, 0x89, 0xc1, 0x31, 0xc0, 0x31, 0xff, 0x55),
			    WANTS(.arguments = 1, .may_move = true)),
		10, 1, 6);
}

static void test_stops(void **state)
{
	(void)state;
	/* ret, syscall, vex, jmp [rip + x], leave, pop, cut off */
	expect(PLACE(false, 0xc3, 0x55), 0, false);
	expect(PLACE(false, 0x0f, 0x05, 0x55), 0, false);
	expect(PLACE(false, 0xc5, 0xf9, 0xef, 0xc0, 0x55), 0, false);
	expect(PLACE(false, 0xff, 0x25, 0, 0, 0, 0, 0x55), 0, false);
	expect(PLACE(false, 0xc9, 0x55), 0, false);
	expect(PLACE(false, 0x5f, 0x55), 0, false);
	expect(PLACE(false, 0x48, 0x81, 0xec, 8), 0, false);
	expect(PLACE(false, 0x48), 0, false);
	expect(prologue_place((const u8 *)"", 0, WANTS(.arguments = 7)), 0, false);
	/* a 16-bit call is none that is emulated */
	expect(PLACE(false, 0x66, 0xe8, 0, 0, 0, 0), 0, false);
	/* a branch is a place, and never passed */
	expect(PLACE(false, 0xe8, 0, 0, 0, 0, 0x55), 0, true);
	expect(PLACE(false, 0x90), 0, true);
}

/* Of any bytes the place is within them. */
static void test_any(void **state)
{
	u8 code[40];

	(void)state;
	srand(1);
	for (int i = 0; i < 200000; i++) {
		size_t n = (size_t)rand() % sizeof(code);
		struct prologue p;

		for (size_t k = 0; k < n; k++)
			code[k] = (u8)rand();
		p = prologue_place(code, n,
			WANTS(.arguments = (u8)(i >> 2 & 7), .may_move = i & 2,
				.same_stack = i & 1));
		assert_true(p.emulated ? p.offset < n : !p.offset);
		assert_true(
			p.moved ? i & 2 : p.holds[0] == 7 && p.holds[1] == 6 && p.holds[2] == 2);
		for (int k = 0; k < PROLOGUE_ARGUMENTS; k++)
			assert_true(p.holds[k] < 16);
	}
}

/* The functions of the C library that runs this: those called most have such a place. */
static void test_here(void **state)
{
	static const char *const names[] = {"malloc", "free", "calloc", "realloc"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const u8 *code = dlsym(RTLD_DEFAULT, names[i]);

		assert_non_null(code);
		assert_true(prologue_place(code, 32, WANTS(.arguments = 3, .same_stack = true))
				    .emulated);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_debian),
		cmocka_unit_test(test_endbr),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
