// SPDX-License-Identifier: GPL-2.0-only
/* Closed networks whose throughput is known exactly. */
#include "../predict/closed_network.h"

#include <math.h>

#include "../../tests/cunit_main.h"

static double demand[3], queue[3];
static struct np_closed_network net;

static void stations(size_t n, const double *time, double think)
{
	for (size_t i = 0; i < n; i++)
		demand[i] = time[i];
	net = (struct np_closed_network) { n, demand, think, queue };
}

static void one_customer_meets_nobody(void)
{
	stations(3, (double[]) { 0.2, 0.5, 1 }, 0.3);
	CU_ASSERT_DOUBLE_EQUAL(np_closed_throughput(&net, 1), 0.5, 1e-9);
}

/* n / (n + stations - 1) of one station's rate. */
static void equal_stations(void)
{
	stations(3, (double[]) { 0.5, 0.5, 0.5 }, 0);
	for (int n = 1; n < 20; n++)
		CU_ASSERT_DOUBLE_EQUAL(np_closed_throughput(&net, n), 2. * n / (n + 2), 1e-6);
}

static void many_customers_fill_the_slowest(void)
{
	stations(2, (double[]) { 0.25, 0.5 }, 0);
	CU_ASSERT_DOUBLE_EQUAL(np_closed_throughput(&net, 1e6), 2, 1e-3);
}

static void customers_come_back(void)
{
	stations(2, (double[]) { 0.9, 0.6 }, 0);
	CU_ASSERT_DOUBLE_EQUAL(np_closed_throughput(&net, np_closed_customers(&net)), 1, 1e-6);
	stations(2, (double[]) { 0.2, 0.3 }, 0.5);
	CU_ASSERT_EQUAL(np_closed_customers(&net), 1);
	stations(1, (double[]) { 1.5 }, 0);
	CU_ASSERT(isfinite(np_closed_customers(&net)));
}

static CU_TestInfo closed_network_tests[] = {
	TEST(one_customer_meets_nobody),
	TEST(equal_stations),
	TEST(many_customers_fill_the_slowest),
	TEST(customers_come_back),
	CU_TEST_INFO_NULL,
};

TEST_SUITE("closed networks", closed_network_tests);
