/* See verifier.h. */
#include "capture/verifier.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --\n"
#define LOG_END "-- END PROG LOAD LOG --"

/* Sums of its work come after what it complains of. */
static bool line_is_sum(const char *line, size_t len)
{
	static const char *const begins[] = {
		"processed ", "verification time ", "stack depth ", "max_states_per_insn "};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (begins_with(line, begins[i]))
			return true;
	return !len;
}

bool verifier_read(const char *message, struct verifier_said *ret)
{
	const char *name = strstr(message, "prog '");
	const char *line = strstr(message, LOG_BEGIN), *end = strstr(message, LOG_END);
	struct verifier_said said = {};

	if (!name || !line || !end)
		return false;
	name += strlen("prog '");
	snprintf(said.program, sizeof(said.program), "%.*s", (int)strcspn(name, "'"), name);
	for (line += strlen(LOG_BEGIN); line < end; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");

		if (!line_is_sum(line, len))
			snprintf(said.words, sizeof(said.words), "%.*s", (int)len, line);
	}
	*ret = said;
	return true;
}
