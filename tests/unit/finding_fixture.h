/* What every finding has, whatever it tells: docs/schema/report.schema.json promises it. Where
 * there is nothing to undo, report_rank() says so. */
#ifndef MEMWHY_TESTS_FINDING_FIXTURE_H
#define MEMWHY_TESTS_FINDING_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"
#include "undo_fixture.h"

static inline void assert_whole_finding(const struct finding *f)
{
	const char *lacks = !f->title               ? "a title"
			    : !f->confidence        ? "a confidence"
			    : !f->evidence[0]       ? "evidence"
			    : !f->why || !f->why[0] ? "a why"
			    : !f->try_[0]           ? "what to try"
			    : !f->verify[0]         ? "how to verify it"
						    : NULL;

	if (lacks)
		fail_msg("%s lacks %s: %s", f->rule, lacks, f->title ? f->title : "");
	assert_undo_is_of_try(f);
}

#endif
