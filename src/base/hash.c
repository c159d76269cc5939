/* The functions of <xxhash.h>, so that the linker leaves out those that are not called. */
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>
