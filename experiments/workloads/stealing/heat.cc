// SPDX-License-Identifier: GPL-2.0-only
/* Heat on a square plate: every cell becomes the mean of its four neighbours, so many times. */
#include "benchmark.h"

#include <algorithm>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

namespace {

constexpr int STEPS = 10;
constexpr size_t ROWS = 8; /* of a task that is not cut again */

class Heat : public Checked<double> {
public:
	Heat(size_t side, uint64_t seed) : Checked(side * side, 2), side(side), seed(seed) {}

	void fill(const std::vector<Array> &a) override
	{
		for (size_t i = 0; i < side * side; i++)
			a[0].as<double>()[i] = a[1].as<double>()[i] = (i * 2654435761u + seed) %
								      1000;
	}

	void make_reference(const std::vector<Array> &a) override
	{
		std::vector<double> next(a[0].as<double>(), a[0].as<double>() + side * side);

		reference = next;
		for (int step = 0; step < STEPS; step++) {
			for (size_t row = 1; row + 1 < side; row++)
				one_row(reference.data(), next.data(), row);
			std::swap(reference, next);
		}
	}

	void run(Runtime &runtime, const std::vector<Array> &a) override
	{
		double *from = a[0].as<double>(), *to = a[1].as<double>();
		int parts = runtime.parts();

		for (int step = 0; step < STEPS; step++) {
			runtime.each_part([&](int part) {
				size_t first = std::max<size_t>(part_start(side, part, parts), 1);
				size_t end = std::min(part_start(side, part + 1, parts), side - 1);

				tbb::parallel_for(tbb::blocked_range<size_t>(first, end, ROWS),
						  [&](const auto &rows) {
							  for (size_t row = rows.begin();
							       row != rows.end(); row++)
								  one_row(from, to, row);
						  });
			});
			std::swap(from, to);
		}
		result = from;
	}

private:
	/* The same operations in the same order wherever a row is made: results are equal to the bit. */
	void one_row(const double *from, double *to, size_t row) const
	{
		const double *at = from + row * side;

		for (size_t i = 1; i + 1 < side; i++)
			to[row * side + i] = 0.25 * (((at[i - 1] + at[i + 1]) + at[i - side]) +
						     at[i + side]);
	}

	size_t side;
	uint64_t seed;
};

}

std::unique_ptr<Benchmark> make_heat(size_t scale, uint64_t seed)
{
	return std::make_unique<Heat>(side_of(scale << 16, 32), seed);
}
