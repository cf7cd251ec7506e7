/* SPDX-License-Identifier: GPL-2.0-only */
/* The four programs of Deters' study, each checked against a serial run of its own. */
#ifndef NP_STEALING_BENCHMARK_H
#define NP_STEALING_BENCHMARK_H

#include "runtime.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/* Memory in whole pages; part k of n equal runs of pages belongs to part k of the work. */
struct Array {
	char *start = nullptr;
	size_t bytes = 0;

	template <typename T> T *as() const { return reinterpret_cast<T *>(start); }
};

class Benchmark {
public:
	virtual ~Benchmark() = default;
	/* Bytes of each of the arrays it needs. */
	virtual std::vector<size_t> arrays() const = 0;
	/* Writes the input; the arrays' pages come to be here. Serial. */
	virtual void fill(const std::vector<Array> &a) = 0;
	/* Keeps the result of plain loops or the standard library over the same input. */
	virtual void make_reference(const std::vector<Array> &a) = 0;
	virtual void run(Runtime &runtime, const std::vector<Array> &a) = 0;
	/* Elements of the result that differ from the reference. */
	virtual size_t errors() const = 0;
};

/* Has `count` arrays of so many elements, and a result that is compared with the reference element by element. */
template <typename T> class Checked : public Benchmark {
public:
	Checked(size_t elements, size_t count) : elements(elements), count(count) {}

	std::vector<size_t> arrays() const override
	{
		return std::vector<size_t>(count, elements * sizeof(T));
	}

	size_t errors() const override
	{
		size_t wrong = 0;

		for (size_t i = 0; i < elements; i++)
			wrong += result[i] != reference[i];
		return wrong;
	}

protected:
	size_t elements, count;
	std::vector<T> reference;
	const T *result = nullptr;
};

/* By name, of about scale x 65536 elements; null when there is none of that name. */
std::unique_ptr<Benchmark> make_benchmark(const std::string &name, size_t scale, uint64_t seed);

std::unique_ptr<Benchmark> make_cilksort(size_t scale, uint64_t seed);
std::unique_ptr<Benchmark> make_heat(size_t scale, uint64_t seed);
std::unique_ptr<Benchmark> make_transpose(size_t scale, uint64_t seed);
std::unique_ptr<Benchmark> make_matmul(size_t scale, uint64_t seed);

/* First of the elements of a part; that of part n is the end. */
inline size_t part_start(size_t elements, int part, int parts)
{
	return elements * part / parts;
}

/* Side of a square of that many elements, in whole blocks. */
size_t side_of(size_t elements, size_t block);

#endif
