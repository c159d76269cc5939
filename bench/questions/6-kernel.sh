# shellcheck shell=sh
# Question 6: what a tool adds to the allocations of the kernel.

question_6() {
	heading "6. KERNEL MEMORY: tool over bare, median (lowest..highest) of $rounds pairs, interleaved" \
		'a task forks a child that ends, makes a file and removes it; CPU time of one such'
	cost_table "$loads kernel N $tmp" <<-LIST
	bare, once more|20|@
	memwhy slab|20|"$memwhy" slab -q --out /dev/null -- @
	memwhy slab, all processes|20|during "$memwhy" slab -- @
	memwhy slab --by live|20|"$memwhy" slab --by live -q --out /dev/null -- @
	memwhy leak --kernel|20|"$memwhy" leak --kernel -q --out /dev/null -- @
	memwhy leak, by site|20|"$memwhy" leak --kernel --by cache,site -q --out /dev/null -- @
	memwhy leak, all processes|20|during "$memwhy" leak --kernel -- @
	memwhy pages|20|"$memwhy" pages -q --out /dev/null -- @
	memwhy pages --stacks|20|"$memwhy" pages --stacks -q --out /dev/null -- @
	memwhy count kmem:*|20|"$memwhy" count 'kmem:*' -q --out /dev/null -- @
	perf kmem record|20|perf kmem record -o "$tmp/perf.data" -- @
	perf record -e kmem:*|20|perf record -q -o "$tmp/perf.data" -e 'kmem:*' -- @
	bpftrace: kmalloc by stack|20|bpftrace -o /dev/null -e 'tracepoint:kmem:kmalloc { @[args->call_site] = count(); }' -c "@"
	BCC funccount kmem:*|20|during funccount-bpfcc 't:kmem:*' -- @
	LIST
}
