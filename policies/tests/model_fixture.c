// SPDX-License-Identifier: GPL-2.0-only
#include "model_fixture.h"

struct np_model_flow model_triad(int from, int to, double cores)
{
	return (struct np_model_flow) {
		.from = from,
		.to = to,
		.cores = cores,
		.write_fraction = 0.25,
		.posted_fraction = 0.25,
		.streams = 3,
	};
}

struct np_model model_of(const char *text)
{
	struct np_model m;
	char err[200] = "";

	CU_ASSERT_EQUAL_FATAL(np_model_parse(&m, text, err, sizeof(err)), 0);
	return m;
}

struct np_model_result model_alone(const struct np_model *m, struct np_model_flow flow)
{
	struct np_model_result result;

	CU_ASSERT_EQUAL_FATAL(np_model_solve(m, &flow, 1, &result), 0);
	return result;
}

double model_beside(const struct np_model *m, struct np_model_flow flow, struct np_model_flow other)
{
	const struct np_model_flow both[] = { flow, other };
	struct np_model_result result[2];

	CU_ASSERT_EQUAL_FATAL(np_model_solve(m, both, 2, result), 0);
	return result[0].bytes_per_s;
}
