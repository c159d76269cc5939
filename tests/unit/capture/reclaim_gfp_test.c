/* Names of gfp flags: from the text of tracepoint formats as kernels print them, and back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gfp_text.h"
#include "capture/gfp_names.h"
#include "sys/root.h"

/* 5.10.0-46-amd64 (Debian): events/vmscan/mm_vmscan_direct_reclaim_begin/format */
static const char format_v5_10[] =
	"name: mm_vmscan_direct_reclaim_begin\n"
	"ID: 518\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:gfp_t gfp_flags;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\n"
	"print fmt: \"order=%d gfp_flags=%s\", REC->order, (REC->gfp_flags) ? __print_flags(R"
	"EC->gfp_flags, \"|\", "
	"{(unsigned long)(((((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) "
	"| (( gfp_t)0x100000u)) | (( gfp_t)0x02u)) | (( gfp_t)0x08u)) | (( gfp_t)0x40000u) | "
	"(( gfp_t)0x80000u) | (( gfp_t)0x2000u)) & ~(( gfp_t)(0x400u|0x800u))) | (( gfp_t)0x4"
	"00u)), \"GFP_TRANSHUGE\"}, "
	"{(unsigned long)((((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) |"
	" (( gfp_t)0x100000u)) | (( gfp_t)0x02u)) | (( gfp_t)0x08u)) | (( gfp_t)0x40000u) | ("
	"( gfp_t)0x80000u) | (( gfp_t)0x2000u)) & ~(( gfp_t)(0x400u|0x800u))), \"GFP_TRANSHUG"
	"E_LIGHT\"}, "
	"{(unsigned long)((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) | ("
	"( gfp_t)0x100000u)) | (( gfp_t)0x02u)) | (( gfp_t)0x08u)), \"GFP_HIGHUSER_MOVABLE\"}"
	", "
	"{(unsigned long)(((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) | (("
	" gfp_t)0x100000u)) | (( gfp_t)0x02u)), \"GFP_HIGHUSER\"}, "
	"{(unsigned long)((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) | (( "
	"gfp_t)0x100000u)), \"GFP_USER\"}, "
	"{(unsigned long)(((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u)) | ("
	"( gfp_t)0x400000u)), \"GFP_KERNEL_ACCOUNT\"}, "
	"{(unsigned long)((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u)), \"G"
	"FP_KERNEL\"}, "
	"{(unsigned long)((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u)), \"GFP_NOFS\"}, "
	"{(unsigned long)((( gfp_t)0x20u)|(( gfp_t)0x200u)|(( gfp_t)0x800u)), \"GFP_ATOMIC\"}"
	", "
	"{(unsigned long)((( gfp_t)(0x400u|0x800u))), \"GFP_NOIO\"}, "
	"{(unsigned long)((( gfp_t)0x800u)), \"GFP_NOWAIT\"}, "
	"{(unsigned long)(( gfp_t)0x01u), \"GFP_DMA\"}, "
	"{(unsigned long)(( gfp_t)0x02u), \"__GFP_HIGHMEM\"}, "
	"{(unsigned long)(( gfp_t)0x04u), \"GFP_DMA32\"}, "
	"{(unsigned long)(( gfp_t)0x20u), \"__GFP_HIGH\"}, "
	"{(unsigned long)(( gfp_t)0x200u), \"__GFP_ATOMIC\"}, "
	"{(unsigned long)(( gfp_t)0x40u), \"__GFP_IO\"}, "
	"{(unsigned long)(( gfp_t)0x80u), \"__GFP_FS\"}, "
	"{(unsigned long)(( gfp_t)0x2000u), \"__GFP_NOWARN\"}, "
	"{(unsigned long)(( gfp_t)0x4000u), \"__GFP_RETRY_MAYFAIL\"}, "
	"{(unsigned long)(( gfp_t)0x8000u), \"__GFP_NOFAIL\"}, "
	"{(unsigned long)(( gfp_t)0x10000u), \"__GFP_NORETRY\"}, "
	"{(unsigned long)(( gfp_t)0x40000u), \"__GFP_COMP\"}, "
	"{(unsigned long)(( gfp_t)0x100u), \"__GFP_ZERO\"}, "
	"{(unsigned long)(( gfp_t)0x80000u), \"__GFP_NOMEMALLOC\"}, "
	"{(unsigned long)(( gfp_t)0x20000u), \"__GFP_MEMALLOC\"}, "
	"{(unsigned long)(( gfp_t)0x100000u), \"__GFP_HARDWALL\"}, "
	"{(unsigned long)(( gfp_t)0x200000u), \"__GFP_THISNODE\"}, "
	"{(unsigned long)(( gfp_t)0x10u), \"__GFP_RECLAIMABLE\"}, "
	"{(unsigned long)(( gfp_t)0x08u), \"__GFP_MOVABLE\"}, "
	"{(unsigned long)(( gfp_t)0x400000u), \"__GFP_ACCOUNT\"}, "
	"{(unsigned long)(( gfp_t)0x1000u), \"__GFP_WRITE\"}, "
	"{(unsigned long)(( gfp_t)(0x400u|0x800u)), \"__GFP_RECLAIM\"}, "
	"{(unsigned long)(( gfp_t)0x400u), \"__GFP_DIRECT_RECLAIM\"}, "
	"{(unsigned long)(( gfp_t)0x800u), \"__GFP_KSWAPD_RECLAIM\"} ) : \"none\"\n";

