/*
 * Private to sys: a cursor over untrusted text. Nothing here reads at or after the end of what
 * it was given, allocates, or fails otherwise than by returning false with the cursor where it
 * was. Owns the lexical rules (blanks, numbers, words, escapes); knows no file's format.
 */
#ifndef MEMWHY_SYS_SCAN_H
#define MEMWHY_SYS_SCAN_H

#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "sys/memory/zone.h"

/* What is left of a line, or a word in it. Points into the caller's text. */
struct scan {
	const char *p;
	const char *end;
};

/* All of a NUL-terminated text. */
static inline struct scan scan_text(const char *text)
{
	return (struct scan){text, text + strlen(text)};
}

static inline bool scan_done(const struct scan *s)
{
	return s->p >= s->end;
}

static inline size_t scan_len(const struct scan *s)
{
	return (size_t)(s->end - s->p);
}

/* The next line of *text without its newline, and moves *text behind it. False at the end. */
bool scan_line(const char **text, struct scan *ret_line);
/* Skips spaces and tabs. */
void scan_blanks(struct scan *s);
/* Each skips blanks first. Digits only: no sign (but s64), no 0x. False on overflow. */
bool scan_u64(struct scan *s, u64 *ret);
bool scan_s64(struct scan *s, s64 *ret);
bool scan_hex(struct scan *s, u64 *ret);
/* A u64 that must be at most max. */
bool scan_u32(struct scan *s, u32 max, u32 *ret);
/* Digits, a point, digits: not locale-bound, unlike strtod(). */
bool scan_decimal(struct scan *s, double *ret);
/* Skips blanks, then exactly this text. */
bool scan_lit(struct scan *s, const char *lit);
/* Skips blanks, then everything up to the next blank. */
bool scan_word(struct scan *s, struct scan *ret_word);
/* Everything up to c, which is skipped. False when there is no c. */
bool scan_until(struct scan *s, char c, struct scan *ret);
/* "Node 0, zone   Normal", and a comma behind it if there is one. */
bool scan_zone(struct scan *s, struct zone_id *ret);

bool scan_is(const struct scan *word, const char *text);
/* Copies with a NUL, cut to size. False if it was cut. */
bool scan_copy(const struct scan *word, char *buf, size_t size);
/* Cuts the " (deleted)" that d_path() appends off the end of a path, if it is there. */
bool scan_cut_deleted(struct scan *path);
/* The word in brackets of "always [madvise] never"; a line without brackets is its one word.
 * 0 or -EINVAL. */
int scan_choice(const char *text, char *ret, size_t size);
/* Replaces \ooo in place, for the characters of `set` only: the kernel's seq_path() escapes no
 * others, and not the backslash itself where it is not in the set. */
void scan_unescape(char *text, const char *set);

/* A number's name in a file and its place in a struct. */
struct scan_field {
	const char *name;
	size_t offset;
	size_t size;
};

#define SCAN_FIELD(name, type, member)                                    \
	{                                                                 \
		name, offsetof(type, member), sizeof(((type *)0)->member) \
	}

/* Stores value in the member named so. False if the table has no such name, or it does not fit. */
bool scan_store(
	const struct scan_field *table, size_t n, const struct scan *name, u64 value, void *obj);

#endif
