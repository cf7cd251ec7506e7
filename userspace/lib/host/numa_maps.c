// SPDX-License-Identifier: GPL-2.0-only
#include "numa_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mempolicy.h"
#include "proc.h"

#define BUFFER 32768

/* "key=NUMBER" with nothing after the number. */
static bool number_after(const char *word, const char *key, uint64_t *value)
{
	size_t len = strlen(key);
	char *end;

	if (strncmp(word, key, len) || word[len] < '0' || word[len] > '9')
		return false;
	*value = strtoull(word + len, &end, 10);
	return *end == '\0';
}

/* "N3=17": 17 pages on node 3. */
static bool node_pages(const char *word, unsigned long *node, uint64_t *pages)
{
	char *end;

	if (word[0] != 'N' || word[1] < '0' || word[1] > '9')
		return false;
	*node = strtoul(word + 1, &end, 10);
	if (*end != '=' || end[1] < '0' || end[1] > '9')
		return false;
	*pages = strtoull(end + 1, &end, 10);
	return *end == '\0';
}

/* As numa_maps writes what has no file that is one on a disk. */
bool np_path_is_shm(const char *path)
{
	static const char *const begin[] = {
		"/dev/zero", "/memfd:", "/SYSV", "/dev/shm/", "/anon_hugepage", "/dev/hugepages/",
	};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(path, begin[i], strlen(begin[i])))
			return true;
	return false;
}

static int parse_word(const char *word, struct np_mapping *out)
{
	unsigned long node;
	uint64_t pages;

	if (!strncmp(word, "file=", 5)) {
		out->file = true;
		out->shm = np_path_is_shm(word + 5);
	} else if (!strcmp(word, "huge")) {
		out->hugetlb = true;
	} else if (!strcmp(word, "stack")) {
		out->stack = true;
	} else if (number_after(word, "anon=", &out->anon) ||
		   number_after(word, "mapmax=", &out->mapmax) ||
		   number_after(word, "kernelpagesize_kB=", &out->page_kib)) {
		return 0;
	} else if (node_pages(word, &node, &pages)) {
		if (node >= NP_MAX_NODES)
			return -EINVAL;
		out->total += pages - out->pages[node]; /* said twice, the last counts */
		out->pages[node] = pages;
	}
	return 0;
}

/* numa_maps counts a hugetlb page as one; the rest of the world counts its size. */
static void scale(struct np_mapping *map, uint64_t base_page_size)
{
	uint64_t factor = map->page_kib * 1024 / base_page_size;

	if (factor <= 1)
		return;
	map->anon *= factor;
	map->total *= factor;
	for (size_t node = 0; node < NP_MAX_NODES; node++)
		map->pages[node] *= factor;
}

/* A policy may hold a blank: "prefer (many):0-1", "weighted interleave:0-1". */
static size_t policy_length(const char *word)
{
	size_t first = strcspn(word, " ");
	bool blank = !strncmp(word, "prefer (", 8) || !strncmp(word, "weighted ", 9);

	return blank ? first + 1 + strcspn(word + first + 1, " ") : first;
}

int np_mapping_parse(const char *line, uint64_t base_page_size, struct np_mapping *out)
{
	char *copy, *save, *word, *end;
	int r = -EINVAL;

	memset(out, 0, sizeof(*out));
	copy = strdup(line);
	if (!copy)
		return -ENOMEM;
	word = strtok_r(copy, " \n", &save);
	if (word) {
		out->start = strtoull(word, &end, 16);
		word = *end || end == word ? NULL : strtok_r(NULL, "\n", &save);
	}
	if (word) {
		size_t len = policy_length(word);

		snprintf(out->policy, sizeof(out->policy), "%.*s", (int)len, word);
		r = 0;
		for (word = strtok_r(word + len, " ", &save); word && !r;
		     word = strtok_r(NULL, " ", &save))
			r = parse_word(word, out);
		scale(out, base_page_size);
	}
	free(copy);
	return r;
}

bool np_mapping_anonymous(const struct np_mapping *map)
{
	/* A private file mapping whose pages have all been written to has private pages only. */
	return !map->file || (map->total > 0 && map->anon >= map->total);
}

bool np_mapping_shm(const struct np_mapping *map)
{
	return map->hugetlb || (map->shm && !np_mapping_anonymous(map));
}

bool np_mapping_chosen(const char *policy, const char *task)
{
	char nodes[sizeof(((struct np_mapping *)0)->policy)];

	return strcmp(policy, task) && *np_mempolicy_chosen(policy, nodes, sizeof(nodes));
}

bool np_mapping_memory(const struct np_mapping *map)
{
	return np_mapping_anonymous(map) || np_mapping_shm(map);
}

int np_mapping_first(pid_t pid, struct np_mapping *map)
{
	char path[64], line[128];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/numa_maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	if (n <= 0)
		return -ESRCH;
	line[n] = '\0';
	return np_mapping_parse(line, sysconf(_SC_PAGESIZE), map);
}

int np_mappings(pid_t pid, uint64_t base_page_size,
		int (*each)(const struct np_mapping *map, void *arg), void *arg)
{
	struct np_mapping *map = malloc(sizeof(*map));
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/numa_maps", np_proc_memory_thread(pid));
	f = fopen(path, "re");
	if (!f || !map) {
		r = -errno;
		goto out;
	}
	setvbuf(f, NULL, _IOFBF, BUFFER); /* /proc's own block size is 1 KiB */
	errno = 0;
	while (!r && getline(&line, &size, f) >= 0) {
		r = np_mapping_parse(line, base_page_size, map);
		if (!r)
			r = each(map, arg);
		errno = 0;
	}
	if (!r && errno)
		r = -errno;
out:
	if (f)
		fclose(f);
	free(line);
	free(map);
	return r == -ENOENT ? -ESRCH : r;
}
