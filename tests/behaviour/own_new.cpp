// A program with operators new and delete of its own.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

static int made, gone;

void *operator new(std::size_t size)
{
	void *p = std::malloc(size);

	made++;
	if (!p)
		throw std::bad_alloc();
	return p;
}

void operator delete(void *p) noexcept
{
	gone++;
	std::free(p);
}

void operator delete(void *p, std::size_t) noexcept
{
	gone++;
	std::free(p);
}

int main()
{
	{
		std::vector<std::string> all;

		for (int i = 0; i < 100; i++)
			all.push_back(std::string(50, 'x'));
	}
	std::printf("%d of %d\n", gone, made);
	return made != gone;
}
