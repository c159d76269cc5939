/* Tests of the readers behind `where`: captured text, damaged text, and sockets of this test. */
#include "data/sys/fixture.h"

#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include "base/greatest.h"
#include "sys/memory/kpage.h"
#include "sys/memory/memfs.h"
#include "sys/memory/percpu.h"
#include "sys/memory/unix_queues.h"
#include "sys/memory/vmallocinfo.h"

static const struct vmalloc_caller *caller_of(const struct vmallocinfo *info, const char *name)
{
	vec_each (c, &info->list)
		if (!strcmp(c->caller, name))
			return c;
	return NULL;
}

static void test_vmallocinfo(void **unused)
{
	static const char text[] =
		"0x00000000a1-0x00000000b2   20480 dup_task_struct+0x59/0x160 pages=4 vmalloc "
		"N0=4\n"
		"0x00000000b2-0x00000000c3    8192 acpi_os_map_iomem+0x1bc/0x1e0 phys=0xa0000 "
		"ioremap\n"
		"0x00000000c3-0x00000000d4   12288 load_module+0x1/0x2 [a_module] pages=2 vmalloc\n"
		"0x00000000d4-0x00000000e5   20480 dup_task_struct+0x59/0x160 pages=4 vmalloc "
		"N1=4\n"
		"0x00000000d4-0x00000000e5 pages=9\nno line\npages=7\n\n";
	_cleanup_vmallocinfo_ struct vmallocinfo info = {};
	const struct vmalloc_caller *c;

	(void)unused;
	assert_int_equal(vmallocinfo_parse(text, &info), 0);
	assert_int_equal(info.list.n, 2);
	c = caller_of(&info, "dup_task_struct");
	assert_non_null(c);
	assert_int_equal(c->areas, 2);
	assert_int_equal(c->pages, 8);
	assert_int_equal(caller_of(&info, "load_module")->pages, 2);
	assert_true(vmalloc_is_stack(c->caller));
	assert_false(vmalloc_is_stack("load_module"));
	assert_int_equal(vmallocinfo_parse("", &info), 0);
	assert_int_equal(info.list.n, 0);
}

static void test_percpu(void **unused)
{
	u64 pages = 0;

	(void)unused;
	assert_int_equal(percpu_first_parse("<6>[0.05] setup_percpu: NR_CPUS:256\n"
					    "<6>[0.06] percpu: Embedded 53 pages/cpu s186136 r0\n",
				 &pages),
		0);
	assert_int_equal(pages, 53);
	assert_int_equal(percpu_first_parse("percpu: 60 4K pages/cpu s1 r8192\n", &pages), 0);
	assert_int_equal(pages, 60);
	assert_int_equal(percpu_first_parse("percpu: Embedded x\npercpu: ", &pages), -ENODATA);
	assert_int_equal(percpu_first_parse("", &pages), -ENODATA);
}

/* The kernel's answer for one socket: its header and some attributes. */
static void test_unix_message(void **unused)
{
	struct {
		struct unix_diag_msg m;
		struct rtattr peer;
		u32 peer_inode;
		struct rtattr queue;
		struct unix_diag_rqlen rqlen;
	} msg = {
		.m = {.udiag_ino = 7, .udiag_type = SOCK_STREAM},
		.peer = {sizeof(struct rtattr) + 4, UNIX_DIAG_PEER},
		.peer_inode = 9,
		.queue = {sizeof(struct rtattr) + 8, UNIX_DIAG_RQLEN},
		.rqlen = {123, 0},
	};
	struct unix_socket s;

	(void)unused;
	assert_true(unix_socket_parse(&msg, sizeof(msg), &s));
	assert_int_equal(s.inode, 7);
	assert_int_equal(s.peer, 9);
	assert_int_equal(s.unread_bytes, 123);
	msg.queue.rta_len = 60000; /* more than there is */
	assert_true(unix_socket_parse(&msg, sizeof(msg), &s));
	assert_int_equal(s.unread_bytes, 0);
	assert_false(unix_socket_parse(&msg, 3, &s));
}

static void queue_put(struct unix_sockets *s, u32 inode, u32 peer, u32 unread, u32 charged)
{
	struct unix_socket u = {.inode = inode,
		.peer = peer,
		.type = SOCK_STREAM,
		.unread_bytes = unread,
		.charged_bytes = charged};

	assert_int_equal(vec_push(&s->list, u), 0);
}

static void test_unix_pages(void **unused)
{
	struct unix_sockets s = {};

	(void)unused;
	queue_put(&s, 1, 2, 65536, 0); /* a write of 64 KiB, from 2, as 6.18 charges it */
	queue_put(&s, 2, 1, 0, 67073);
	queue_put(&s, 3, 4, 100, 0); /* a small one, from 4: it is in slab */
	queue_put(&s, 4, 3, 0, 768);
	queue_put(&s, 5, 0, 4096, 0); /* from nobody that is there */
	queue_put(&s, 6, 7, 0, 48641);
	queue_put(&s, 7, 6, 40960, 0); /* ten of a page */
	assert_int_equal(unix_sockets_pages_bytes(&s), 65536 - 4096 + 40960);
	unix_sockets_free(&s);
}

