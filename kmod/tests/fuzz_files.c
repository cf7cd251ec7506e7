// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the module's debugfs files: writers draw lines from a grammar, with boundary and broken
 * values, and read, keep, inherit and close descriptors in odd ways, while the tasks that they
 * place start, end, execute and choose CPUs and memory policies of their own.
 *
 * fuzz_files grammar	the files with their keys and the errors that they may give
 * fuzz_files SEED WRITERS OPERATIONS UNLOADS MODULE.ko
 *
 * What a writer does in its n-th operation follows from the seed, its number and n. The module is
 * removed and loaded UNLOADS times between, and once at the end; then every task looks at its own
 * CPUs and policy. Prints what was found, and last a line of JSON. Ends with 1 if anything was.
 */
#include "fuzz_files.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define DIR	 "/sys/kernel/debug/numaplace/"
#define KEPT	 4 /* descriptors that a writer keeps open */
#define READABLE 4
#define LIMIT_S	 300 /* for one operation; only what hangs comes up to it */

struct fuzz_shared *shared;

static const char *const readable[READABLE] = { "version", "placements", "stats", "migrate" };
static int kept[KEPT] = { -1, -1, -1, -1 };
static unsigned int kept_file[KEPT];
static unsigned int writer;
static int own_policy; /* index into fuzz_policies */

unsigned long fuzz_random(struct fuzz_draw *draw, unsigned long below)
{
	/* splitmix64 */
	unsigned long z = draw->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) % below;
}

struct fuzz_draw fuzz_seed(unsigned long seed, unsigned long who, unsigned long n)
{
	struct fuzz_draw draw = { .state = (seed << 40) ^ (who << 32) ^ n };

	draw.state = fuzz_random(&draw, -1UL);
	return draw;
}

/* Notes what is wrong; the first lines are kept. */
void fuzz_found(const char *format, ...)
{
	unsigned int i = __atomic_fetch_add(&shared->n_found, 1, __ATOMIC_SEQ_CST);
	va_list args;

	if (i >= FUZZ_FOUND)
		return;
	shared->found_at[i] = shared->operations;
	va_start(args, format);
	vsnprintf(shared->found[i], sizeof(shared->found[i]), format, args);
	va_end(args);
}

static void escape(char *to, size_t size, const struct fuzz_line *line)
{
	size_t i, n = 0;

	for (i = 0; i < line->n && n + 5 < size; i++) {
		unsigned char c = line->text[i];

		n += snprintf(to + n, size - n, c < ' ' || c > '~' ? "\\x%02x" : "%c", c);
	}
	to[n] = '\0';
}

/* The errors that a write may give. A line without claims is valid, but for address ranges. */
static unsigned long may_give(unsigned int file, const struct fuzz_line *line)
{
	unsigned long errors = fuzz_files[file].errors & ~(BIT(E2BIG) | BIT(EFAULT));

	if (line->claims)
		return line->claims;
	return file == FUZZ_MIGRATE ? errors : errors & ~BIT(EINVAL);
}

static void judge(unsigned int file, const struct fuzz_line *line, unsigned long n, ssize_t done,
		  int error)
{
	unsigned long errors = may_give(file, line);
	char text[160];

	__atomic_fetch_add(&shared->errors[file][error], 1, __ATOMIC_RELAXED);
	if (done >= 0 && (size_t)done == line->n && !line->claims)
		return;
	if (done < 0 && errors & BIT(error))
		return;
	escape(text, sizeof(text), line);
	fuzz_found("writer %u operation %lu: %s (%zu bytes): %s: result %zd error %d, not of %#lx",
		   writer, n, fuzz_files[file].name, line->n, text, done, error, errors);
}

static ssize_t write_oddly(struct fuzz_draw *draw, int fd, unsigned int file,
			   struct fuzz_line *line)
{
	struct iovec parts[2] = { { line->text, line->n }, { NULL, 0 } };

	switch (fuzz_random(draw, 12)) {
	case 0:
		if (file == FUZZ_MIGRATE) /* as each that is read by seq_file */
			line->claims = BIT(ESPIPE);
		return pwrite(fd, line->text, line->n, fuzz_random(draw, 1 << 20));
	case 1:
		return line->n ? writev(fd, parts, 2) : write(fd, line->text, 0);
	case 2:
		if (line->n && line->n <= 4096)
			line->claims = BIT(EFAULT);
		return write(fd, line->n ? (void *)8 : line->text, line->n);
	default:
		return write(fd, line->text, line->n);
	}
}

static void write_line(struct fuzz_draw *draw, unsigned long n, int fd, unsigned int file)
{
	static struct fuzz_line line;
	ssize_t done;

	fuzz_line(draw, &line, file);
	done = write_oddly(draw, fd, file, &line);
	judge(file, &line, n, done, done < 0 ? errno : 0);
}

/*
 * Opens nothing while delete_module(2) runs: the kernel takes a module's last reference before it
 * calls it going (try_stop_module()), and debugfs warns of what it opens between the two. Waits
 * until the module is there again, where it is being removed and loaded.
 */
