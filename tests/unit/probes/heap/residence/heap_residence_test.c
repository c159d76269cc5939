/* Who has what is resident: bytes of blocks by their pages, the zero page, what blocks lie in,
 * swap, and that all of it is Rss; which faults count where, on a made /proc. And the table of it.
 */
#include <fcntl.h>

#include "data/sys/fixture.h"

#include "probes/heap/collect/ring_reader.h"
#include "probes/heap/residence/fault_events.h"
#include "probes/heap/view/heap_view.h"
#include "sys/process/pagemap.h"
#include "sys/process/smaps.h"
#include "view_fixture.h"

#define PRESENT (1ULL << 63)
#define SWAPPED (1ULL << 62)
#define OF_FILE (1ULL << 61)
#define OWN (PRESENT | 1ULL << 56)

#define HEAP 0x10000000ULL
#define ANON 0x20000000ULL
#define FILES 0x30000000ULL
#define STACK 0x40000000ULL

struct rig {
	char tree[PATH_MAX];
	struct residence_names names;
	struct residence *r;
	struct account account;
	struct mappings mappings;
	u32 thread;
};

static int rig_make(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	fixture_make(g->tree);
	g->r = residence_new(&g->names);
	assert_non_null(g->r);
	assert_int_equal(account_thread(&g->account, 7, &g->thread), 0);
	*state = g;
	return 0;
}

static int rig_free(void **state)
{
	struct rig *g = *state;

	residence_free(g->r);
	residence_names_free(&g->names);
	account_free_all(&g->account);
	mappings_free(&g->mappings);
	fixture_remove(g->tree);
	sys_root_set("");
	free(g);
	return 0;
}

/* Entries of the pages from an address on. */
static void pages_put(struct rig *g, u64 address, const u64 *entries, size_t n)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/proc/7/pagemap", g->tree);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, entries, n * 8, (off_t)(address / 4096 * 8)), n * 8);
	close(fd);
}

static void block(struct rig *g, u64 address, u64 bytes, u32 stack)
{
	assert_int_equal(
		account_alloc(&g->account, g->thread, address, bytes, 0, stack, false, 1), 0);
}

static void look(struct rig *g)
{
	assert_int_equal(residence_look(g->r, 7, &g->account, &g->mappings), 0);
}

static const struct residence_sums *sums(const struct rig *g, u32 what, u32 id, u32 kind)
{
	static const struct residence_sums none = {};
	struct residence_key k = {what, id, kind};
	const struct residence_sums *s = groups_find(&g->r->sums, &k);

	return s ? s : &none;
}

static u64 all_resident(const struct rig *g)
{
	u64 n = 0;

	for (size_t i = 0; i < g->r->sums.n; i++)
		n += ((const struct residence_sums *)groups_value(&g->r->sums, i))->resident;
	return n;
}

static void a_page_is_split_by_bytes(void **state)
{
	static const u64 pages[] = {OWN, OWN, 0, SWAPPED};
	struct rig *g = *state;

	fixture_put_text("/proc/7/smaps", "10000000-10004000 rw-p 00000000 00:00 0 [heap]\n"
					  "Rss: 8 kB\nSwap: 4 kB\nVmFlags: rd wr\n"
					  "30000000-30002000 r-xp 00000000 08:01 9 "
					  "/usr/lib/libx.so\nRss: 8 kB\nSwap: 0 kB\n");
	pages_put(g, HEAP, pages, 4);
	block(g, HEAP + 16, 1000, 1);
	block(g, HEAP + 1040, 500, 2);
	block(g, HEAP + 4000, 5000, 1); /* over a page that is not there */
	block(g, HEAP + 12288, 100, 2); /* in swap */
	look(g);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 1, 0)->resident, 1000 + 8192 - 4000);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 1, 0)->live, 6000);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 2, 0)->resident, 500);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 2, 0)->swapped, 100);
	assert_int_equal(sums(g, HEAP_PLACE_LIBC, 0, 0)->resident, 8192 - 1500 - 4192);
	assert_int_equal(sums(g, HEAP_PLACE_LIBC, 0, 0)->swapped, 4096 - 100);
	assert_int_equal(sums(g, HEAP_PLACE_FILE, 1, 0)->resident, 8192);
	assert_string_equal(g->names.list.v[0], "libx.so");
	assert_int_equal(all_resident(g), 16384);
	assert_int_equal(g->r->look.rss, 16384);
}

