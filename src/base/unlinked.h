/* What the libraries could do, but not in memwhy: it is kept out of the program, see unlinked.c. */
#ifndef MEMWHY_BASE_UNLINKED_H
#define MEMWHY_BASE_UNLINKED_H

/* The level of zstd for all that memwhy packs. The code of higher ones is not linked. */
#define ZSTD_LEVEL 1

#endif
