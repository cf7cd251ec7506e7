// SPDX-License-Identifier: GPL-2.0-only
/* Merge sort whose halves and whose merges are tasks. */
#include "benchmark.h"

#include <algorithm>
#include <random>
#include <tbb/parallel_invoke.h>

namespace {

constexpr size_t SMALL = 2048; /* ints of a task that is not cut again */

/* Merges two sorted runs into out, each task a part of both. */
void merge(const int *a, size_t n, const int *b, size_t m, int *out)
{
	if (n < m) {
		std::swap(a, b);
		std::swap(n, m);
	}
	if (n + m <= SMALL || !m) {
		std::merge(a, a + n, b, b + m, out);
		return;
	}
	size_t half = n / 2, other = std::lower_bound(b, b + m, a[half]) - b;

	tbb::parallel_invoke([=] { merge(a, half, b, other, out); },
			     [=] {
				     merge(a + half, n - half, b + other, m - other,
					   out + half + other);
			     });
}

/* Leaves the sorted ints in a, or in the space when into_space. */
void sort(int *a, size_t n, int *space, bool into_space)
{
	if (n <= SMALL) {
		std::sort(a, a + n);
		if (into_space)
			std::copy(a, a + n, space);
		return;
	}
	size_t half = n / 2;

	tbb::parallel_invoke([=] { sort(a, half, space, !into_space); },
			     [=] { sort(a + half, n - half, space + half, !into_space); });
	const int *from = into_space ? a : space;

	merge(from, half, from + half, n - half, into_space ? space : a);
}

class Cilksort : public Checked<int> {
public:
	Cilksort(size_t n, uint64_t seed) : Checked(n, 2), n(n), seed(seed) {}

	void fill(const std::vector<Array> &a) override
	{
		std::mt19937 random(seed);

		for (size_t i = 0; i < n; i++)
			a[0].as<int>()[i] = random();
		std::fill_n(a[1].as<int>(), n, 0);
	}

	void make_reference(const std::vector<Array> &a) override
	{
		reference.assign(a[0].as<int>(), a[0].as<int>() + n);
		std::sort(reference.begin(), reference.end());
	}

	/* Each part is sorted, then neighbours are merged until one run is left. */
	void run(Runtime &runtime, const std::vector<Array> &a) override
	{
		int *from = a[0].as<int>(), *to = a[1].as<int>();
		int parts = runtime.parts();

		runtime.each_part([&](int part) {
			size_t first = part_start(n, part, parts),
			       end = part_start(n, part + 1, parts);

			sort(from + first, end - first, to + first, false);
		});
		for (int width = 1; width < parts; width *= 2) {
			runtime.each_part(
				[&](int part) { merge_neighbours(from, to, part, width, parts); });
			std::swap(from, to);
		}
		result = from;
	}

private:
	void merge_neighbours(const int *from, int *to, int part, int width, int parts) const
	{
		if (part % (2 * width))
			return;
		size_t first = part_start(n, part, parts);
		size_t middle = part_start(n, std::min(part + width, parts), parts);
		size_t end = part_start(n, std::min(part + 2 * width, parts), parts);

		merge(from + first, middle - first, from + middle, end - middle, to + first);
	}

	size_t n;
	uint64_t seed;
};

}

std::unique_ptr<Benchmark> make_cilksort(size_t scale, uint64_t seed)
{
	return std::make_unique<Cilksort>(scale << 16, seed);
}