static int open_file(const char *name, int flags)
{
	unsigned int tries = 0;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), DIR "%s", name);
	for (;;) {
		pthread_rwlock_rdlock(&shared->opening);
		fd = open(path, flags);
		pthread_rwlock_unlock(&shared->opening);
		if (fd >= 0)
			return fd;
		if ((errno != ENOENT && errno != ENXIO && errno != ENODEV) ||
		    (!shared->unloading && tries++ > 1000))
			break;
		usleep(1000);
	}
	fuzz_found("writer %u: open %s: %s", writer, name, strerror(errno));
	return fd;
}

static void drop_kept(unsigned int i)
{
	if (kept[i] >= 0)
		close(kept[i]);
	kept[i] = -1;
}

static void write_file(struct fuzz_draw *draw, unsigned long n)
{
	unsigned int file = fuzz_random(draw, FUZZ_FILES), i = fuzz_random(draw, KEPT);
	int fd = open_file(fuzz_files[file].name,
			   fuzz_random(draw, 4) ? O_RDWR : O_RDWR | O_APPEND);
	unsigned int lines = fuzz_random(draw, 4) ? 1 : 3;

	if (fd < 0)
		return;
	while (lines--)
		write_line(draw, n, fd, file);
	if (fuzz_random(draw, 6)) {
		close(fd);
		return;
	}
	drop_kept(i);
	kept[i] = fd;
	kept_file[i] = file;
}

/* With a child that has the same descriptors. */
static void write_kept(struct fuzz_draw *draw, unsigned long n)
{
	unsigned int i = fuzz_random(draw, KEPT);
	pid_t child = fuzz_random(draw, 3) ? -1 : fork();

	if (!child)
		*draw = fuzz_seed(draw->state, writer, n);
	if (kept[i] >= 0)
		write_line(draw, n, kept[i], kept_file[i]);
	if (!child)
		_exit(0);
	if (fuzz_random(draw, 2))
		drop_kept(i);
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void read_file(struct fuzz_draw *draw)
{
	static const size_t sizes[] = { 0, 1, 7, 64, 4096, 65536 };
	static char text[65536];
	int fd = open_file(readable[fuzz_random(draw, READABLE)], O_RDONLY);
	size_t size = sizes[fuzz_random(draw, 6)];
	unsigned int times = fuzz_random(draw, 20);
	ssize_t got = 1;

	if (fd < 0)
		return;
	if (!fuzz_random(draw, 4))
		lseek(fd, (long)fuzz_random(draw, 5000) - 100, fuzz_random(draw, 3));
	while (times-- && got > 0)
		got = read(fd, text, size);
	if (got < 0)
		fuzz_found("writer %u: read: %s", writer, strerror(errno));
	if (!fuzz_random(draw, 4) &&
	    pread(fd, text, size, 1UL << fuzz_random(draw, 62)) > (long)size)
		fuzz_found("writer %u: read more than was asked for", writer);
	close(fd);
}

/* What the files do not have. */
static void misuse(struct fuzz_draw *draw)
{
	const char *name = readable[fuzz_random(draw, READABLE)];
	int fd = open_file(name, fuzz_random(draw, 2) ? O_RDWR : O_RDWR | O_TRUNC);
	struct pollfd one = { .fd = fd, .events = POLLIN | POLLOUT };
	void *mapped;

	if (fd < 0)
		return;
	poll(&one, 1, 0);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped != MAP_FAILED)
		fuzz_found("writer %u: %s can be mapped", writer, name);
	if (strcmp(name, "migrate") && write(fd, "pid=1", 5) >= 0)
		fuzz_found("writer %u: %s can be written", writer, name);
	close(dup(fd));
	close(fd);
}

static void kill_target(struct fuzz_draw *draw)
{
	pid_t pid = shared->target[fuzz_random(draw, FUZZ_TARGETS)];

	if (pid > 0)
		kill(pid, SIGKILL);
}

static void operate(unsigned long seed, unsigned long n)
{
	struct fuzz_draw draw = fuzz_seed(seed, writer, n);
	unsigned int i, what = fuzz_random(&draw, 20);

	for (i = 0; shared->unloading && i < KEPT; i++)
		drop_kept(i);
	if (shared->unloading)
		usleep(fuzz_random(&draw, 4000));
	if (what < 11) {
		write_file(&draw, n);
	} else if (what < 14) {
		write_kept(&draw, n);
	} else if (what < 17) {
		read_file(&draw);
	} else if (what < 18) {
		misuse(&draw);
	} else if (what < 19) {
		own_policy = fuzz_random(&draw, FUZZ_POLICIES);
		fuzz_set_policy(own_policy);
	} else if (fuzz_random(&draw, 2)) {
		kill_target(&draw);
	}
}

static void write_until(unsigned long seed, unsigned long operations)
{
	struct fuzz_own own = {};
	unsigned long n;
	unsigned int i;

	for (n = 0; n < operations; n++) {
		alarm(LIMIT_S);
		operate(seed, n);
		__atomic_fetch_add(&shared->operations, 1, __ATOMIC_RELAXED);
	}
	alarm(0);
	for (i = 0; i < KEPT; i++)
		drop_kept(i);
	__atomic_fetch_add(&shared->writers_done, 1, __ATOMIC_SEQ_CST);
	own.policy = own_policy;
	fuzz_end(&own, "writer");
}

