// SPDX-License-Identifier: GPL-2.0-only
/* b = a transposed, cut in halves until a block fits the first-level cache. */
#include "benchmark.h"

#include <tbb/parallel_invoke.h>

namespace {

constexpr size_t BLOCK = 32;

class Transpose : public Checked<double> {
public:
	Transpose(size_t side, uint64_t seed) : Checked(side * side, 2), side(side), seed(seed) {}

	void fill(const std::vector<Array> &a) override
	{
		for (size_t i = 0; i < side * side; i++) {
			a[0].as<double>()[i] = i + seed;
			a[1].as<double>()[i] = -1;
		}
	}

	void make_reference(const std::vector<Array> &a) override
	{
		reference.resize(side * side);
		for (size_t row = 0; row < side; row++)
			for (size_t i = 0; i < side; i++)
				reference[row * side + i] = a[0].as<double>()[i * side + row];
	}

	void run(Runtime &runtime, const std::vector<Array> &a) override
	{
		int parts = runtime.parts();

		result = a[1].as<double>();
		runtime.each_part([&](int part) {
			block(a[0].as<double>(), a[1].as<double>(), part_start(side, part, parts),
			      part_start(side, part + 1, parts), 0, side);
		});
	}

private:
	/* Rows and columns of the result. */
	void block(const double *from, double *to, size_t row, size_t rows_end, size_t column,
		   size_t columns_end) const
	{
		size_t rows = rows_end - row, columns = columns_end - column;

		if (rows > BLOCK && rows >= columns) {
			tbb::parallel_invoke(
				[=, this] {
					block(from, to, row, row + rows / 2, column, columns_end);
				},
				[=, this] {
					block(from, to, row + rows / 2, rows_end, column,
					      columns_end);
				});
			return;
		}
		if (columns > BLOCK) {
			tbb::parallel_invoke(
				[=, this] {
					block(from, to, row, rows_end, column,
					      column + columns / 2);
				},
				[=, this] {
					block(from, to, row, rows_end, column + columns / 2,
					      columns_end);
				});
			return;
		}
		for (size_t r = row; r < rows_end; r++)
			for (size_t c = column; c < columns_end; c++)
				to[r * side + c] = from[c * side + r];
	}

	size_t side;
	uint64_t seed;
};

}

std::unique_ptr<Benchmark> make_transpose(size_t scale, uint64_t seed)
{
	return std::make_unique<Transpose>(side_of(scale << 16, BLOCK), seed);
}
