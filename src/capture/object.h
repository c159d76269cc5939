/*
 * One BPF object: opening, constants, map sizes, counters, cost. The part of the attach plan that
 * talks to libbpf about maps rather than programs.
 */
#ifndef MEMWHY_CAPTURE_OBJECT_H
#define MEMWHY_CAPTURE_OBJECT_H

#include "capture/capture.h"
#include "capture/verifier.h"

struct bpf_map;
struct bpf_object;
struct embedded;

/* The maps that are one for all objects of a session. */
extern const char *const object_shared_names[SHARED_MAPS];

/* Opens the object with no program enabled. It is to be loaded before another is opened. */
int object_open(const struct embedded *e, struct bpf_object **ret);
/* The same with a file of its own, which is read as it is loaded: other objects may be opened
 * before.
 */
int object_open_apart(const struct embedded *e, int types_fd, struct bpf_object **ret);
int object_types(void);
/* Where a constant of this size lies in the object's read-only data. */
int object_const(struct bpf_object *obj, const char *name, size_t size, struct bpf_map **ret_map,
	u32 *ret_offset);
/* Sets the scope and the sizes of the maps that every object has. The maps of stacks and of tasks
 * in scope are shared by all objects of a session: those of the first object loaded. */
int object_prepare(struct bpf_object *obj, const struct capture *c);
/* Makes the maps of an object that was loaded those of the session, where it has none yet. Returns
 * a bit for each, to be asked about with object_owns. */
u32 object_share(struct bpf_object *obj, struct capture *c);
/* Have all its maps that are one for the session been made? */
bool object_is_shared(struct bpf_object *obj, const struct capture *c);
/* Does the memory of this map count as that of the object with these bits? */
bool object_owns(u32 bits, const char *map);
/* What the kernel says that a map takes; 0: it does not say. */
u64 object_map_bytes(int fd);
/* The program that follows children here; see common.bpf.h. */
const char *object_fork_program(void);
/* 0 when this process may load BPF programs, else -EPERM. */
int object_may_load(void);
/* The first line libbpf or the verifier complained with, for an error message; "" if none. */
const char *object_log(void);
/* What the verifier said of the program that it refused last, since the last open. */
const struct verifier_said *object_refusal(void);

#endif
