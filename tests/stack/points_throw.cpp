/* Points in the middle of exceptions: see points.c. */
#include <stdexcept>
#include <string>

#include "points.h"

namespace {

struct Guard {
	const char *name;
	explicit Guard(const char *n) : name(n) {}
	~Guard() { point(name); }
};

__attribute__((noinline)) void thrower(int n, const std::string &text)
{
	Guard guard(n == 2 ? "unwinding" : "unwound");

	if (n)
		thrower(n - 1, text + "x");
	throw std::runtime_error(text);
}

} // namespace

extern "C" void points_throw(void)
{
	try {
		thrower(3, "a");
	} catch (const std::exception &e) {
		point("caught");
	}
}