/* 6.1.0-56-amd64 (Debian): events/vmscan/mm_vmscan_direct_reclaim_begin/format */
static const char format_v6_1[] =
	"name: mm_vmscan_direct_reclaim_begin\n"
	"ID: 534\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long gfp_flags;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"order=%d gfp_flags=%s\", REC->order, (REC->gfp_flags) ? __print_flags(R"
	"EC->gfp_flags, \"|\", "
	"{( unsigned long)(((((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u)"
	" | (( gfp_t)0x100000u)) | (( gfp_t)0x02u)) | (( gfp_t)0x08u) | (( gfp_t)0) | (( gfp_"
	"t)0)) | (( gfp_t)0x40000u) | (( gfp_t)0x80000u) | (( gfp_t)0x2000u)) & ~(( gfp_t)(0x"
	"400u|0x800u))) | (( gfp_t)0x400u)), \"GFP_TRANSHUGE\"}, "
	"{( unsigned long)((((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) "
	"| (( gfp_t)0x100000u)) | (( gfp_t)0x02u)) | (( gfp_t)0x08u) | (( gfp_t)0) | (( gfp_t"
	")0)) | (( gfp_t)0x40000u) | (( gfp_t)0x80000u) | (( gfp_t)0x2000u)) & ~(( gfp_t)(0x4"
	"00u|0x800u))), \"GFP_TRANSHUGE_LIGHT\"}, "
	"{( unsigned long)((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) | "
	"(( gfp_t)0x100000u)) | (( gfp_t)0x02u)) | (( gfp_t)0x08u) | (( gfp_t)0) | (( gfp_t)0"
	")), \"GFP_HIGHUSER_MOVABLE\"}, "
	"{( unsigned long)(((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) | ("
	"( gfp_t)0x100000u)) | (( gfp_t)0x02u)), \"GFP_HIGHUSER\"}, "
	"{( unsigned long)((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u) | (("
	" gfp_t)0x100000u)), \"GFP_USER\"}, "
	"{( unsigned long)(((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u)) | "
	"(( gfp_t)0x400000u)), \"GFP_KERNEL_ACCOUNT\"}, "
	"{( unsigned long)((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u)), "
	"\"GFP_KERNEL\"}, "
	"{( unsigned long)((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u)), \"GFP_NOFS\"}, "
	"{( unsigned long)((( gfp_t)0x20u)|(( gfp_t)0x200u)|(( gfp_t)0x800u)), \"GFP_ATOMIC"
	"\"}, "
	"{( unsigned long)((( gfp_t)(0x400u|0x800u))), \"GFP_NOIO\"}, "
	"{( unsigned long)((( gfp_t)0x800u)), \"GFP_NOWAIT\"}, "
	"{( unsigned long)(( gfp_t)0x01u), \"GFP_DMA\"}, "
	"{( unsigned long)(( gfp_t)0x02u), \"__GFP_HIGHMEM\"}, "
	"{( unsigned long)(( gfp_t)0x04u), \"GFP_DMA32\"}, "
	"{( unsigned long)(( gfp_t)0x20u), \"__GFP_HIGH\"}, "
	"{( unsigned long)(( gfp_t)0x200u), \"__GFP_ATOMIC\"}, "
	"{( unsigned long)(( gfp_t)0x40u), \"__GFP_IO\"}, "
	"{( unsigned long)(( gfp_t)0x80u), \"__GFP_FS\"}, "
	"{( unsigned long)(( gfp_t)0x2000u), \"__GFP_NOWARN\"}, "
	"{( unsigned long)(( gfp_t)0x4000u), \"__GFP_RETRY_MAYFAIL\"}, "
	"{( unsigned long)(( gfp_t)0x8000u), \"__GFP_NOFAIL\"}, "
	"{( unsigned long)(( gfp_t)0x10000u), \"__GFP_NORETRY\"}, "
	"{( unsigned long)(( gfp_t)0x40000u), \"__GFP_COMP\"}, "
	"{( unsigned long)(( gfp_t)0x100u), \"__GFP_ZERO\"}, "
	"{( unsigned long)(( gfp_t)0x80000u), \"__GFP_NOMEMALLOC\"}, "
	"{( unsigned long)(( gfp_t)0x20000u), \"__GFP_MEMALLOC\"}, "
	"{( unsigned long)(( gfp_t)0x100000u), \"__GFP_HARDWALL\"}, "
	"{( unsigned long)(( gfp_t)0x200000u), \"__GFP_THISNODE\"}, "
	"{( unsigned long)(( gfp_t)0x10u), \"__GFP_RECLAIMABLE\"}, "
	"{( unsigned long)(( gfp_t)0x08u), \"__GFP_MOVABLE\"}, "
	"{( unsigned long)(( gfp_t)0x400000u), \"__GFP_ACCOUNT\"}, "
	"{( unsigned long)(( gfp_t)0x1000u), \"__GFP_WRITE\"}, "
	"{( unsigned long)(( gfp_t)(0x400u|0x800u)), \"__GFP_RECLAIM\"}, "
	"{( unsigned long)(( gfp_t)0x400u), \"__GFP_DIRECT_RECLAIM\"}, "
	"{( unsigned long)(( gfp_t)0x800u), \"__GFP_KSWAPD_RECLAIM\"}, "
	"{( unsigned long)(( gfp_t)0x800000u), \"__GFP_ZEROTAGS\"} ) : \"none\"\n";