static void load(const char *module)
{
	int fd = open(module, O_RDONLY);

	if (syscall(SYS_finit_module, fd, "", 0))
		fuzz_found("the module cannot be loaded: %s", strerror(errno));
	close(fd);
	shared->unloading = 0;
}

/* Starts targets that have ended, and shows in the kernel's log how far it has come. */
static void tend(unsigned long seed, unsigned long *started)
{
	static unsigned long shown;
	unsigned int i;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			fuzz_found("process %d was ended by signal %d", pid, WTERMSIG(status));
		for (i = 0; i < FUZZ_TARGETS; i++)
			if (shared->target[i] == pid && !shared->calm)
				shared->target[i] = fuzz_start_target(seed, i, ++*started);
	}
	if (shared->operations / 100 != shown) {
		FILE *log = fopen("/dev/kmsg", "w");

		shown = shared->operations / 100;
		if (log) {
			fprintf(log, "fuzz_files: seed %lu: %lu operations\n", seed, shown * 100);
			fclose(log);
		}
	}
	usleep(1000);
}

/* The writers close what they keep open; so does whoever reads a file at the moment. */
static void unload(unsigned long seed, unsigned long *started)
{
	int tries, error;

	shared->unloading = 1;
	for (tries = 0; tries < 20000; tries++) {
		pthread_rwlock_wrlock(&shared->opening);
		error = syscall(SYS_delete_module, "numaplace", O_NONBLOCK) ? errno : 0;
		pthread_rwlock_unlock(&shared->opening);
		if (error != EAGAIN)
			break;
		tend(seed, started);
	}
	if (error)
		fuzz_found("the module cannot be removed: %s", strerror(error));
}

static void restore_all(void)
{
	int tries, fd = open_file("restore", O_WRONLY);

	for (tries = 0; tries < 10; tries++) {
		if (write(fd, "all", 3) == 3)
			break;
		if (errno != EBUSY || tries == 9)
			fuzz_found("restore all: %s", strerror(errno));
	}
	close(fd);
}

static void print_results(unsigned long seed, unsigned int writers)
{
	unsigned int i, error;

	for (i = 0; i < shared->n_found && i < FUZZ_FOUND; i++)
		printf("found after %lu operations: %s\n", shared->found_at[i], shared->found[i]);
	printf("{\"seed\": %lu, \"writers\": %u, \"operations\": %lu, ", seed, writers,
	       shared->operations);
	printf("\"unloads\": %u, \"checked_tasks\": %u, \"found\": %u", shared->unloads,
	       shared->checked, shared->n_found);
	for (i = 0; i < FUZZ_FILES; i++) {
		const char *comma = "";

		printf(", \"%s\": {", fuzz_files[i].name);
		for (error = 0; error < FUZZ_ERRORS; error++) {
			if (!shared->errors[i][error])
				continue;
			printf("%s\"%s\": %lu", comma, error ? strerrorname_np(error) : "0",
			       shared->errors[i][error]);
			comma = ", ";
		}
		printf("}");
	}
	printf("}\n");
}

/* The tasks look at what they have, and end. */
static void check_all(unsigned long seed, unsigned long *started, const char *module)
{
	int status;

	tend(seed, started);
	shared->calm = 1;
	usleep(20000);
	alarm(LIMIT_S);
	if (seed & 1)
		restore_all();
	unload(seed, started);
	shared->check = 1;
	while (waitpid(-1, &status, 0) > 0)
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			fuzz_found("a process was ended by signal %d", WTERMSIG(status));
	load(module);
	alarm(0);
}

static void share_lock(void)
{
	pthread_rwlockattr_t a;

	pthread_rwlockattr_init(&a);
	pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&shared->opening, &a);
}

static int fuzz(char **argv)
{
	unsigned long seed = strtoul(argv[1], NULL, 0), operations = strtoul(argv[3], NULL, 0);
	unsigned int writers = atoi(argv[2]), unloads = atoi(argv[4]);
	unsigned long started = 0, total = operations * writers;
	unsigned int i;

	fuzz_share();
	share_lock();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (i = 0; i < FUZZ_TARGETS; i++)
		shared->target[i] = fuzz_start_target(seed, i, ++started);
	for (writer = 0; writer < writers; writer++)
		if (!fork())
			write_until(seed, operations);
	while (shared->writers_done < writers && shared->n_found < FUZZ_FOUND) {
		tend(seed, &started);
		if (shared->operations > total / (unloads + 1) * (shared->unloads + 1) &&
		    shared->unloads < unloads) {
			unload(seed, &started);
			load(argv[5]);
			shared->unloads++;
		}
	}
	check_all(seed, &started, argv[5]);
	print_results(seed, writers);
	return shared->n_found > 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "grammar"))
		fuzz_print_grammar();
	else if (argc == 7 && !strcmp(argv[1], "target"))
		fuzz_go_on(argv + 2);
	else if (argc == 6)
		return fuzz(argv);
	else
		return 2;
	return 0;
}
