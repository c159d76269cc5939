/*
 * What holds for each finding that a test of a rule brings about: the settings that its `try`
 * changes are those that its `undo` puts back.
 */
#ifndef MEMWHY_TESTS_UNDO_FIXTURE_H
#define MEMWHY_TESTS_UNDO_FIXTURE_H

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"

/* What a command sets: a sysctl, a file, a limit, an option of a mount. */
#define SETTING \
	"sysctl -w ([^ =]+)=|echo [^ >]+ > ([^ `;]+)|prlimit [^`]*--([a-z]+)=|remount,([a-z_]+)="
/* The same, and variables of the environment that are to be left out again. */
#define UNDONE SETTING "|without ([A-Z]+(_[A-Z]+)+)"
/* Written once to have something done: there is nothing to put back. Sizes of a trace buffer that
 * are not the same on all CPUs are put back by hand. */
#define ONCE                                                                           \
	"drop_caches|compact_memory|memory.force_empty|memory.reclaim|slab/.*/shrink|" \
	"/buffer_size_kb"

static inline bool matches(const char *pattern, const char *text)
{
	regex_t r;
	bool found;

	assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
	found = !regexec(&r, text, 0, NULL, 0);
	regfree(&r);
	return found;
}

/* Each setting that `lines` names is among `others`, too. */
static inline void settings_are_in(const char *const lines[FINDING_LINES],
	const char *const others[FINDING_LINES], const char *settings, const char *once,
	const char *rule)
{
	regmatch_t m[7];
	regex_t r;

	assert_int_equal(regcomp(&r, settings, REG_EXTENDED), 0);
	for (int i = 0; i < FINDING_LINES && lines[i]; i++) {
		for (const char *p = lines[i]; !regexec(&r, p, 7, m, 0); p += m[0].rm_eo) {
			char name[256] = "";
			bool found = false;

			for (int g = 1; g < 6; g++)
				if (m[g].rm_so >= 0)
					snprintf(name, sizeof(name), "%.*s",
						(int)(m[g].rm_eo - m[g].rm_so), p + m[g].rm_so);
			for (int k = 0; k < FINDING_LINES && others[k]; k++)
				found |= strstr(others[k], name) != NULL;
			if (!found && !matches(once, name))
				fail_msg("%s: %s is in \"%s\" and not on the other side of try "
					 "and undo",
					rule, name, lines[i]);
		}
	}
	regfree(&r);
}

/* What is tried can be undone, and nothing else is. */
static inline void assert_undo_is_of_try(const struct finding *f)
{
	settings_are_in(f->undo, f->try_, UNDONE, "^$", f->rule);
	settings_are_in(f->try_, f->undo, SETTING, ONCE, f->rule);
}

#endif