/* 6.18.44: events/vmscan/mm_vmscan_direct_reclaim_begin/format */
static const char format_v6_18[] =
	"name: mm_vmscan_direct_reclaim_begin\n"
	"ID: 637\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long gfp_flags;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"order=%d gfp_flags=%s\", REC->order, (REC->gfp_flags) ? __print_flags(R"
	"EC->gfp_flags, \"|\", "
	"{( unsigned long)(((((((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_"
	"t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))"
	") | (( gfp_t)((((1UL))) << (1)))) | (( gfp_t)((((1UL))) << (3))) | (( gfp_t)0)) | (("
	" gfp_t)((((1UL))) << (18))) | (( gfp_t)((((1UL))) << (19))) | (( gfp_t)((((1UL))) <<"
	" (13)))) & ~(( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11))))) | (( gfp_t)((((1UL)"
	")) << (10)))), \"GFP_TRANSHUGE\"}, "
	"{( unsigned long)((((((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t"
	")((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20))))"
	" | (( gfp_t)((((1UL))) << (1)))) | (( gfp_t)((((1UL))) << (3))) | (( gfp_t)0)) | (( "
	"gfp_t)((((1UL))) << (18))) | (( gfp_t)((((1UL))) << (19))) | (( gfp_t)((((1UL))) << "
	"(13)))) & ~(( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11))))), \"GFP_TRANSHUGE_LIG"
	"HT\"}, "
	"{( unsigned long)((((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)("
	"(((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))) |"
	" (( gfp_t)((((1UL))) << (1)))) | (( gfp_t)((((1UL))) << (3))) | (( gfp_t)0)), \"GFP_"
	"HIGHUSER_MOVABLE\"}, "
	"{( unsigned long)(((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)(("
	"((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))) | "
	"(( gfp_t)((((1UL))) << (1)))), \"GFP_HIGHUSER\"}, "
	"{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((("
	"(1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))), "
	"\"GFP_USER\"}, "
	"{( unsigned long)(((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)(("
	"((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7)))) | (( gfp_t)((((1UL))) << (22)))), "
	"\"GFP_KERNEL_ACCOUNT\"}, "
	"{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((("
	"(1UL))) << (6))) | (( gfp_t)((((1UL))) << (7)))), \"GFP_KERNEL\"}, "
	"{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((("
	"(1UL))) << (6)))), \"GFP_NOFS\"}, "
	"{( unsigned long)((( gfp_t)((((1UL))) << (5)))|(( gfp_t)((((1UL))) << (11)))), \"GFP"
	"_ATOMIC\"}, "
	"{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11))))), \"GFP_NOIO"
	"\"}, "
	"{( unsigned long)((( gfp_t)((((1UL))) << (11))) | (( gfp_t)((((1UL))) << (13)))), "
	"\"GFP_NOWAIT\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (0))), \"GFP_DMA\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (2))), \"GFP_DMA32\"}, "
	"{( unsigned long)(( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))), \"__GFP_RECLAI"
	"M\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (0))), \"__GFP_DMA\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (1))), \"__GFP_HIGHMEM\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (2))), \"__GFP_DMA32\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (3))), \"__GFP_MOVABLE\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (4))), \"__GFP_RECLAIMABLE\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (5))), \"__GFP_HIGH\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (6))), \"__GFP_IO\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (7))), \"__GFP_FS\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (8))), \"__GFP_ZERO\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (10))), \"__GFP_DIRECT_RECLAIM\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (11))), \"__GFP_KSWAPD_RECLAIM\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (12))), \"__GFP_WRITE\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (13))), \"__GFP_NOWARN\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (14))), \"__GFP_RETRY_MAYFAIL\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (15))), \"__GFP_NOFAIL\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (16))), \"__GFP_NORETRY\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (17))), \"__GFP_MEMALLOC\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (18))), \"__GFP_COMP\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (19))), \"__GFP_NOMEMALLOC\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (20))), \"__GFP_HARDWALL\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (21))), \"__GFP_THISNODE\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (22))), \"__GFP_ACCOUNT\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (23))), \"__GFP_ZEROTAGS\"}, "
	"{( unsigned long)(( gfp_t)((((1UL))) << (24))), \"__GFP_NO_OBJ_EXT\"}, "
	"{ 0, ((void *)0) } ) : \"none\"\n";

