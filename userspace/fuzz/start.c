// SPDX-License-Identifier: GPL-2.0-only
/* TARGET --seeds FOLDER: writes the target's seeds there, a file each, and ends. */
#include "fuzz.h"

#include <stdio.h>

#define DEEP 20000

int LLVMFuzzerInitialize(int *argc, char ***argv);

static void write_seed(const char *folder, size_t number)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/seed-%zu", folder, number);
	f = fopen(path, "w");
	if (!f || fputs(fuzz_seeds[number], f) < 0 || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/* Text that is nested more deeply, or longer, than mutations of a seed come to be in a minute. */
static void write_deep(const char *folder, size_t number)
{
	static const char *const start[] = { "[", "{\"a\":", "x = [", "", "" };
	static const char *const again[] = { "[", "{\"a\":", "[", "a.", "a=1\n" };
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/seed-deep-%zu", folder, number);
	f = fopen(path, "w");
	if (!f || fputs(start[number], f) < 0)
		exit(1);
	for (size_t i = 0; i < DEEP; i++)
		fputs(again[number], f);
	if (fclose(f))
		exit(1);
}

/* libFuzzer calls it before anything else. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc != 3 || strcmp((*argv)[1], "--seeds"))
		return 0;
	for (size_t i = 0; fuzz_seeds[i]; i++)
		write_seed((*argv)[2], i);
	for (size_t i = 0; i < 5; i++)
		write_deep((*argv)[2], i);
	exit(0);
}
