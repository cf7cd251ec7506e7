// SPDX-License-Identifier: GPL-2.0-only
#include "exclude.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool np_name_matches(const char *text, const char *comm)
{
	return strpbrk(text, "*?[") ? !fnmatch(text, comm, 0) : strstr(comm, text) != NULL;
}

bool np_excluded(const struct np_exclude *x, pid_t pid, const char *comm)
{
	for (size_t i = 0; i < x->n; i++) {
		const char *word = x->word[i];
		bool number = word[0] && !word[strspn(word, "0123456789")];

		if (number ? strtoul(word, NULL, 10) == (unsigned long)pid :
			     !fnmatch(word, comm, 0))
			return true;
	}
	return false;
}
