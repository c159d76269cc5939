// Built by the tests: exceptions through frames that clean up, without end.
#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned int sink;

struct Guard {
	std::string text;
	explicit Guard(int n) : text(std::to_string(n) + std::string(40, 'x'))
	{
	}
	~Guard()
	{
		sink = sink + static_cast<unsigned int>(text.size());
	}
};

struct Shape {
	virtual ~Shape() = default;
	virtual int area(int n) = 0;
};

struct Square : Shape {
	__attribute__((noinline)) int area(int n) override
	{
		Guard guard(n);

		if (n <= 0)
			throw std::runtime_error("at the bottom of " + guard.text);
		return area(n - 1) + n;
	}
};

__attribute__((noinline)) static int caught(Shape &shape, int n)
{
	try {
		return shape.area(n);
	} catch (const std::logic_error &) {
		return -1;
	}
}

__attribute__((noinline)) static int once(int n)
{
	Square square;
	std::function<int(int)> call = [&square](int m) { return caught(square, m); };
	std::map<std::string, int> found;

	try {
		found[std::to_string(n)] = call(n);
	} catch (const std::exception &e) {
		found[e.what()] = n;
	}
	return static_cast<int>(found.size());
}

int main()
{
	std::vector<int> v(1000);

	for (int i = 0;; i++) {
		sink = sink + static_cast<unsigned int>(once(i % 60));
		for (auto &x : v)
			x = static_cast<int>(sink * 2654435761u >> 8) ^ static_cast<int>(x * 31);
		std::sort(v.begin(), v.end(), [](int a, int b) { return (a ^ 5) < (b ^ 5); });
	}
}