/* Pages that came after the kernel had counted them are there all the same: all is the sum. */
static void what_grows_while_it_is_looked_at(void **state)
{
	static const u64 pages[] = {OWN, OWN, OWN, OWN};
	struct rig *g = *state;

	fixture_put_text("/proc/7/smaps", "10000000-10004000 rw-p 00000000 00:00 0 [heap]\n"
					  "Rss: 8 kB\nSwap: 0 kB\nVmFlags: rd wr\n");
	pages_put(g, HEAP, pages, 4);
	block(g, HEAP + 4096, 12288, 1);
	look(g);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 1, 0)->resident, 12288);
	assert_int_equal(all_resident(g), 16384);
	assert_int_equal(g->r->look.rss, 16384);
}

/* What is only read is the zero page: mapped, but not in Rss. */
static void the_zero_page_is_no_memory(void **state)
{
	static const u64 pages[] = {OWN, PRESENT, PRESENT, PRESENT};
	struct rig *g = *state;

	fixture_put_text("/proc/7/smaps",
		"20000000-20004000 rw-p 00000000 00:00 0 \nRss: 4 kB\nSwap: 0 kB\n");
	pages_put(g, ANON, pages, 4);
	block(g, ANON + 16, 16000, 1);
	look(g);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 1, 0)->resident, 4080);
	/* Two of the three are shared since a fork: which ones cannot be told. */
	fixture_put_text("/proc/7/smaps",
		"20000000-20004000 rw-p 00000000 00:00 0 \nRss: 12 kB\nSwap: 0 kB\n");
	look(g);
	assert_in_range(sums(g, HEAP_PLACE_BLOCK, 1, 0)->resident, 12025, 12027);
	assert_int_equal(all_resident(g), 12288);
}

/* A stack and a block above it may be one mapping. */
static void a_block_beside_a_stack(void **state)
{
	static const u64 pages[] = {0, OWN, OWN, OWN};
	struct rig *g = *state;

	fixture_put_text("/proc/7/smaps",
		"20000000-20004000 rw-p 00000000 00:00 0 \nRss: 12 kB\nSwap: 0 kB\n");
	pages_put(g, ANON, pages, 4);
	assert_int_equal(residence_stack(g->r, 7, ANON + 4096 + 8), 0);
	block(g, ANON + 8192 + 16, 8000, 1);
	look(g);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 1, 0)->resident, 8000);
	assert_int_equal(sums(g, HEAP_PLACE_STACK, 0, 0)->resident, 12288 - 8000);
	assert_int_equal(sums(g, HEAP_PLACE_LIBC, 0, 0)->resident, 0);
}

static void blocks_in_what_the_program_mapped(void **state)
{
	static const u64 pages[] = {OWN, OWN, OWN, 0};
	struct rig *g = *state;

	fixture_put_text("/proc/7/smaps",
		"20000000-20004000 rw-p 00000000 00:00 0 \nRss: 12 kB\nSwap: 0 kB\n");
	pages_put(g, ANON, pages, 4);
	assert_int_equal(mappings_map(&g->mappings, 5, 1, ANON + 4096, 12288, 1), 0);
	block(g, ANON + 4096, 1096, 1);
	look(g);
	assert_int_equal(sums(g, HEAP_PLACE_MAPPED, 5, 1)->resident, 8192 - 1096);
	assert_int_equal(sums(g, HEAP_PLACE_MAPPED, 5, 1)->live, 12288 - 1096);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 1, 0)->resident, 1096);
	assert_int_equal(sums(g, HEAP_PLACE_LIBC, 0, 0)->resident, 4096);
	assert_int_equal(all_resident(g), 12288);
}

