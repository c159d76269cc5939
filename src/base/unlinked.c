/*
 * What nothing in memwhy uses of zstd: the levels above ZSTD_LEVEL and the formats from before
 * 2016, which only a hostile file would be in. The names are defined here, so the linker does not
 * look for them there. What must not be called ends the program. unlinked.ld does the same for
 * libraries that only the static program has, with the functions here.
 */
#include "base/unlinked.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#ifdef __has_feature
#define SHARED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SHARED 1
#endif

#if !SHARED /* under the sanitizers, libraries are shared ones */

#define UNLINKED(name_, as_) __asm__(".globl " #name_ "\n.set " #name_ ", " #as_ "\n");

int unlinked_none(void);
int unlinked_failed(void);
void unlinked_never(void);
ssize_t unlinked_most(void *connection);
char *unlinked_message(const char *domain, const char *message);
int unlinked_strcasecmp(const char *a, const char *b);
int unlinked_strncasecmp(const char *a, const char *b, size_t n);
size_t unlinked_refused(void);
size_t unlinked_stream(void *z, void *to, size_t *ret_to, const void *from, size_t *ret_from);
void unlinked_size(const void *data, size_t n, size_t *ret_size, unsigned long long *ret_bound);

/* Nothing is registered, nothing is allocated. */
__attribute__((used)) int unlinked_none(void)
{
	return 0;
}

/* Not found, not there. */
__attribute__((used)) int unlinked_failed(void)
{
	return -1;
}

__attribute__((used)) void unlinked_never(void)
{
	abort();
}

/* Bytes to send or receive at once, as libevent has it without limits. */
__attribute__((used)) ssize_t unlinked_most(void *connection)
{
	(void)connection;
	return 16384;
}

/* As it is in the program. */
__attribute__((used)) char *unlinked_message(const char *domain, const char *message)
{
	(void)domain;
	return (char *)message;
}

__attribute__((used)) int unlinked_strncasecmp(const char *a, const char *b, size_t n)
{
	int d = 0;

	for (; n && !d; n--, a++, b++) {
		d = tolower((unsigned char)*a) - tolower((unsigned char)*b);
		if (!*a)
			break;
	}
	return d;
}

__attribute__((used)) int unlinked_strcasecmp(const char *a, const char *b)
{
	return unlinked_strncasecmp(a, b, SIZE_MAX);
}

/* libc counts what it has loaded of messages. */
extern int _nl_msg_cat_cntr;
__attribute__((used)) int _nl_msg_cat_cntr;

/* An error, for zstd. */
__attribute__((used)) size_t unlinked_refused(void)
{
	return (size_t)-1;
}

__attribute__((used)) size_t unlinked_stream(
	void *z, void *to, size_t *ret_to, const void *from, size_t *ret_from)
{
	(void)z;
	(void)to;
	(void)from;
	*ret_to = *ret_from = 0;
	return unlinked_refused();
}

__attribute__((used)) void unlinked_size(
	const void *data, size_t n, size_t *ret_size, unsigned long long *ret_bound)
{
	(void)data;
	(void)n;
	*ret_size = unlinked_refused();
	*ret_bound = -2ULL; /* ZSTD_CONTENTSIZE_ERROR */
}

UNLINKED(ZSTD_compressBlock_btlazy2, unlinked_never)
UNLINKED(ZSTD_compressBlock_btlazy2_dictMatchState, unlinked_never)
UNLINKED(ZSTD_compressBlock_btlazy2_extDict, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy_dedicatedDictSearch, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy_dedicatedDictSearch_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy_dictMatchState, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy_dictMatchState_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy_extDict, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy_extDict_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_greedy_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2_dedicatedDictSearch, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2_dedicatedDictSearch_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2_dictMatchState, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2_dictMatchState_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2_extDict, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2_extDict_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy2_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy_dedicatedDictSearch, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy_dedicatedDictSearch_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy_dictMatchState, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy_dictMatchState_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy_extDict, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy_extDict_row, unlinked_never)
UNLINKED(ZSTD_compressBlock_lazy_row, unlinked_never)
UNLINKED(ZSTD_dedicatedDictSearch_lazy_loadDictionary, unlinked_never)
UNLINKED(ZSTD_insertAndFindFirstIndex, unlinked_never)
UNLINKED(ZSTD_row_update, unlinked_never)
UNLINKED(ZSTD_compressBlock_btopt, unlinked_never)
UNLINKED(ZSTD_compressBlock_btopt_dictMatchState, unlinked_never)
UNLINKED(ZSTD_compressBlock_btopt_extDict, unlinked_never)
UNLINKED(ZSTD_compressBlock_btultra, unlinked_never)
UNLINKED(ZSTD_compressBlock_btultra2, unlinked_never)
UNLINKED(ZSTD_compressBlock_btultra_dictMatchState, unlinked_never)
UNLINKED(ZSTD_compressBlock_btultra_extDict, unlinked_never)
UNLINKED(ZSTD_updateTree, unlinked_never)
UNLINKED(ZSTD_compressBlock_doubleFast, unlinked_never)
UNLINKED(ZSTD_compressBlock_doubleFast_dictMatchState, unlinked_never)
UNLINKED(ZSTD_compressBlock_doubleFast_extDict, unlinked_never)
UNLINKED(ZSTD_fillDoubleHashTable, unlinked_never)

#define LEGACY(v_)                                                       \
	UNLINKED(ZSTD##v_##_createDCtx, unlinked_none)                   \
	UNLINKED(ZSTD##v_##_freeDCtx, unlinked_none)                     \
	UNLINKED(ZSTD##v_##_decompress_usingDict, unlinked_refused)      \
	UNLINKED(ZSTD##v_##_findFrameSizeInfoLegacy, unlinked_size)      \
	UNLINKED(ZSTD##v_##_getFrameParams, unlinked_refused)            \
	UNLINKED(ZBUFF##v_##_createDCtx, unlinked_none)                  \
	UNLINKED(ZBUFF##v_##_freeDCtx, unlinked_none)                    \
	UNLINKED(ZBUFF##v_##_decompressInitDictionary, unlinked_refused) \
	UNLINKED(ZBUFF##v_##_decompressContinue, unlinked_stream)
LEGACY(v05)
LEGACY(v06)
LEGACY(v07)
#endif
