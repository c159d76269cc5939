/*
 * One BPF object: opening, constants, map sizes, counters, cost. The part of the attach plan that
 * talks to libbpf about maps rather than programs.
 */
#ifndef MEMWHY_CAPTURE_OBJECT_H
#define MEMWHY_CAPTURE_OBJECT_H

#include "capture/capture.h"

struct bpf_object;

/* Opens the object with no program enabled. */
int object_open(const void *elf, size_t size, struct bpf_object **ret);
/* Sets the scope and the sizes of the shared maps. */
int object_prepare(struct bpf_object *obj, const struct capture *c);
/* The program that follows children here; see common.bpf.h. */
const char *object_fork_program(void);
/* Do objects built with USER_WALK load here? */
bool object_can_walk(void);
/* 0 when this process may load BPF programs, else -EPERM. */
int object_may_load(void);
/* The first line libbpf or the verifier complained with, for an error message; "" if none. */
const char *object_log(void);

#endif