static void a_process_that_is_gone_changes_nothing(void **state)
{
	static const u64 pages[] = {OWN};
	struct rig *g = *state;

	fixture_put_text("/proc/7/smaps",
		"10000000-10001000 rw-p 00000000 00:00 0 [heap]\nRss: 4 kB\nSwap: 0 kB\n");
	pages_put(g, HEAP, pages, 1);
	look(g);
	fixture_put_text("/proc/7/smaps", "");
	look(g);
	assert_int_equal(g->r->look.rss, 4096);
	assert_int_equal(all_resident(g), 4096);
	assert_int_equal(residence_look(g->r, 8, &g->account, &g->mappings), 0);
	assert_int_equal(all_resident(g), 4096);
}

static struct residence_key place(struct rig *g, u64 address, u64 sp)
{
	return residence_place(g->r, NULL, 7, address, sp, 1);
}

static void what_memory_is(void **state)
{
	struct rig *g = *state;

	fixture_put_text("/proc/7/maps",
		"10000000-10004000 rw-p 00000000 00:00 0 [heap]\n"
		"20000000-20004000 rw-p 00000000 00:00 0 \n"
		"30000000-30002000 rw-p 00000000 08:01 9 /usr/lib/libx.so\n"
		"30002000-30004000 rw-p 00000000 00:00 0 \n"
		"30004000-30006000 rw-s 00000000 00:01 5 /memfd:rings (deleted)\n"
		"40000000-40004000 rw-p 00000000 00:00 0 [stack]\n");
	assert_int_equal(residence_read(g->r, 7), 0);
	assert_int_equal(place(g, HEAP, 0).what, HEAP_PLACE_LIBC);
	assert_int_equal(place(g, ANON, STACK).what, HEAP_PLACE_LIBC);
	assert_int_equal(place(g, ANON, ANON + 64).what, HEAP_PLACE_STACK);
	assert_int_equal(place(g, FILES, 0).what, HEAP_PLACE_FILE);
	assert_int_equal(place(g, FILES + 0x3000, 0).what, HEAP_PLACE_FILE); /* .bss */
	assert_int_equal(place(g, FILES + 0x3000, 0).id, place(g, FILES, 0).id);
	assert_int_equal(place(g, FILES + 0x4000, 0).what, HEAP_PLACE_SHARED);
	assert_int_equal(place(g, STACK, 0).what, HEAP_PLACE_STACK);
	assert_int_equal(place(g, 0x50000000, 0).what, HEAP_PLACE_UNKNOWN);
}

/* A fault in a block, one in what the call that returns a block wrote to, one beside. */
static void faults_count_where_they_are(void **state)
{
	struct rig *g = *state;
	struct heap_process p = {.pid = 7, .program = 1};
	block_lookup_buffer out = {};
	struct ring_reader c = {.process = &p, .tid = 7};
	struct touch in = {.address = ANON + 100, .time_ns = 5, .fault = FAULT_IS_MINOR};
	struct touch next = {.address = ANON + 0x2000, .time_ns = 6, .fault = FAULT_IS_MAJOR};

	fixture_put_text("/proc/7/maps", "20000000-20004000 rw-p 00000000 00:00 0 \n");
	assert_int_equal(residence_read(g->r, 7), 0);
	p.account = g->account;
	p.residence = g->r;
	p.touched = block_lookup_new(&out, 0);
	assert_int_equal(vec_push(&p.readers, &c), 0);
	assert_int_equal(account_alloc(&p.account, 0, ANON + 64, 100, 0, 3, false, 0), 0);
	assert_int_equal(block_lookup_alloc(&c, ANON + 64, 100, false, 1), 0);
	assert_int_equal(block_lookup_ask(&p, NULL, 7, &in), 0);
	assert_int_equal(block_lookup_ask(&p, NULL, 7, &next), 0);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 3, 0)->minor, 1);
	assert_int_equal(sums(g, HEAP_PLACE_LIBC, 0, 0)->major, 1);
	/* calloc returns what it wrote to */
	assert_int_equal(account_alloc(&p.account, 0, ANON + 0x1000, 0x2000, 0, 4, false, 0), 0);
	assert_int_equal(block_lookup_alloc(&c, ANON + 0x1000, 0x2000, false, 2), 0);
	assert_int_equal(sums(g, HEAP_PLACE_BLOCK, 4, 0)->major, 1);
	assert_int_equal(sums(g, HEAP_PLACE_LIBC, 0, 0)->major, 0);
	assert_int_equal(g->r->minor + g->r->major, 2);
	assert_int_equal(out.n, 0); /* nobody is told of blocks */
	g->account = p.account;
	block_lookup_free_all(p.touched);
	vec_free(&p.readers);
	vec_free(&c.misses);
}