static void test_unix_here(void **unused)
{
	static char message[65536];
	struct unix_sockets before = {}, after = {};
	int pair[2], rc = unix_sockets_read(&before);

	(void)unused;
	if (rc)
		fixture_skip("no sock_diag for UNIX sockets here");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(write(pair[0], message, sizeof(message)), sizeof(message));
	assert_int_equal(unix_sockets_read(&after), 0);
	assert_true(after.list.n > 1);
	assert_true(unix_sockets_pages_bytes(&after) >= sizeof(message) / 16 * 15);
	close(pair[0]);
	close(pair[1]);
	unix_sockets_free(&before);
	unix_sockets_free(&after);
}

static void test_memfs(void **unused)
{
	struct memfs_list l = {};
	bool shm = false;

	(void)unused;
	assert_true(memfs_is("tmpfs"));
	assert_false(memfs_is("ramfs"));
	assert_int_equal(memfs_read(&l), 0);
	vec_each (m, &l.list)
		shm |= !strcmp(m->point, "/dev/shm") || !strcmp(m->point, "/dev");
	if (!shm)
		print_message("no tmpfs below /dev here\n");
	memfs_free(&l);
	memfs_free(&l);
}

static void test_top(void **unused)
{
	struct top top;

	(void)unused;
	top_clear(&top, 2);
	top_offer(&top, 5, 0);
	top_offer(&top, 0, 1);
	top_offer(&top, 9, 2);
	top_offer(&top, 7, 3);
	top_offer(&top, 7, 4);
	assert_int_equal(top.n, 2);
	assert_int_equal(top.at[0], 2);
	assert_int_equal(top.at[1], 3);
}

#define BIT(n_) (1ULL << (n_))

/* By the flags; tails that have none of their own are what their head is. */
static void test_kpage(void **unused)
{
	u8 head = KPAGE_OTHER;

	(void)unused;
	assert_int_equal(kpage_kind(BIT(10), &head), KPAGE_FREE);
	assert_int_equal(kpage_kind(BIT(20), &head), KPAGE_NONE);
	assert_int_equal(kpage_kind(0, &head), KPAGE_OTHER);
	assert_int_equal(kpage_kind(BIT(32), &head), KPAGE_RESERVED);
	assert_int_equal(kpage_kind(BIT(5) | BIT(3), &head), KPAGE_FILE);
	assert_int_equal(kpage_kind(BIT(5) | BIT(14), &head), KPAGE_SHMEM);
	assert_int_equal(kpage_kind(BIT(18) | BIT(14), &head), KPAGE_SHMEM);
	assert_int_equal(kpage_kind(BIT(5) | BIT(14) | BIT(13), &head), KPAGE_ANON);
	assert_int_equal(kpage_kind(BIT(12) | BIT(5), &head), KPAGE_ANON);
	assert_int_equal(kpage_kind(BIT(26), &head), KPAGE_TABLE);
	assert_int_equal(kpage_kind(BIT(23), &head), KPAGE_OFFLINE);
	assert_int_equal(kpage_kind(BIT(17) | BIT(12), &head), KPAGE_HUGETLB);
	assert_int_equal(kpage_kind(BIT(7) | BIT(15), &head), KPAGE_SLAB);
	assert_int_equal(kpage_kind(BIT(16), &head), KPAGE_SLAB);
	assert_int_equal(kpage_kind(BIT(16) | BIT(12), &head), KPAGE_ANON);
	assert_int_equal(kpage_kind(BIT(15), &head), KPAGE_OTHER);
	assert_int_equal(kpage_kind(BIT(16), &head), KPAGE_OTHER);
}

/* Of ten chunks out of a hundred with 90 or 110 pages each: the mean is off by 3.3, less as a tenth
 * was looked at. */
static void test_kpage_error(void **unused)
{
	(void)unused;
	assert_in_range(kpage_error(1000, 5 * 8100 + 5 * 12100, 10, 100), 620, 640);
	assert_int_equal(kpage_error(1000, 100000, 10, 100), 0); /* all are alike */
	assert_int_equal(kpage_error(1000, 101000, 10, 10), 0);  /* all were looked at */
	assert_int_equal(kpage_error(100, 10000, 1, 10), 0);
}

/* Frames without memory are in no row. */
static void test_kpage_close(void **unused)
{
	struct kpage_census k = {.pages = {[KPAGE_FREE] = 100, [KPAGE_OTHER] = 90}};

	(void)unused;
	kpage_census_close(&k, 0, 0);
	assert_int_equal(k.pages[KPAGE_OTHER], 90);
	kpage_census_close(&k, 500, 0);
	assert_int_equal(k.pages[KPAGE_OTHER], 90);
	kpage_census_close(&k, 150, 0);
	assert_int_equal(k.pages[KPAGE_OTHER], 50);
	kpage_census_close(&k, 150, 20);
	assert_int_equal(k.pages[KPAGE_OTHER], 30);
	assert_int_equal(k.pages[KPAGE_FREE], 120);
	kpage_census_close(&k, 80, 20);
	assert_int_equal(k.pages[KPAGE_OTHER], 0);
	assert_int_equal(k.pages[KPAGE_FREE], 120);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vmallocinfo),
		cmocka_unit_test(test_percpu),
		cmocka_unit_test(test_unix_message),
		cmocka_unit_test(test_unix_pages),
		cmocka_unit_test(test_unix_here),
		cmocka_unit_test(test_memfs),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_kpage),
		cmocka_unit_test(test_kpage_error),
		cmocka_unit_test(test_kpage_close),
	};

	return cmocka_run_group_tests_name("sys_where", tests, NULL, NULL);
}
