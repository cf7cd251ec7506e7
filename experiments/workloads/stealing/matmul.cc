// SPDX-License-Identifier: GPL-2.0-only
/* c = a x b, the result cut in halves until a block is left. */
#include "benchmark.h"

#include <tbb/parallel_invoke.h>

namespace {

constexpr size_t BLOCK = 32;

class Matmul : public Checked<double> {
public:
	Matmul(size_t side, uint64_t seed) : Checked(side * side, 3), side(side), seed(seed) {}

	void fill(const std::vector<Array> &a) override
	{
		for (size_t i = 0; i < side * side; i++) {
			a[0].as<double>()[i] = (i * 7 + seed) % 13;
			a[1].as<double>()[i] = (i * 5 + seed) % 11;
			a[2].as<double>()[i] = 0;
		}
	}

	/* Small whole numbers: the sums are exact in any order. */
	void make_reference(const std::vector<Array> &a) override
	{
		const double *x = a[0].as<double>(), *y = a[1].as<double>();

		reference.assign(side * side, 0);
		for (size_t row = 0; row < side; row++)
			for (size_t k = 0; k < side; k++)
				for (size_t i = 0; i < side; i++)
					reference[row * side + i] += x[row * side + k] *
								     y[k * side + i];
	}

	void run(Runtime &runtime, const std::vector<Array> &a) override
	{
		int parts = runtime.parts();

		result = a[2].as<double>();
		runtime.each_part([&](int part) {
			rows(a, part_start(side, part, parts), part_start(side, part + 1, parts));
		});
	}

private:
	void rows(const std::vector<Array> &a, size_t row, size_t end) const
	{
		if (end - row > BLOCK) {
			size_t half = row + (end - row) / 2;

			tbb::parallel_invoke([=, this, &a] { rows(a, row, half); },
					     [=, this, &a] { rows(a, half, end); });
			return;
		}
		columns(a, row, end, 0, side);
	}

	void columns(const std::vector<Array> &a, size_t row, size_t end, size_t column,
		     size_t last) const
	{
		if (last - column > BLOCK) {
			size_t half = column + (last - column) / 2;

			tbb::parallel_invoke([=, this, &a] { columns(a, row, end, column, half); },
					     [=, this, &a] { columns(a, row, end, half, last); });
			return;
		}
		block(a[0].as<double>(), a[1].as<double>(), a[2].as<double>(), row, end, column,
		      last);
	}

	void block(const double *x, const double *y, double *z, size_t row, size_t end,
		   size_t column, size_t last) const
	{
		for (size_t r = row; r < end; r++) {
			for (size_t c = column; c < last; c++)
				z[r * side + c] = 0;
			for (size_t k = 0; k < side; k++)
				for (size_t c = column; c < last; c++)
					z[r * side + c] += x[r * side + k] * y[k * side + c];
		}
	}

	size_t side;
	uint64_t seed;
};

}

/* A sixteenth of the elements of the others: the work grows with the side's third power. */
std::unique_ptr<Benchmark> make_matmul(size_t scale, uint64_t seed)
{
	return std::make_unique<Matmul>(side_of(scale << 12, BLOCK), seed);
}