static void entries_of_pagemap(void **state)
{
	(void)state;
	assert_int_equal(pagemap_state(0), PAGE_ABSENT);
	assert_int_equal(pagemap_state(OWN), PAGE_PRESENT);
	assert_int_equal(pagemap_state(PRESENT | OF_FILE), PAGE_PRESENT);
	assert_int_equal(pagemap_state(PRESENT), PAGE_PERHAPS);
	assert_int_equal(pagemap_state(SWAPPED), PAGE_SWAPPED);
}

static void rss_of_all_mappings(void **state)
{
	_cleanup_str_ struct str text = {};
	struct smaps_all all = {};
	struct smaps_sum sum;
	u64 rss = 0;

	(void)state;
	fixture_use("6.18");
	assert_int_equal(sys_read(&text, "/proc/1234/smaps"), 0);
	assert_int_equal(smaps_all_parse(str_get(&text), &all), 0);
	vec_each (s, &all.list)
		rss += s->rss_bytes;
	assert_int_equal(smaps_rollup_read(1234, &text, &sum), 0);
	assert_int_equal(rss, sum.rss_bytes);
	smaps_all_free(&all);
	sys_root_set("");
}

static struct heap_residence row(u32 place, u32 site, u64 faults, u64 resident, u64 live)
{
	return REC(struct heap_residence, REC_HEAP_RESIDENCE, .tgid = 7, .process = 1,
		.place = place, .site = site, .stack = 0, .minor = faults, .major = 1,
		.resident_bytes = resident, .live_bytes = live);
}

static void rows_of_the_table(void **state)
{
	struct heap_residence one = row(HEAP_PLACE_BLOCK, 1, 9, 600, 1000),
			      other = row(HEAP_PLACE_BLOCK, 2, 4, 100, 400),
			      file = row(HEAP_PLACE_FILE, 1, 3, 50, 0), odd = row(77, 1, 1, 1, 0);
	struct fixture f;
	struct table *t;

	(void)state;
	memcpy(file.file, "libx.so", 8);
	view_open(&f, &heap_view, &(struct view_options){}, "heap");
	view_feed(&f, &one);
	view_feed(&f, &one); /* replaces it */
	view_feed(&f, &other);
	view_feed(&f, &file);
	view_feed(&f, &odd);
	view_report(&f);
	t = view_table_of(&f, "residence");
	assert_int_equal(t->n_rows, 3);
	assert_cell_text(t, 0, "place", "heap blocks");
	assert_int_equal(cell_number(t, 0, "faults"), 15);
	assert_int_equal(cell_number(t, 0, "resident_bytes"), 700);
	assert_int_equal(cell_number(t, 0, "untouched_bytes"), 700);
	assert_cell_text(t, 1, "name", "libx.so");
	assert_cell_text(t, 2, "place", "not known");
	heap_view.reset(f.view);
	one.minor += 5;
	view_feed(&f, &one);
	view_again(&f);
	view_report(&f);
	t = view_table_of(&f, "residence");
	assert_int_equal(cell_number(t, 0, "faults"), 5);
	view_close(&f);
}

static void status_put(u64 hwm_kb, u64 rss_kb)
{
	char text[200];

	snprintf(text, sizeof(text),
		"Name:\tx\nTgid:\t7\nPid:\t7\nVmHWM:\t%8llu kB\nVmRSS:\t%8llu kB\n", hwm_kb,
		rss_kb);
	fixture_put_text("/proc/7/status", text);
}