struct flags {
	size_t n;
	struct {
		u64 mask;
		char name[GFP_NAME_LEN];
	} v[GFP_NAMES_MAX];
};

static int take(void *arg, u64 mask, const char *name)
{
	struct flags *f = arg;

	assert_true(f->n < GFP_NAMES_MAX);
	assert_true(strlen(name) > 0 && strlen(name) < GFP_NAME_LEN);
	assert_true(mask != 0);
	f->v[f->n].mask = mask;
	strcpy(f->v[f->n++].name, name);
	return 0;
}

static u64 mask_of(const struct flags *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return f->v[i].mask;
	return 0;
}

/* The values below are those of include/linux/gfp.h (5.10, 6.1) and gfp_types.h (6.18). */
static void kernel_5_10(void **state)
{
	struct flags f = {};

	(void)state;
	assert_int_equal(gfp_parse(format_v5_10, take, &f), 35);
	assert_int_equal(mask_of(&f, "GFP_KERNEL"), 0xcc0);
	assert_int_equal(mask_of(&f, "GFP_TRANSHUGE"), 0x1c24ca);
	assert_int_equal(mask_of(&f, "GFP_TRANSHUGE_LIGHT"), 0x1c20ca);
	assert_int_equal(mask_of(&f, "GFP_HIGHUSER_MOVABLE"), 0x100cca);
	assert_int_equal(mask_of(&f, "GFP_ATOMIC"), 0xa20);
	assert_int_equal(mask_of(&f, "__GFP_ATOMIC"), 0x200);
	assert_int_equal(mask_of(&f, "__GFP_COMP"), 0x40000);
	assert_string_equal(f.v[0].name, "GFP_TRANSHUGE");
}

static void kernel_6_1(void **state)
{
	struct flags f = {};

	(void)state;
	assert_int_equal(gfp_parse(format_v6_1, take, &f), 36);
	assert_int_equal(mask_of(&f, "GFP_KERNEL_ACCOUNT"), 0x400cc0);
	assert_int_equal(mask_of(&f, "GFP_NOWAIT"), 0x800);
	assert_int_equal(mask_of(&f, "__GFP_ZERO"), 0x100);
	assert_int_equal(mask_of(&f, "__GFP_ZEROTAGS"), 0x800000);
}

