// Built by the tests: C++ with namespaces, templates, lambdas, members and inlining.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shop {
namespace detail {
template <typename T, int Scale> struct scaler {
	T factor;
	__attribute__((noinline)) T apply(T value) const { return value * factor * Scale; }
	T apply_inline(T value) const { return value * factor + Scale; }
};
} // namespace detail

class basket {
public:
	virtual ~basket() = default;
	__attribute__((noinline)) void add(const std::string &name, int amount)
	{
		items_[name] += amount;
	}
	template <typename F> __attribute__((noinline)) int fold(F &&f) const
	{
		int total = 0;
		for (const auto &item : items_)
			total = f(total, item.second);
		return total;
	}
	virtual int price() const;

private:
	std::map<std::string, int> items_;
};

int basket::price() const
{
	detail::scaler<int, 3> s{2};
	return fold([&](int total, int amount) {
		if (amount > 100)
			return s.apply(total);
		return total + s.apply_inline(amount);
	});
}
} // namespace shop

namespace {
__attribute__((noinline)) std::unique_ptr<shop::basket> make(int n)
{
	auto b = std::make_unique<shop::basket>();
	std::vector<std::string> names;
	for (int i = 0; i < n; i++)
		names.push_back(std::string("item") + std::to_string(i % 7));
	for (const auto &name : names)
		b->add(name, n);
	return b;
}
} // namespace

int operator"" _pieces(unsigned long long n)
{
	return static_cast<int>(n);
}

int main()
{
	auto b = make(12_pieces);
	std::printf("%d\n", b->price());
	return 0;
}
