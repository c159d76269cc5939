/*
 * The facts of this machine that BPF programs need to read page tables: where the kernel maps
 * memory, and which node a page frame is on. Owns how they are found; read once.
 */
#ifndef MEMWHY_CAPTURE_PAGE_TABLES_H
#define MEMWHY_CAPTURE_PAGE_TABLES_H

#include "bpf/page_node.h"
#include "sys/memory/zoneinfo.h"

struct bpf_object;

/* 0; else page tables cannot be read here, and `ret_missing` says why. */
int place_known(const char **ret_missing);
/* The node of the memory at a physical address; -1: not known. */
s32 place_node(u64 phys);
/* Sets the constants of an object that includes bpf/page_node.bpf.h. */
int place_prepare(struct bpf_object *obj);
/* The table of frames, from the zones: each entry stands for 2^*ret_shift page frames. */
void place_frames_fill(const struct zoneinfo *zones, u8 frames[PLACE_FRAMES], u32 *ret_shift);

#endif
