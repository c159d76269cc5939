/* See demangle.h. */
#include "sym/demangle.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "base/str.h"

/* Back references let a short name stand for an exponentially long one. libiberty has no limit
 * on what it writes, and its callback no way to say stop, other than not returning. It keeps its
 * state on the stack there, so nothing is lost by that (but for a small buffer of its decoder of
 * non-ASCII Rust names, when the limit is hit just then). */
struct demangling {
	struct str out;
	jmp_buf too_long;
};

static void demangling_add(const char *text, size_t n, void *opaque)
{
	struct demangling *d = opaque;

	if (!n) /* comes with no text at all */
		return;
	if (n > DEMANGLE_OUT_MAX - d->out.len)
		longjmp(d->too_long, 1);
	str_addn(&d->out, text, n);
}

/* A function of its own, so that no local variable lives across setjmp(). */
static int demangling_run(struct demangling *d, const char *mangled)
{
	if (setjmp(d->too_long))
		return 0;
	/* Rust's older scheme looks like C++ with a hash at the end, so it is asked first. */
	if (rust_demangle_callback(mangled, DMGL_NO_OPTS, demangling_add, d))
		return 1;
	str_clear(&d->out);
	/* The library's own limit refuses names over 1 KiB, which templates do reach. Its purpose
	 * is the depth of the stack; with DEMANGLE_IN_MAX that stays under 1 MiB. */
	return cplus_demangle_v3_callback(
		mangled, DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, demangling_add, d);
}

static bool looks_mangled(const char *name)
{
	/* GCC names what runs before main() _GLOBAL__sub_I_…. */
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) ||
	       !strncmp(name, "_GLOBAL_", strlen("_GLOBAL_"));
}

char *demangle(const char *mangled)
{
	struct demangling d = {};
	char *text;

	if (!looks_mangled(mangled) || strnlen(mangled, DEMANGLE_IN_MAX + 1) > DEMANGLE_IN_MAX)
		return NULL;
	if (!demangling_run(&d, mangled) || d.out.failed || !d.out.len) {
		str_free(&d.out);
		return NULL;
	}
	text = take_ptr(d.out.buf);
	return text;
}
