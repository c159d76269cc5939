/* See where_uses.h. */
#include "probes/where/where_uses.h"

#include <string.h>

#include "base/str.h"
#include "probes/where/where.h"

struct use {
	const char *begin; /* of the name; the first that fits counts */
	const char *words;
};

/* Functions that vmalloc gave memory to, 5.10 to 7.3. */
static const struct use vmalloc_uses[] = {
	{"htab_", "hash maps of BPF"},
	{"prealloc_", "hash maps of BPF"},
	{"array_map_alloc", "arrays of BPF"},
	{"stack_map_alloc", "stack traces of BPF"},
	{"bpf_ringbuf", "ring buffers of BPF"},
	{"bpf_prog", "programs of BPF"},
	{"bpf_jit", "programs of BPF"},
	{"bpf_", "BPF"},
	{"queue_stack_map_alloc", "queues of BPF"},
	{"dev_map_", "maps of BPF"},
	{"cpu_map_", "maps of BPF"},
	{"sock_map_", "maps of BPF"},
	{"xsk_map_", "maps of BPF"},
	{"trie_alloc", "tries of BPF"},
	{"bloom_map_alloc", "Bloom filters of BPF"},
	{"pcpu_", "tables of percpu"},
	{"load_module", "kernel modules"},
	{"layout_and_allocate", "kernel modules"},
	{"move_module", "kernel modules"},
	{"module_", "kernel modules"},
	{"execmem_", "code of modules, BPF"},
	{"alloc_large_system_hash", "hash tables of boot"},
	{"xt_", "firewall rules"},
	{"nf_", "firewall connections"},
	{"nft_", "firewall rules"},
	{"ip_set_", "firewall sets"},
	{"hash_ip", "firewall sets"},
	{"zram_", "tables of zram devices"},
	{"disksize_store", "tables of zram devices"},
	{"zs_", "compressed memory"},
	{"kvm_", "virtual machines"},
	{"svm_", "virtual machines"},
	{"vmx_", "virtual machines"},
	{"xfs_", "xfs"},
	{"btrfs_", "btrfs"},
	{"ext4_", "ext4"},
	{"dm_", "device mapper"},
	{"n_tty_open", "terminals"},
	{"alloc_fdtable", "tables of open files"},
	{"packet_", "rings of packets"},
	{"xskq_", "rings of AF_XDP"},
	{"nvidia", "the graphics driver"},
	{"relay_", "channels of relayfs"},
};

/* Caches of the slab allocator. */
static const struct use slab_uses[] = {
	{"dentry", "names of files"},
	{"radix_tree_node", "index of page cache"},
	{"xarray_node", "index of page cache"},
	{"buffer_head", "blocks of files"},
	{"inode_cache", "inodes without a disk"},
	{"proc_inode_cache", "inodes of /proc"},
	{"sock_inode_cache", "sockets"},
	{"shmem_inode_cache", "inodes of tmpfs"},
	{"hugetlbfs_inode_cache", "inodes of hugetlbfs"},
	{"lsm_inode_cache", "labels of inodes"},
	{"extent_status", "blocks of ext4 files"},
	{"ext4_extent_status", "blocks of ext4 files"},
	{"kernfs_node_cache", "/sys and control groups"},
	{"kmalloc-rcl-", "reclaimable blocks"},
	{"kmalloc-cg-", "charged blocks"},
	{"kmalloc-", "blocks of all kinds"},
	{"vm_area_struct", "mappings"},
	{"vma_lock", "mappings"},
	{"maple_node", "index of mappings"},
	{"anon_vma", "anonymous memory"},
	{"task_struct", "threads"},
	{"signal_cache", "processes"},
	{"sighand_cache", "processes"},
	{"mm_struct", "address spaces"},
	{"cred_jar", "rights of processes"},
	{"files_cache", "tables of open files"},
	{"filp", "open files"},
	{"skbuff_", "packets, messages"},
	{"skb", "packets, messages"},
	{"TCP", "TCP sockets"},
	{"request_sock_TCP", "TCP, being opened"},
	{"tw_sock_TCP", "TCP, closed"},
	{"UDP", "UDP sockets"},
	{"UNIX", "UNIX sockets"},
	{"nf_conntrack", "tracked connections"},
	{"eventpoll_", "watched by epoll"},
	{"bio-", "requests to disks"},
	{"pde_opener", "open files of /proc"},
	{"task_delay_info", "threads"},
};

static const char *use_find(const struct use *uses, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(name, uses[i].begin))
			return uses[i].words;
	return NULL;
}

const char *where_use(u32 row, const char *name)
{
	const char *words;

	if (row == WHERE_VMALLOC)
		return use_find(vmalloc_uses, ARRAY_SIZE(vmalloc_uses), name);
	if (row != WHERE_SLAB)
		return NULL;
	words = use_find(slab_uses, ARRAY_SIZE(slab_uses), name);
	return !words && strstr(name, "_inode") ? "inodes of files" : words;
}
