// C++: exceptions through many frames, new and delete in all their forms, objects of threads.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

static void deeper(int n)
{
	std::string held(100, 'x');

	if (!n)
		throw std::runtime_error("from " + held.substr(0, 3));
	deeper(n - 1);
	std::puts("never here");
}

static int thrown()
{
	int caught = 0;

	for (int i = 0; i < 200; i++)
		try {
			deeper(i % 60);
		} catch (const std::exception &e) {
			caught += std::strcmp(e.what(), "from xxx") == 0;
		}
	std::printf("%d\n", caught);
	return 0;
}

static int uncaught()
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	deeper(3);
	return 0;
}

static int in_threads()
{
	std::vector<std::future<std::string>> all;
	int n = 0;

	for (int i = 0; i < 20; i++)
		all.push_back(std::async(std::launch::async, [i]() -> std::string {
			deeper(i);
			return "";
		}));
	for (auto &f : all)
		try {
			f.get();
		} catch (const std::runtime_error &) {
			n++;
		}
	std::printf("%d\n", n);
	return 0;
}

static int no_memory()
{
	volatile size_t much = ~static_cast<size_t>(0) / 2 - 100;
	int n = 0;

	try {
		delete[] new char[much];
	} catch (const std::bad_alloc &e) {
		std::printf("%s\n", e.what());
		n++;
	}
	n += new (std::nothrow) char[much] == nullptr;
	std::set_new_handler([] {
		std::puts("the handler");
		std::set_new_handler(nullptr);
	});
	try {
		delete[] new char[much];
	} catch (const std::bad_alloc &) {
		n++;
	}
	std::printf("%d\n", n);
	return 0;
}

struct alignas(256) Wide {
	char c[256];
};

static int aligned()
{
	std::vector<std::unique_ptr<Wide>> all;
	int bad = 0;

	for (int i = 0; i < 100; i++) {
		all.emplace_back(new Wide);
		bad += reinterpret_cast<size_t>(all.back().get()) % 256 != 0;
	}
	std::printf("%d\n", bad);
	return 0;
}

struct Told {
	int n = 0;
	~Told()
	{
		std::printf("%d destroyed\n", n);
	}
};

static thread_local Told told;
static std::unique_ptr<Told> at_end(new Told);

static int objects()
{
	std::thread t([] { told.n = 7; });

	t.join();
	at_end->n = 9;
	return 0;
}

static int library()
{
	std::map<std::string, std::vector<int>> words;
	std::regex word("[a-z]+");
	std::string text = "so many words are so many blocks of memory";
	std::ostringstream out;

	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		words[i->str()].push_back(static_cast<int>(i->position()));
	for (auto &w : words)
		out << w.first << ':' << w.second.size() << ' ';
	std::puts(out.str().c_str());
	return 0;
}

int main(int, char **argv)
{
	const std::map<std::string, std::function<int()>> modes = {
		{"thrown", thrown},
		{"uncaught", uncaught},
		{"threads", in_threads},
		{"no-memory", no_memory},
		{"aligned", aligned},
		{"objects", objects},
		{"library", library},
	};

	at_end->n = 1;
	return modes.at(argv[1])();
}
