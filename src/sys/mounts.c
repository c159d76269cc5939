/* See mounts.h. */
#include "sys/mounts.h"

#include <string.h>

#include "sys/root.h"
#include "sys/scan.h"

/* What show_mountinfo() escapes (fs/proc_namespace.c, 6.18); older kernels leave out '#'. */
#define ESCAPED " \t\n\\#"

/* Words are cut out of the text in place, so only when all of its line was read. */
static const char *word_cut(char *text, const struct scan *word)
{
	char *s = text + (word->p - text);

	text[word->end - text] = '\0';
	scan_unescape(s, ESCAPED);
	return s;
}

/* Skips the optional fields ("shared:12 master:3") up to the lone dash. */
static bool skip_optional(struct scan *s)
{
	struct scan word;

	while (scan_word(s, &word)) {
		if (scan_is(&word, "-"))
			return true;
	}
	return false;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue". The source
 * may be empty: two blanks. */
static bool mounts_line_parse(struct scan s, char *text, struct mount *ret)
{
	struct mount m;
	struct scan dev;
	struct scan root;
	struct scan point;
	struct scan options;
	struct scan fstype;
	struct scan source;
	struct scan super;

	if (!scan_u32(&s, INT32_MAX, &m.id) || !scan_u32(&s, INT32_MAX, &m.parent) ||
		!scan_word(&s, &dev) || !scan_word(&s, &root) || !scan_word(&s, &point) ||
		!scan_word(&s, &options) || !skip_optional(&s) || !scan_word(&s, &fstype) ||
		scan_done(&s))
		return false;
	s.p++;
	super = s;
	if (!scan_until(&super, ' ', &source))
		return false;
	scan_blanks(&super);
	m.root = word_cut(text, &root);
	m.point = word_cut(text, &point);
	m.options = word_cut(text, &options);
	m.fstype = word_cut(text, &fstype);
	m.source = word_cut(text, &source);
	m.super_options = word_cut(text, &super);
	*ret = m;
	return true;
}

void mounts_free(struct mounts *mounts)
{
	vec_free(&mounts->list);
	free(mounts->text);
	mounts->text = NULL;
}

int mounts_parse(const char *text, struct mounts *ret)
{
	_cleanup_mounts_ struct mounts mounts = {.text = strdup(text)};
	const char *p = mounts.text;
	struct mount m;
	struct scan s;

	if (!p)
		return -ENOMEM;
	while (mounts.list.n < MOUNTS_MAX && scan_line(&p, &s)) {
		if (mounts_line_parse(s, mounts.text, &m) && vec_push(&mounts.list, m))
			return -ENOMEM;
	}
	if (!mounts.list.n)
		return -EINVAL;
	mounts_free(ret);
	*ret = mounts;
	mounts = (struct mounts){};
	return 0;
}

int mounts_read(struct mounts *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/self/mountinfo");

	return rc ? rc : mounts_parse(str_get(&text), ret);
}

static bool has_option(const char *options, const char *option)
{
	struct scan s = scan_text(options);
	struct scan word;

	while (scan_until(&s, ',', &word)) {
		if (scan_is(&word, option))
			return true;
	}
	return scan_is(&s, option);
}

const struct mount *mounts_find(
	const struct mounts *mounts, const char *fstype, const char *super_option)
{
	const struct mount *part = NULL;

	for (size_t i = 0; i < mounts->list.n; i++) {
		const struct mount *m = &mounts->list.v[i];

		if (strcmp(m->fstype, fstype) != 0 ||
			(super_option && !has_option(m->super_options, super_option)))
			continue;
		if (!strcmp(m->root, "/"))
			return m;
		if (!part)
			part = m;
	}
	return part;
}
