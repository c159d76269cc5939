/* Names of fields made into places in an event's record. See count_events.h. */
#include <errno.h>
#include <string.h>

#include "base/closest.h"
#include "base/str.h"
#include "probes/count/count_events.h"
#include "sys/kernel/print_fmt.h"
#include "sys/root.h"

static const struct {
	const char *name, *alias;
	struct count_source source;
	u8 show;
} common[] = {
	{"process", "pid", {.from = COUNT_PID, .size = 8}, COUNT_SHOW_UNSIGNED},
	{"thread", "tid", {.from = COUNT_TID, .size = 8}, COUNT_SHOW_UNSIGNED},
	{"comm", "comm", {.from = COUNT_COMM}, COUNT_SHOW_TEXT},
	{"cpu", "cpu", {.from = COUNT_CPU, .size = 8}, COUNT_SHOW_UNSIGNED},
	{"node", "node", {.from = COUNT_NODE, .size = 8}, COUNT_SHOW_UNSIGNED},
	{"cgroup", "cgroup", {.from = COUNT_CGROUP, .size = 8}, COUNT_SHOW_UNSIGNED},
};

/* The registers that carry arguments and result, in struct pt_regs of x86-64 (asm/ptrace.h). */
static const struct {
	const char *name;
	u32 offset;
} registers[] = {{"arg1", 112}, {"arg2", 104}, {"arg3", 96}, {"arg4", 88}, {"arg5", 72},
	{"arg6", 64}, {"retval", 80}};

u8 event_common(const char *name)
{
	if (!strcmp(name, "stack"))
		return COUNT_STACK;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (!strcmp(name, common[i].name) || !strcmp(name, common[i].alias))
			return common[i].source.from;
	return COUNT_NOTHING;
}

static int format_need(struct event_list *all, struct event *e, struct err *err)
{
	int rc = e->format.fields.n
			 ? 0
			 : tracepoint_format_read(all->dir, e->category, e->what, &e->format);

	return rc ? err_errno(err, rc == -ENOENT ? -EINVAL : rc, "%.100s: its format", e->name) : 0;
}

