// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does one thing while the kernel fails this thread's N-th allocation from there on; see
 * Documentation/fault-injection in the kernel's tree, fail-nth. Reads lines
 *
 *	N write FILE LINE	writes LINE to FILE, which was opened before
 *	N open FILE		opens FILE as it is to be opened for migrate
 *	N read FILE		reads FILE, which was opened before, to its end
 *	N load FILE.ko		loads a module
 *	N unload NAME		unloads it
 *
 * and answers each with "ERRNO LEFT": 0 or the error, and what is left of N: 0 once an allocation
 * was failed. For N of 0 none is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail_nth;
static char reply[1 << 16];

static void die(const char *what)
{
	fprintf(stderr, "faults: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int must_open(const char *file, int flags)
{
	int fd = open(file, flags);

	if (fd < 0)
		die(file);
	return fd;
}

static void arm(unsigned int n)
{
	char text[16];

	if (pwrite(fail_nth, text, snprintf(text, sizeof(text), "%u", n), 0) < 0)
		die("fail-nth");
}

static unsigned int left(void)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 0)
		die("fail-nth");
	arm(0);
	return strtoul(text, NULL, 0);
}

struct result {
	int error;
	unsigned int left;
};

static struct result do_write(unsigned int n, const char *file, const char *line)
{
	int fd = must_open(file, O_WRONLY);
	size_t length = strlen(line);
	struct result r;

	arm(n);
	r.error = write(fd, line, length) == (ssize_t)length ? 0 : errno;
	r.left = left();
	close(fd);
	return r;
}

static struct result do_open(unsigned int n, const char *file)
{
	struct result r;
	int fd;

	arm(n);
	fd = open(file, O_RDWR);
	r.error = fd < 0 ? errno : 0;
	r.left = left();
	if (fd >= 0)
		close(fd);
	return r;
}

static struct result do_read(unsigned int n, const char *file)
{
	int fd = must_open(file, O_RDONLY);
	struct result r;
	ssize_t got;

	arm(n);
	while ((got = read(fd, reply, sizeof(reply))) > 0)
		;
	r.error = got < 0 ? errno : 0;
	r.left = left();
	close(fd);
	return r;
}

static struct result do_load(unsigned int n, const char *file)
{
	int fd = must_open(file, O_RDONLY);
	struct result r;
	struct stat st;
	void *image;

	if (fstat(fd, &st))
		die(file);
	image = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (image == MAP_FAILED)
		die(file);
	arm(n);
	r.error = syscall(SYS_init_module, image, st.st_size, "") ? errno : 0;
	r.left = left();
	munmap(image, st.st_size);
	close(fd);
	return r;
}

static struct result do_unload(unsigned int n, const char *name)
{
	struct result r;

	arm(n);
	r.error = syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
	r.left = left();
	return r;
}

int main(void)
{
	static char line[4096];
	char what[16], object[512];
	struct result r;
	unsigned int n;
	int past;

	setvbuf(stdout, NULL, _IOLBF, 0);
	fail_nth = must_open("/proc/thread-self/fail-nth", O_RDWR);
	/* A fault of this program's own pages must not be the one that is failed. */
	if (mlockall(MCL_CURRENT))
		die("mlockall");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%u %15s %511s %n", &n, what, object, &past) != 3)
			return 2;
		if (!strcmp(what, "write"))
			r = do_write(n, object, line + past);
		else if (!strcmp(what, "open"))
			r = do_open(n, object);
		else if (!strcmp(what, "read"))
			r = do_read(n, object);
		else if (!strcmp(what, "load"))
			r = do_load(n, object);
		else if (!strcmp(what, "unload"))
			r = do_unload(n, object);
		else
			return 2;
		printf("%d %u\n", r.error, r.left);
	}
	return 0;
}
