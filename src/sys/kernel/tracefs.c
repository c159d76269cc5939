/* See tracefs.h. */
#include "sys/kernel/tracefs.h"

#include <string.h>

#include "sys/kernel/kernelfs.h"
#include "sys/root.h"
#include "sys/scan.h"

int tracefs_find(char ret_dir[PATH_MAX])
{
	char dir[PATH_MAX];
	int rc = kernelfs_find(KERNELFS_TRACE, dir);

	/* Through the directory, not only to it: 0700 is what closes tracefs to others. */
	if (!rc)
		rc = sys_exists("%s/events", dir);
	if (!rc)
		snprintf(ret_dir, PATH_MAX, "%s", dir);
	return rc;
}

void tracepoint_format_free(struct tracepoint_format *format)
{
	vec_free(&format->fields);
}

static bool is_name_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* "char comm[16]", "__data_loc char[] name", "const char * filename": the name is the last
 * identifier, the type is all the rest, an array's brackets included. */
static bool declaration_parse(struct scan decl, struct tracepoint_field *f)
{
	const char *bracket;
	struct scan array = {decl.end, decl.end};
	struct scan name;
	size_t n;

	if (!scan_done(&decl) && decl.end[-1] == ']') {
		bracket = memrchr(decl.p, '[', scan_len(&decl));
		if (!bracket)
			return false;
		array = (struct scan){bracket, decl.end};
		decl.end = bracket;
	}
	name = (struct scan){decl.end, decl.end};
	while (name.p > decl.p && is_name_char(name.p[-1]))
		name.p--;
	if (scan_done(&name) || !scan_copy(&name, f->name, sizeof(f->name)))
		return false;
	decl.end = name.p;
	while (!scan_done(&decl) && decl.end[-1] == ' ')
		decl.end--;
	n = scan_len(&decl);
	if (!scan_copy(&decl, f->type, sizeof(f->type)) ||
		!scan_copy(&array, f->type + n, sizeof(f->type) - n))
		return false;
	f->is_data_loc = !strncmp(f->type, "__data_loc ", 11);
	f->is_rel_loc = !strncmp(f->type, "__rel_loc ", 10);
	f->is_array = !scan_done(&array) || f->is_data_loc || f->is_rel_loc;
	return true;
}

/* "field:int order;\toffset:16;\tsize:4;\tsigned:1;" with the "field:" gone. */
static bool field_parse(struct scan s, struct tracepoint_field *ret)
{
	struct tracepoint_field f = {};
	struct scan decl;
	u32 is_signed = 0;

	if (!scan_until(&s, ';', &decl) || !declaration_parse(decl, &f) ||
		!scan_lit(&s, "offset:") || !scan_u32(&s, INT32_MAX, &f.offset) ||
		!scan_lit(&s, ";") || !scan_lit(&s, "size:") || !scan_u32(&s, INT32_MAX, &f.size) ||
		!scan_lit(&s, ";"))
		return false;
	if (scan_lit(&s, "signed:"))
		scan_u32(&s, 1, &is_signed);
	f.is_signed = is_signed;
	f.is_common = !strncmp(f.name, "common_", 7);
	*ret = f;
	return true;
}

static int tracefs_line_parse(struct scan *s, struct tracepoint_format *format)
{
	struct tracepoint_field f;
	struct scan word;

	if (scan_lit(s, "name:")) {
		if (!format->name[0] && scan_word(s, &word))
			scan_copy(&word, format->name, sizeof(format->name));
	} else if (scan_lit(s, "ID:")) {
		scan_u32(s, INT32_MAX, &format->id);
	} else if (scan_lit(s, "field:") && format->fields.n < TRACEPOINT_FIELDS_MAX) {
		if (field_parse(*s, &f))
			return vec_push(&format->fields, f);
	}
	return 0;
}

int tracepoint_format_parse(const char *text, struct tracepoint_format *ret)
{
	_cleanup_tracepoint_format_ struct tracepoint_format format = {};
	struct scan s;

	while (scan_line(&text, &s)) {
		int rc = tracefs_line_parse(&s, &format);

		if (rc)
			return rc;
	}
	if (!format.fields.n || !format.name[0])
		return -EINVAL;
	tracepoint_format_free(ret);
	*ret = format;
	format = (struct tracepoint_format){};
	return 0;
}

int tracepoint_symbols_parse(
	const char *text, int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	const char *list = strstr(text, "__print_symbolic(");
	struct scan s, skipped, quoted;
	int n = 0;

	if (!list)
		return -EINVAL;
	s.p = list + strlen("__print_symbolic(");
	s.end = s.p + strcspn(s.p, ")\n"); /* names hold no brackets */
	while (scan_until(&s, '{', &skipped)) {
		char name[TRACEPOINT_NAME_MAX];
		u64 value;
		int rc;

		if (!scan_u64(&s, &value) || !scan_lit(&s, ",") || !scan_lit(&s, "\"") ||
			!scan_until(&s, '"', &quoted) || !scan_copy(&quoted, name, sizeof(name)))
			continue;
		rc = fn(arg, value, name);
		if (rc < 0)
			return rc;
		n++;
	}
	return n ? n : -EINVAL;
}

const struct tracepoint_field *tracepoint_format_field(
	const struct tracepoint_format *format, const char *name)
{
	for (size_t i = 0; i < format->fields.n; i++) {
		if (!strcmp(format->fields.v[i].name, name))
			return &format->fields.v[i];
	}
	return NULL;
}

static bool is_name(const char *s)
{
	return s[0] && s[0] != '.' && !strchr(s, '/');
}

int tracepoint_id_read(const char *dir, const char *category, const char *name, u64 *ret)
{
	if (!is_name(category) || !is_name(name))
		return -EINVAL;
	return sys_read_u64(ret, "%s/events/%s/%s/id", dir, category, name);
}

int tracepoint_format_read(
	const char *dir, const char *category, const char *name, struct tracepoint_format *ret)
{
	_cleanup_str_ struct str text = {};
	int rc;

	if (!is_name(category) || !is_name(name))
		return -EINVAL;
	rc = sys_read(&text, "%s/events/%s/%s/format", dir, category, name);
	return rc ? rc : tracepoint_format_parse(str_get(&text), ret);
}
