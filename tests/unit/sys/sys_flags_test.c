/* Names of flags of system calls: sets, fields, zero, and what has no name. */
#include <sys/mman.h>
#include <sys/shm.h>

#include "data/sys/fixture.h"
#include "sys/calls/flags.h"
#include "sys/calls/syscall_value.h"

static void assert_flags(const struct flag *table, u64 value, const char *expected)
{
	_cleanup_str_ struct str s = {};

	flags_add(&s, table, value);
	assert_string_equal(str_get(&s), expected);
}

static void test_sets(void **state)
{
	(void)state;
	assert_flags(prot_flags, PROT_READ | PROT_WRITE, "PROT_READ|PROT_WRITE");
	assert_flags(map_flags, MAP_PRIVATE | MAP_ANONYMOUS, "MAP_PRIVATE|MAP_ANONYMOUS");
	assert_flags(map_flags, MAP_SHARED | MAP_HUGETLB | (21u << 26),
		"MAP_SHARED|MAP_HUGETLB|MAP_HUGE_2MB");
	assert_flags(mremap_flags, MREMAP_MAYMOVE, "MREMAP_MAYMOVE");
	assert_flags(shmget_flags, IPC_CREAT | 0600, "IPC_CREAT|0x180");
}

static void test_field_is_not_bits(void **state)
{
	(void)state;
	/* MAP_SHARED_VALIDATE is 3: not MAP_SHARED and MAP_PRIVATE. */
	assert_flags(map_flags, 3, "MAP_SHARED_VALIDATE");
	assert_flags(map_flags, MAP_FIXED, "MAP_FIXED");
	assert_flags(map_flags, 5 | MAP_ANONYMOUS, "MAP_ANONYMOUS|0x5");
}

static void test_zero(void **state)
{
	(void)state;
	assert_flags(prot_flags, 0, "PROT_NONE");
	assert_flags(madvise_advice, 0, "MADV_NORMAL");
	assert_flags(map_flags, 0, "0");
}

static void test_one_of(void **state)
{
	(void)state;
	assert_string_equal(flag_name(madvise_advice, MADV_HUGEPAGE), "MADV_HUGEPAGE");
	assert_null(flag_name(madvise_advice, 5));
	assert_flags(madvise_advice, 5, "0x5");
	assert_flags(shmctl_commands, IPC_STAT, "IPC_STAT");
}

static void test_unknown_bits(void **state)
{
	(void)state;
	assert_flags(prot_flags, 1ULL << 40, "0x10000000000");
	assert_flags(prot_flags, PROT_READ | (1ULL << 63), "PROT_READ|0x8000000000000000");
	assert_flags(prot_flags, UINT64_MAX,
		"PROT_READ|PROT_WRITE|PROT_EXEC|PROT_SEM|PROT_GROWSDOWN|PROT_GROWSUP|"
		"0xfffffffffcfffff0");
}

static void assert_termios(u32 input, u32 output, u32 control, u32 local, const char *expected)
{
	const u32 v[] = {input, output, control, local};
	_cleanup_str_ struct str s = {};

	termios_add(&s, v);
	assert_string_equal(str_get(&s), expected);
}

/* As strace writes them, but for nothing, which it leaves empty. */
static void test_termios(void **state)
{
	(void)state;
	assert_termios(0x5500, 5, 0x10bf, 0x8a3b,
		"{c_iflag=ICRNL|IXON|IXOFF|IUTF8, "
		"c_oflag=NL0|CR0|TAB0|BS0|VT0|FF0|OPOST|ONLCR, c_cflag=B4000000|CS8|CREAD, "
		"c_lflag=ISIG|ICANON|ECHO|ECHOE|ECHOK|IEXTEN|ECHOCTL|ECHOKE, ...}");
	assert_termios(1, 0x68a8, 0x1032, 0x11000,
		"{c_iflag=IGNBRK, c_oflag=NL0|CR0|TAB1|BS1|VT1|FF0|OCRNL|ONLRET|OFDEL, "
		"c_cflag=B115200|CS8, c_lflag=FLUSHO|EXTPROC, ...}");
	assert_termios(0xffff8000, ~0U, 0x0ff0e000, 0,
		"{c_iflag=0xffff8000, "
		"c_oflag=NL1|CR3|XTABS|BS1|VT1|FF1|OPOST|OLCUC|ONLCR|OCRNL|ONOCR|ONLRET|OFILL|"
		"OFDEL|"
		"0xffff0000, c_cflag=B0|CS5|0xff0e000, c_lflag=0, ...}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_field_is_not_bits),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_one_of),
		cmocka_unit_test(test_unknown_bits),
		cmocka_unit_test(test_termios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