/* More than was found: soon; as much: now and then; less: not. The peak is read all the same. */
static void when_a_process_is_looked_at(void **state)
{
	struct rig *g = *state;

	status_put(600, 500);
	assert_true(residence_due(g->r, 7, 1000, 10));
	g->r->looks = 1;
	g->r->look.rss = 500 << 10;
	g->r->next_ms = 1020;
	g->r->again_ms = 1100;
	status_put(900, 800);
	assert_false(residence_due(g->r, 7, 1009, 10));
	assert_int_equal(g->r->hwm, 600 << 10);
	assert_false(residence_due(g->r, 7, 1010, 10));
	assert_int_equal(g->r->hwm, 900 << 10);
	assert_true(residence_due(g->r, 7, 1020, 10));
	status_put(900, 500);
	assert_false(residence_due(g->r, 7, 1090, 10));
	assert_true(residence_due(g->r, 7, 1100, 10));
	status_put(900, 400);
	assert_false(residence_due(g->r, 7, 1200, 10));
	g->r->again = true;
	assert_true(residence_due(g->r, 7, 1210, 10));
	g->r->next_ms = g->r->again_ms = 9000;
	assert_false(residence_due(g->r, 7, 1220, 10));
	residence_hurry(g->r);
	assert_true(residence_due(g->r, 7, 1221, 10));
	g->r->minor = 3;
	assert_false(residence_due(g->r, 8, 2000, 10)); /* it is not there */
	assert_int_equal(g->r->hwm, 900 << 10);
	assert_int_equal(g->r->hwm_faults, 0);
}

/* What the table cannot show is said, with the worst one's numbers. */
static void peaks_that_were_missed(void **state)
{
	struct heap_total total = REC(struct heap_total, REC_HEAP_TOTAL, .tgid = 7, .process = 1,
				  .comm = "one"),
			  other = total;
	struct heap_looked l = REC(struct heap_looked, REC_HEAP_LOOKED, .tgid = 7, .process = 1,
				   .minor = 5000, .look_ns = 1, .rss_bytes = 10 << 20,
				   .hwm_bytes = 10 << 20, .hwm_faults = 4800),
			   k = l;
	struct fixture f;

	(void)state;
	total.h.flags = other.h.flags = HEAP_ENDED;
	other.process = k.process = 2;
	other.tgid = k.tgid = 8;
	memcpy(other.comm, "two", 4);
	view_open(&f, &heap_view, &(struct view_options){}, "heap");
	view_feed(&f, &total);
	view_feed(&f, &l);
	view_feed(&f, &other);
	view_feed(&f, &k);
	view_report(&f);
	assert_int_equal(f.report.notes.n, 0); /* within the edges */
	view_next(&f);
	l.hwm_bytes = 20 << 20;
	k.hwm_bytes = 30 << 20;
	l.minor = 6000;
	view_feed(&f, &l);
	view_feed(&f, &k);
	view_report(&f);
	assert_int_equal(f.report.notes.n, 2);
	assert_string_equal(f.report.notes.v[0],
		"RSS of 'two' (pid 8; 1 more less so) peaked at 30.0 MiB (VmHWM), but no "
		"look "
		"was then: the most found is 10.0 MiB, and the table residence is of that");
	assert_string_equal(f.report.notes.v[1],
		"'one' (pid 7) took 1200 page faults after memwhy had last read the kernel's peak, "
		"20.0 MiB: it may have been higher");
	view_next(&f);
	view_feed(&f, &l); /* its peak was in the interval before */
	k = (struct heap_looked)REC(
		struct heap_looked, REC_HEAP_LOOKED, .tgid = 9, .process = 3, .minor = 700);
	other.tgid = 9;
	other.process = 3;
	view_feed(&f, &other);
	view_feed(&f, &k);
	view_report(&f);
	assert_int_equal(f.report.notes.n, 1);
	assert_string_equal(f.report.notes.v[0],
		"'two' (pid 9) took 700 page faults and ended before memwhy could look at it: what "
		"was resident is not known");
	view_close(&f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_free)
	const struct CMUnitTest tests[] = {
		T(a_page_is_split_by_bytes),
		T(what_grows_while_it_is_looked_at),
		T(the_zero_page_is_no_memory),
		T(a_block_beside_a_stack),
		T(blocks_in_what_the_program_mapped),
		T(a_process_that_is_gone_changes_nothing),
		T(what_memory_is),
		T(faults_count_where_they_are),
		T(when_a_process_is_looked_at),
		cmocka_unit_test(entries_of_pagemap),
		cmocka_unit_test(rss_of_all_mappings),
		cmocka_unit_test(rows_of_the_table),
		cmocka_unit_test(peaks_that_were_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
