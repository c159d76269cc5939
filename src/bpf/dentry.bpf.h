/* Names of inodes, as the kernel's directory entries have them. Needs the kernel's BTF. */
#ifndef MEMWHY_BPF_DENTRY_BPF_H
#define MEMWHY_BPF_DENTRY_BPF_H

#include "bpf/kernel.bpf.h"

struct hlist_node {
	void *next;
} __attribute__((preserve_access_index));

struct hlist_head {
	struct hlist_node *first;
} __attribute__((preserve_access_index));

struct inode___named {
	struct hlist_head i_dentry;
} __attribute__((preserve_access_index));

struct lockref {
	int count;
} __attribute__((preserve_access_index));

union dentry_alias {
	struct hlist_node d_alias;
} __attribute__((preserve_access_index));

struct dentry___walk {
	struct dentry___walk *d_parent;
	struct qstr d_name;
	struct lockref d_lockref;
	union dentry_alias d_u;
} __attribute__((preserve_access_index));

struct dentry___alias {
	struct hlist_node d_alias;
} __attribute__((preserve_access_index));

static __always_inline u64 alias_offset(void)
{
	if (bpf_core_field_exists(struct dentry___walk, d_u))
		return bpf_core_field_offset(struct dentry___walk, d_u);
	return bpf_core_field_offset(struct dentry___alias, d_alias);
}

/* The last name it got; NULL: none that the kernel knows. */
static __always_inline struct dentry___walk *inode_dentry(u64 inode)
{
	u64 alias = (u64)BPF_CORE_READ((struct inode___named *)inode, i_dentry.first);

	return alias ? (struct dentry___walk *)(alias - alias_offset()) : 0;
}

#endif
