/* What help and man page say of `heap`. Private to the probe. */
#ifndef MEMWHY_PROBES_HEAP_TEXTS_H
#define MEMWHY_PROBES_HEAP_TEXTS_H

extern const char *const heap_examples[];
extern const char heap_details[];

#endif