/* From 6.10 on the bits come from an enum, and the text has shifts. */
static void kernel_6_18(void **state)
{
	struct flags f = {};

	(void)state;
	assert_int_equal(gfp_parse(format_v6_18, take, &f), 38);
	assert_int_equal(mask_of(&f, "GFP_KERNEL"), 0xcc0);
	assert_int_equal(mask_of(&f, "GFP_TRANSHUGE"), 0x1c24ca);
	assert_int_equal(mask_of(&f, "GFP_ATOMIC"), 0x820);
	assert_int_equal(mask_of(&f, "GFP_NOWAIT"), 0x2800);
	assert_int_equal(mask_of(&f, "__GFP_NO_OBJ_EXT"), 0x1000000);
}

static void no_list(void **state)
{
	static const char *const texts[] = {
		"",
		"print fmt: \"\"",
		"__print_flags(",
		"__print_flags(REC->x, \"|\"",
		"__print_flags(REC->x, \"|\", )",
		"__print_flags(REC->x, \"|\", {0, \"A\"})",
		"__print_flags(REC->x, \"|\", {A_BIT, \"A\"})",
		"__print_flags(REC->x, \"|\", {1, \"A\x1b[2J\"})",
		"__print_flags(REC->x, \"|\", {1, \"\"})",
	};
	struct flags f = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(gfp_parse(texts[i], take, &f), -EINVAL);
	assert_int_equal(f.n, 0);
}

#define LIST(entries_) "__print_flags(REC->gfp_flags, \"|\", " entries_ ") : \"none\""

static void expressions(void **state)
{
	struct flags f = {};

	(void)state;
	assert_int_equal(gfp_parse(LIST("{ 1u << 3 | 1UL << (2 + 2), \"SHIFTS\"}, "
					"{(unsigned int)0xff & ~0xfU, \"MASKED\"}, "
					"{(1 << ___GFP_NEW_BIT), \"NOT_EVALUATED\"}, "
					"{(___GFP_NEW), \"NEITHER\"}, "
					"{010 ^ 0x18 - 8, \"WRONG_IN_NO_WAY\"}, "
					"{1 << 64, \"TOO_FAR\"}, "
					"{99999999999999999999, \"TOO_LARGE\"}, "
					"{(((( (2) )))), \"TWO\"}, { 0, ((void *)0) }"),
				 take, &f),
		4);
	assert_int_equal(mask_of(&f, "SHIFTS"), 0x18);
	assert_int_equal(mask_of(&f, "MASKED"), 0xf0);
	assert_int_equal(mask_of(&f, "WRONG_IN_NO_WAY"), 0x18);
	assert_int_equal(mask_of(&f, "TWO"), 2);
}

static void nesting_has_a_limit(void **state)
{
	_cleanup_str_ struct str s = {};
	struct flags f = {};

	(void)state;
	str_add(&s, "__print_flags(REC->x, \"|\", {");
	for (int i = 0; i < 100000; i++)
		str_addc(&s, i % 2 ? '(' : '~');
	str_add(&s, "1, \"DEEP\"}, {1, \"FLAT\"}");
	assert_int_equal(gfp_parse(str_get(&s), take, &f), 1);
	assert_int_equal(mask_of(&f, "FLAT"), 1);
}

static void list_has_a_limit(void **state)
{
	_cleanup_str_ struct str s = {};
	struct flags f = {};

	(void)state;
	str_add(&s, "__print_flags(REC->x, \"|\"");
	for (int i = 0; i < 1000; i++)
		str_addf(&s, ", {%d, \"F%d\"}", i + 1, i);
	assert_int_equal(gfp_parse(str_get(&s), take, &f), GFP_NAMES_MAX);
}

static int refuse(void *arg, u64 mask, const char *name)
{
	(void)arg;
	(void)mask;
	(void)name;
	return -ENOSPC;
}

static void receiver_may_fail(void **state)
{
	(void)state;
	assert_int_equal(gfp_parse(format_v6_18, refuse, NULL), -ENOSPC);
}

/* Cut or spoilt anywhere it does not crash (the text lies in a block of just its size). */
static void damaged_anywhere(void **state)
{
	size_t n = strlen(format_v6_18);

	(void)state;
	for (size_t i = 0; i < n; i += 7) {
		struct flags f = {};
		char *text = malloc(i + 1);

		assert_non_null(text);
		memcpy(text, format_v6_18, i);
		text[i] = '\0';
		gfp_parse(text, take, &f);
		free(text);
	}
	for (size_t i = 0; i < n; i++) {
		static const char spoil[] = "({\"0,~}";
		struct flags f = {};
		char *text = strdup(format_v6_18);

		assert_non_null(text);
		text[i] = spoil[i % (sizeof(spoil) - 1)];
		gfp_parse(text, take, &f);
		free(text);
	}
}

