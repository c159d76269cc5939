/* Takes as many MiB as its parameter says by alloc_pages(), as drivers do: no counter has these. */
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>

static unsigned int mib;
module_param(mib, uint, 0444);
static LIST_HEAD(pages);

static void take_pages_exit(void)
{
	struct page *p, *next;

	list_for_each_entry_safe(p, next, &pages, lru)
		__free_page(p);
}

/* Not of the module's beginning, whose names are gone once it is loaded. */
static noinline int take_pages(unsigned long n)
{
	while (n--) {
		struct page *p = alloc_page(GFP_KERNEL);

		if (!p) {
			take_pages_exit();
			return -ENOMEM;
		}
		list_add(&p->lru, &pages);
	}
	return 0;
}

static int __init take_pages_init(void)
{
	return take_pages((unsigned long)mib << (20 - PAGE_SHIFT));
}

module_init(take_pages_init);
module_exit(take_pages_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("takes pages, for a test of memwhy");
