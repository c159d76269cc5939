/*
 * BPF objects that are loaded while others are attached, by threads of their own: on another CPU,
 * if there is one. The kernel's verifier takes most of the time of a start, and works on one object
 * at a time for each who asks. The threads do nothing but load, and are gone before rights are
 * dropped, which each thread would keep. Knows no probe.
 */
#ifndef MEMWHY_CAPTURE_AHEAD_H
#define MEMWHY_CAPTURE_AHEAD_H

#define AHEAD_JOBS 4 /* at a time; an opened object takes memory */

struct ahead;
struct bpf_object;

/* NULL: there is no second CPU for it, or no thread; then all is loaded as it is needed. */
struct ahead *ahead_begin(void);
/* An object that is ready to be loaded, and the file with its types: both are taken in every case.
 */
void ahead_put(struct ahead *a, const void *key, struct bpf_object *obj, int types_fd);
/* The object of this key, loaded, once. NULL: there is none, or it did not load: then the caller
 * tries again, and sees why. */
struct bpf_object *ahead_take(struct ahead *a, const void *key);
void ahead_end(struct ahead *a);

#endif
