/* See err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/shell.h"

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return code;
}

int err_errno(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!err)
		return code;
	err->code = code;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(-code));
	return code;
}

const char *hint_word(char ret[HINT_WORD], const char *word, const char *instead)
{
	_cleanup_str_ struct str s = {};

	str_add_word(&s, word);
	snprintf(ret, HINT_WORD, "%s", s.failed || s.len >= HINT_WORD ? instead : str_get(&s));
	return ret;
}

int err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return err->code;
}