static int to_stream(void *arg, u64 mask, const char *name)
{
	struct rec_enum r = {.h = {.size = sizeof(r), .kind = REC_ENUM}, .value = mask};

	strcpy(r.set, GFP_SET);
	strcpy(r.name, name);
	return stream_feed(arg, &r.h);
}

static void assert_named(const struct stream *s, u64 mask, const char *want)
{
	_cleanup_str_ struct str got = {};

	gfp_add(&got, s, mask);
	assert_string_equal(str_get(&got), want);
}

static void named(void **state)
{
	struct stream s;

	(void)state;
	assert_int_equal(stream_init(&s), 0);
	assert_named(&s, 0xcc0, "0xcc0");
	assert_named(&s, 0, "0x0");
	assert_true(gfp_parse(format_v6_18, to_stream, &s) > 0);
	assert_named(&s, 0xcc0, "GFP_KERNEL");
	assert_named(&s, 0x100dca, "GFP_HIGHUSER_MOVABLE|__GFP_ZERO");
	assert_named(&s, 0x40cc0, "GFP_KERNEL|__GFP_COMP");
	assert_named(&s, 0x1c24ca, "GFP_TRANSHUGE");
	assert_named(&s, 0xc40, "GFP_NOFS");
	assert_named(&s, 0x80000000, "0x80000000");
	assert_named(&s, 0x80000cc0, "GFP_KERNEL|0x80000000");
	assert_named(&s, 0, "none");
	stream_destroy(&s);
}

/* In the kernel's format the flag has this mask, or the flag is not in it. */
static int same_as_format(void *arg, u64 mask, const char *name)
{
	struct flags *format = arg;
	bool two_masks = !strcmp(name, "GFP_ATOMIC") || !strcmp(name, "GFP_NOWAIT");

	for (u32 i = 0; i < format->n; i++)
		if (!strcmp(format->v[i].name, name) && !two_masks)
			assert_int_equal(mask, format->v[i].mask);
	return 0;
}

/* Of each of these kernels, what the table names is named right. */
static void read_without_tracefs(void **state)
{
	static const char *const formats[] = {format_v5_10, format_v6_1, format_v6_18};
	const char *method;

	(void)state;
	assert_int_equal(sys_root_set("/nonexistent"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct flags format = {}, table = {};

		assert_true(gfp_parse(formats[i], take, &format) > 30);
		assert_true(gfp_read(same_as_format, &format, &method) > 30);
		assert_string_equal(method, "table of Linux 5.10 to 6.18");
		assert_true(gfp_read(take, &table, &method) > 30);
		assert_int_equal(mask_of(&table, "GFP_KERNEL"), mask_of(&format, "GFP_KERNEL"));
		for (u32 f = 0; f < format.n;
			f++) /* all but the bits that each release has its own of */
			if (format.v[f].mask < 0x800000)
				assert_int_not_equal(mask_of(&table, format.v[f].name), 0);
	}
	assert_int_equal(sys_root_set(NULL), 0);
}

static void migratetype_wanted(void **state)
{
	(void)state;
	assert_string_equal(gfp_migratetype(0xcc0), "Unmovable");   /* GFP_KERNEL */
	assert_string_equal(gfp_migratetype(0x100cca), "Movable");  /* GFP_HIGHUSER_MOVABLE */
	assert_string_equal(gfp_migratetype(0xcd0), "Reclaimable"); /* with __GFP_RECLAIMABLE */
	assert_null(gfp_migratetype(GFP_MOBILITY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_5_10),
		cmocka_unit_test(kernel_6_1),
		cmocka_unit_test(kernel_6_18),
		cmocka_unit_test(no_list),
		cmocka_unit_test(expressions),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(list_has_a_limit),
		cmocka_unit_test(receiver_may_fail),
		cmocka_unit_test(damaged_anywhere),
		cmocka_unit_test(named),
		cmocka_unit_test(read_without_tracefs),
		cmocka_unit_test(migratetype_wanted),
	};

	return cmocka_run_group_tests_name("reclaim_gfp", tests, NULL, NULL);
}
