/* See request.h. */
#include "capture/session_request.h"

#include <stdlib.h>

#include "base/util.h"
#include "capture/preload_check.h"

bool request_is_tracked(const struct request *r)
{
	return r->command && !request_untracked_why(r);
}

const char *request_untracked_why(const struct request *r)
{
	_cleanup_free_ struct preload_program *p = r->command ? calloc(1, sizeof(*p)) : NULL;
	enum preload_why why;

	if (!p)
		return NULL;
	why = preload_check_command(r->command[0], r->as_other ? &r->as : NULL, p);
	return preload_is_in_vain(why) ? preload_why_text(why) : NULL;
}
