// SPDX-License-Identifier: GPL-2.0-only
/*
 * answers CPU CPU COUNT: microseconds that a byte takes to a process on the
 * other CPU and back: the mean, and what 10, 50, 90 and 99 % do not exceed.
 */
#include "../../programs/common.h"

#include <sys/socket.h>

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void answer(int socket)
{
	char byte;

	while (read(socket, &byte, 1) == 1)
		if (write(socket, &byte, 1) != 1)
			exit(1);
	exit(0);
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? atoi(argv[3]) : 0, pair[2];
	double *us = calloc(count > 0 ? count : 1, sizeof(*us)), sum = 0;
	char byte = 'x';
	pid_t server;

	if (count < 100 || !us || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	server = fork();
	if (server < 0)
		return 1;
	close(pair[server != 0]);
	run_on(atoi(argv[server ? 1 : 2]));
	if (!server)
		answer(pair[1]);
	for (int i = 0; i < count; i++) {
		int64_t start = now_ns();

		if (write(pair[0], &byte, 1) != 1 || read(pair[0], &byte, 1) != 1)
			return 1;
		us[i] = (now_ns() - start) * 1e-3;
		sum += us[i];
	}
	qsort(us, count, sizeof(*us), by_size);
	printf("%.2f %.2f %.2f %.2f %.2f\n", sum / count, us[count / 10], us[count / 2],
	       us[count * 9 / 10], us[count * 99 / 100]);
	return 0;
}