/* What the event has, and the nearest of it. */
static int field_unknown(const struct event *e, const char *name, struct err *err)
{
	const char *names[TRACEPOINT_FIELDS_MAX + ARRAY_SIZE(registers)] = {}, *near;
	_cleanup_str_ struct str list = {};
	size_t n = 0;

	vec_each (f, &e->format.fields)
		if (!f->is_common && n < TRACEPOINT_FIELDS_MAX)
			names[n++] = f->name;
	for (size_t i = 0; e->how >= CLONE_KPROBE && i < ARRAY_SIZE(registers); i++)
		if (!strcmp(registers[i].name, "retval") == e->returns)
			names[n++] = registers[i].name;
	for (size_t i = 0; i < n; i++)
		str_addf(&list, "%s%s", i ? ", " : "", names[i]);
	near = closest(name, names, n);
	err_set(err, -EINVAL, "%.80s has no field '%.60s'%s%.60s%s", e->name, name,
		near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
	if (n)
		return err_hint(err, "its fields: %.230s", str_get(&list));
	return err_hint(err, "it has none of its own: pid, tid, comm, cpu, node, cgroup");
}

static bool type_has(const struct tracepoint_field *f, const char *word)
{
	return strstr(f->type, word) != NULL;
}

/* Fields that hold the address of code. */
static bool name_is_code(const char *name)
{
	static const char *const names[] = {"call_site", "callsite", "caller", "caller_ip", "ip",
		"parent_ip", "function", "func", "fn", "shrink", "rip"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static u8 number_show(const struct tracepoint_field *f)
{
	if (f->size == 8 && name_is_code(f->name))
		return COUNT_SHOW_SYMBOL;
	if (type_has(f, "*") || strstr(f->name, "addr") || strstr(f->name, "flags"))
		return COUNT_SHOW_HEX;
	return f->is_signed ? COUNT_SHOW_SIGNED : COUNT_SHOW_UNSIGNED;
}

static int array_source(const struct event *e, const struct tracepoint_field *f,
	struct count_source *ret, u8 *ret_show, struct err *err)
{
	if (!type_has(f, "char"))
		return err_set(err, -EINVAL,
			"%.80s: its field %s is %s: neither a number nor a text", e->name, f->name,
			f->type);
	*ret_show = COUNT_SHOW_TEXT;
	*ret = (struct count_source){
		.from = f->is_data_loc  ? COUNT_DATA_LOC
			: f->is_rel_loc ? COUNT_REL_LOC
					: COUNT_CHARS,
		.size = f->is_data_loc || f->is_rel_loc ? 4 : (u8)MIN(f->size, (u32)COUNT_TEXT),
		.offset = f->offset,
	};
	return 0;
}

static int field_source(const struct event *e, const struct tracepoint_field *f,
	struct count_source *ret, u8 *ret_show, struct err *err)
{
	bool syscall = !strcmp(e->category, "syscalls");

	if (f->is_array)
		return array_source(e, f, ret, ret_show, err);
	*ret = (struct count_source){
		.from = COUNT_FIELD,
		.size = (u8)f->size,
		.is_signed = f->is_signed,
		.offset = f->offset,
	};
	*ret_show = number_show(f);
	if (f->size == 8 && type_has(f, "char *") && !type_has(f, "* *")) {
		ret->from = syscall ? COUNT_USER : COUNT_KERNEL;
		*ret_show = COUNT_SHOW_TEXT;
	} else if (syscall && f->size == 8 && !strcmp(f->type, "int")) {
		/* an argument: a register, of which an int is the lower half */
		ret->size = 4;
		ret->is_signed = 1;
		*ret_show = COUNT_SHOW_SIGNED;
	} else if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8) {
		return err_set(err, -EINVAL, "%.80s: its field %s has %u bytes: not a number",
			e->name, f->name, f->size);
	}
	return 0;
}

static int register_source(
	const struct event *e, const char *name, struct count_source *ret, u8 *ret_show)
{
	for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
		bool of_return = !strcmp(registers[i].name, "retval");

		if (strcmp(registers[i].name, name) != 0 || of_return != e->returns)
			continue;
		/* fentry has the arguments in a row */
		*ret = (struct count_source){.from = COUNT_FIELD,
			.size = 8,
			.offset = e->how == CLONE_FENTRY ? 8 * (u32)i : registers[i].offset};
		*ret_show = COUNT_SHOW_UNSIGNED;
		return 0;
	}
	return -ENOENT;
}

int event_source(struct event_list *all, struct event *e, const char *name,
	struct count_source *ret, u8 *ret_show, struct err *err)
{
	const struct tracepoint_field *f;
	bool own = !strncmp(name, "args.", 5);
	int rc;

	for (size_t i = 0; !own && i < ARRAY_SIZE(common); i++) {
		if (strcmp(name, common[i].name) != 0 && strcmp(name, common[i].alias) != 0)
			continue;
		*ret = common[i].source;
		*ret_show = common[i].show;
		return 0;
	}
	name += own ? 5 : 0;
	if (e->how >= CLONE_KPROBE) {
		rc = register_source(e, name, ret, ret_show);
		return rc ? field_unknown(e, name, err) : 0;
	}
	if (e->how == CLONE_SOFTWARE)
		return field_unknown(e, name, err);
	rc = format_need(all, e, err);
	if (rc)
		return rc;
	f = tracepoint_format_field(&e->format, name);
	/* the program does not see what all records have: a pointer lies there instead */
	if (!f || f->offset < 8)
		return field_unknown(e, name, err);
	return field_source(e, f, ret, ret_show, err);
}

int event_names(const struct event_list *all, const struct event *e, const char *field,
	int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	_cleanup_str_ struct str text = {};

	if (!e->format.fields.n ||
		sys_read(&text, "%s/events/%s/%s/format", all->dir, e->category, e->what))
		return PRINT_FMT_NONE;
	return print_fmt_names(
		str_get(&text), !strncmp(field, "args.", 5) ? field + 5 : field, fn, arg);
}

/* The bits in which a text must be equal: those of its bytes and, unless it is the beginning only,
 * all after them. */
static int test_text(
	const struct event *e, const struct filter_test *t, struct count_test *ret, struct err *err)
{
	size_t n = strlen(t->value);
	size_t room = ret->source.from == COUNT_COMM    ? COMM_LEN
		      : ret->source.from == COUNT_CHARS ? ret->source.size
							: COUNT_TEXT;
	bool glob = t->op == FILTER_GLOB;

	if (t->op != FILTER_EQ && t->op != FILTER_NE && !glob)
		return err_set(err, -EINVAL,
			"--filter: at %u, %.60s is a text of %.60s: it takes ==, != and ~", t->at,
			t->name, e->name);
	if (glob && n && t->value[n - 1] == '*')
		n--;
	else if (glob)
		return err_set(err, -EINVAL, "--filter: at %u, ~ takes a prefix: %s ~ '%.40s*'",
			t->at, t->name, t->value);
	if (strpbrk(t->value, "*?[") && glob && memchr(t->value, '*', n))
		return err_set(err, -EINVAL, "--filter: at %u, ~ takes one * at the end", t->at);
	if (n >= room)
		return err_set(err, -EINVAL,
			"--filter: at %u, '%.60s' is longer than the %zu characters that are seen",
			t->at, t->value, room - 1);
	memcpy(ret->text, t->value, n);
	memset(ret->mask, 0xff, glob ? n : sizeof(ret->mask));
	ret->op = COUNT_EQUAL;
	return 0;
}

static int test_number(
	const struct event *e, const struct filter_test *t, struct count_test *ret, struct err *err)
{
	u32 bits = 8U * ret->source.size;
	bool order = t->op != FILTER_EQ && t->op != FILTER_NE && t->op != FILTER_BITS;

	if (t->op == FILTER_GLOB)
		return err_set(err, -EINVAL, "--filter: at %u, %.60s is a number of %.60s: no ~",
			t->at, t->name, e->name);
	if (!t->is_number) {
		err_set(err, -EINVAL,
			"--filter: at %u, '%.60s' is not a number, but %.60s of %.60s is", t->at,
			t->value, t->name, e->name);
		return err_hint(err, "numbers: 12, -1, 0x10, 4K");
	}
	ret->value = t->number;
	if (order && t->negative && !ret->source.is_signed)
		return err_set(err, -EINVAL, "--filter: at %u, %.60s of %.60s is never negative",
			t->at, t->name, e->name);
	/* -1 in an unsigned field is all ones */
	if (t->negative && !ret->source.is_signed && bits < 64)
		ret->value &= (1ULL << bits) - 1;
	/* 0xffffffff in a signed one of 32 bits is -1 */
	if (!order && ret->source.is_signed && bits < 64 && ret->value >> bits == 0)
		ret->value = (u64)((s64)(ret->value << (64 - bits)) >> (64 - bits));
	ret->op = t->op == FILTER_BITS                       ? COUNT_BITS
		  : t->op == FILTER_LT || t->op == FILTER_GE ? COUNT_BELOW
		  : t->op == FILTER_GT || t->op == FILTER_LE ? COUNT_ABOVE
							     : COUNT_EQUAL;
	return 0;
}

int event_test(struct event_list *all, struct event *e, const struct filter_test *t,
	struct count_test *ret, struct err *err)
{
	bool turned = t->op == FILTER_NE || t->op == FILTER_LE || t->op == FILTER_GE;
	struct err why = {};
	u8 show;
	int rc;

	*ret = (struct count_test){
		.yes = turned ? t->no : t->yes,
		.no = turned ? t->yes : t->no,
	};
	rc = event_source(all, e, t->name, &ret->source, &show, &why);
	if (rc) {
		err_set(err, rc, "--filter: at %u: %s", t->at, why.msg);
		return err_hint(err, "%s", why.hint);
	}
	return ret->source.from >= COUNT_COMM ? test_text(e, t, ret, err)
					      : test_number(e, t, ret, err);
}
