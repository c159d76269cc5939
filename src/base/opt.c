/* See opt.h. */
#include "base/opt.h"

#include <stdint.h>
#include <string.h>

#include "base/closest.h"
#include "base/units.h"
#include "base/vec.h"

static const struct opt *opt_by_name(
	const struct opt_set *sets, const char *name, size_t n, void **ret_dst)
{
	for (; sets->opts; sets++)
		for (size_t i = 0; i < sets->n; i++)
			if (strlen(sets->opts[i].name) == n &&
				!strncmp(sets->opts[i].name, name, n)) {
				*ret_dst = sets->dst;
				return &sets->opts[i];
			}
	return NULL;
}

static const struct opt *opt_by_letter(const struct opt_set *sets, char letter, void **ret_dst)
{
	for (; sets->opts; sets++)
		for (size_t i = 0; i < sets->n; i++)
			if (sets->opts[i].letter == letter) {
				*ret_dst = sets->dst;
				return &sets->opts[i];
			}
	return NULL;
}

struct opt_args {
	const struct opt_set *sets, *others;
	void *dst;
	int argc, i;
	char **argv;
	struct err *err;
};

static int opt_unknown(const struct opt_args *a, const char *arg)
{
	size_t n = strcspn(arg + 2, "=");
	const struct opt_set *sets = a->sets;
	struct err *err = a->err;
	VEC(const char *) names = {};
	char word[64];
	const char *near;
	void *unused;

	if (opt_by_name(a->others, arg + 2, n, &unused)) {
		err_set(err, -EINVAL, "%.*s is an option of other commands", (int)n + 2, arg);
		return err_hint(err, "--help lists those of this one");
	}
	snprintf(word, sizeof(word), "%.*s", (int)n, arg + 2);
	for (; sets->opts; sets++)
		for (size_t i = 0; i < sets->n; i++)
			if (vec_push(&names, sets->opts[i].name))
				break;
	near = closest(word, names.v, names.n);
	vec_free(&names);
	err_set(err, -EINVAL, "unknown option '%.60s'", arg);
	return near ? err_hint(err, "did you mean --%s?", near)
		    : err_hint(err, "--help lists the options");
}

/* "a,", ",a", "a,,b": where a list is taken, which its description shows by a comma. */
static bool has_empty_word(const struct opt *o, const char *value)
{
	return strchr(o->arg, ',') &&
	       (*value == ',' || strstr(value, ",,") || value[strlen(value) - 1] == ',');
}

static int opt_store(const struct opt *o, void *dst, const char *value, struct err *err)
{
	void *at = (char *)dst + o->offset;
	int rc = 0;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_STRING:
		if (!*value || has_empty_word(o, value)) {
			if (*value)
				err_set(err, -EINVAL, "--%s: '%.40s' has an empty word", o->name,
					value);
			else
				err_set(err, -EINVAL, "--%s: the value is empty", o->name);
			return err_hint(err, "--%s %s: %s", o->name, o->arg, o->help);
		}
		*(const char **)at = value;
		return 0;
	case OPT_OPTIONAL:
		*(const char **)at = value;
		return 0;
	case OPT_DURATION:
		rc = parse_duration(value, at);
		if (!rc && !*(u64 *)at)
			rc = -EINVAL; /* no time is not for ever */
		break;
	case OPT_SIZE:
		rc = parse_size(value, at);
		break;
	case OPT_COUNT:
		rc = parse_u64(value, 0, UINT64_MAX, at);
		break;
	}
	if (!rc)
		return 0;
	err_set(err, -EINVAL, "--%s: '%.40s' is %s", o->name, value,
		rc == -ERANGE ? "too large" : "not a valid value");
	return err_hint(err, "%s",
		o->type == OPT_DURATION ? "write a time as 500ms, 10s, 5m or 1h"
		: o->type == OPT_SIZE   ? "write a size as 4096, 64K, 16M or 1G"
					: "write a whole number");
}

/* The value of an option that takes one: joined to it, or the next argument. */
static int opt_value(struct opt_args *a, const struct opt *o, void *dst, const char *joined)
{
	dst = dst ? dst : a->dst;
	if (o->type == OPT_FLAG && joined) {
		err_set(a->err, -EINVAL, "--%s takes no value", o->name);
		return err_hint(a->err, "leave '=%.40s' out", joined);
	}
	if (o->type == OPT_FLAG)
		return opt_store(o, dst, NULL, a->err);
	if (o->type == OPT_OPTIONAL)
		return opt_store(o, dst, joined ? joined : "", a->err);
	if (!joined && a->i + 1 < a->argc)
		joined = a->argv[++a->i];
	if (!joined) {
		err_set(a->err, -EINVAL, "--%s needs a value", o->name);
		return err_hint(a->err, "--%s %s: %s", o->name, o->arg, o->help);
	}
	return opt_store(o, dst, joined, a->err);
}

static int opt_long(struct opt_args *a, const char *arg)
{
	size_t n = strcspn(arg + 2, "=");
	void *dst = NULL;
	const struct opt *o = opt_by_name(a->sets, arg + 2, n, &dst);

	if (!o)
		return opt_unknown(a, arg);
	return opt_value(a, o, dst, arg[2 + n] ? arg + 3 + n : NULL);
}

/* -q, -qv, -p 1, -p1 */
static int opt_short(struct opt_args *a, const char *arg)
{
	int rc = 0;

	for (const char *p = arg + 1; *p && !rc; p++) {
		void *dst = NULL, *unused;
		const struct opt *o = opt_by_letter(a->sets, *p, &dst);

		if (!o && opt_by_letter(a->others, *p, &unused)) {
			err_set(a->err, -EINVAL, "-%c is an option of other commands", *p);
			return err_hint(a->err, "--help lists those of this one");
		}
		if (!o) {
			err_set(a->err, -EINVAL, "unknown option '-%c'", *p);
			return err_hint(a->err, "--help lists the options");
		}
		if (o->type != OPT_FLAG)
			return opt_value(a, o, dst, p[1] ? p + 1 : NULL);
		rc = opt_value(a, o, dst, NULL);
	}
	return rc;
}

int opt_parse(const struct opt_set *sets, const struct opt_set *others, void *dst, int argc,
	char **argv, int *ret_operands, int *ret_rest, struct err *err)
{
	struct opt_args a = {.sets = sets,
		.others = others,
		.dst = dst,
		.argc = argc,
		.i = 1,
		.argv = argv,
		.err = err};
	int operands = 0, rc = 0;

	for (; a.i < argc && !rc; a.i++) {
		char *arg = argv[a.i];

		if (!strcmp(arg, "--"))
			break;
		if (arg[0] == '-' && arg[1] == '-')
			rc = opt_long(&a, arg);
		else if (arg[0] == '-' && arg[1])
			rc = opt_short(&a, arg);
		else
			argv[++operands] = arg;
	}
	if (rc)
		return rc;
	*ret_operands = operands;
	*ret_rest = a.i < argc ? a.i + 1 : argc;
	return 0;
}
