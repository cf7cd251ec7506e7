// SPDX-License-Identifier: GPL-2.0-only
#include "task_groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"

#define ESTABLISHED 1 /* in /proc/net/tcp and in unix_diag */
#define ADDRESS_LEN 64
#define REPLY_BYTES 32768
#define MAPPED_IPV4 \
	"0000000000000000FFFF0000" /* as /proc/net/tcp6 prints the words of ::ffff:0:0 */
#define MAPPED_CHARS 24

/* A descriptor of a task. */
struct end {
	unsigned long long inode;
	bool pipe, reads, writes; /* the last two mean something for pipes */
	size_t task;
};

/* An established TCP socket by its two addresses, the lesser first. */
struct tcp {
	char connection[2 * ADDRESS_LEN];
	unsigned long long inode;
};

struct scan {
	struct np_task *task;
	size_t n;
	size_t *parent; /* [n] of a forest whose trees are the groups */
	struct end *end;
	size_t n_ends, room;
	struct tcp *tcp;
	size_t n_tcp, tcp_room;
};

static size_t root(struct scan *s, size_t i)
{
	while (s->parent[i] != i)
		i = s->parent[i] = s->parent[s->parent[i]];
	return i;
}

/* Room for one more element. */
static int grow(void **array, size_t n, size_t *room, size_t size)
{
	void *larger;

	if (n < *room)
		return 0;
	larger = realloc(*array, (*room ? 2 * *room : 64) * size);
	if (!larger)
		return -ENOMEM;
	*array = larger;
	*room = *room ? 2 * *room : 64;
	return 0;
}

static int add_end(struct scan *s, size_t task, int dir, const char *name)
{
	struct end e = { .task = task };
	char link[64];
	ssize_t len = readlinkat(dir, name, link, sizeof(link) - 1);
	struct stat st;

	if (len < 0)
		return 0;
	link[len] = '\0';
	e.pipe = sscanf(link, "pipe:[%llu]", &e.inode) == 1;
	if (!e.pipe && sscanf(link, "socket:[%llu]", &e.inode) != 1)
		return 0;
	/* The link's own mode says how the descriptor was opened. */
	if (e.pipe && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		e.reads = st.st_mode & S_IRUSR;
		e.writes = st.st_mode & S_IWUSR;
	}
	if (grow((void **)&s->end, s->n_ends, &s->room, sizeof(e)))
		return -ENOMEM;
	s->end[s->n_ends++] = e;
	return 0;
}

static int add_ends(struct scan *s, size_t task)
{
	char path[64];
	struct dirent *one;
	DIR *dir;
	int e = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", s->task[task].pid);
	dir = opendir(path);
	while (dir && !e && (one = readdir(dir)))
		e = add_end(s, task, dirfd(dir), one->d_name);
	if (dir)
		closedir(dir);
	return e;
}

static int by_inode(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->pipe != y->pipe)
		return x->pipe ? 1 : -1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* The first end of a socket; NULL: no task of the set has it. */
static const struct end *socket_end(const struct scan *s, unsigned long long inode)
{
	struct end wanted = { .inode = inode };
	const struct end *at = s->n_ends ? bsearch(&wanted, s->end, s->n_ends, sizeof(wanted),
						   by_inode) :
					   NULL;

	while (at && at > s->end && !by_inode(at - 1, &wanted))
		at--;
	return at;
}

/* All that have one of two sockets, which are connected. */
static void join_sockets(struct scan *s, unsigned long long a, unsigned long long b)
{
	const struct end *x = socket_end(s, a), *y = socket_end(s, b), *last = s->end + s->n_ends;

	if (!x || !y)
		return;
	for (const struct end *at = x; at < last && !by_inode(at, x); at++)
		s->parent[root(s, at->task)] = root(s, y->task);
	for (const struct end *at = y; at < last && !by_inode(at, y); at++)
		s->parent[root(s, at->task)] = root(s, y->task);
}

/* Writers of a pipe that one of the set reads, and its readers. */
static void join_pipe(struct scan *s, const struct end *first, const struct end *behind)
{
	bool reads = false, writes = false;

	for (const struct end *at = first; at < behind; at++) {
		reads |= at->reads;
		writes |= at->writes;
	}
	for (const struct end *at = first; reads && writes && at < behind; at++)
		s->parent[root(s, at->task)] = root(s, first->task);
}

static void join_pipes(struct scan *s)
{
	const struct end *last = s->end + s->n_ends, *behind;

	for (const struct end *at = s->end; at < last; at = behind) {
		for (behind = at; behind < last && !by_inode(behind, at); behind++)
			;
		if (at->pipe)
			join_pipe(s, at, behind);
	}
}

/* An IPv4 address that a socket of IPv6 has is written as a socket of IPv4 has it. */
static const char *plain(const char *address)
{
	return strncmp(address, MAPPED_IPV4, MAPPED_CHARS) ? address : address + MAPPED_CHARS;
}

static int add_tcp(struct scan *s, const char *line)
{
	char local[ADDRESS_LEN - 8], remote[ADDRESS_LEN - 8], one[ADDRESS_LEN], other[ADDRESS_LEN];
	unsigned int local_port, remote_port, state;
	struct tcp *t;
	unsigned long long inode;

	if (sscanf(line, " %*d: %55[0-9A-F]:%x %55[0-9A-F]:%x %x %*s %*s %*s %*u %*u %llu", local,
		   &local_port, remote, &remote_port, &state, &inode) != 6 ||
	    state != ESTABLISHED || !socket_end(s, inode))
		return 0;
	if (grow((void **)&s->tcp, s->n_tcp, &s->tcp_room, sizeof(*s->tcp)))
		return -ENOMEM;
	t = &s->tcp[s->n_tcp++];
	t->inode = inode;
	snprintf(one, sizeof(one), "%.55s:%X", plain(local), local_port & 0xffff);
	snprintf(other, sizeof(other), "%.55s:%X", plain(remote), remote_port & 0xffff);
	if (strcmp(one, other) < 0)
		snprintf(t->connection, sizeof(t->connection), "%s %s", one, other);
	else
		snprintf(t->connection, sizeof(t->connection), "%s %s", other, one);
	return 0;
}

static int by_connection(const void *a, const void *b)
{
	return strcmp(((const struct tcp *)a)->connection, ((const struct tcp *)b)->connection);
}

/* Connections of a task's network namespace that have both ends in the set. */
static int join_tcp(struct scan *s, pid_t pid)
{
	char path[64], line[512];
	int e = 0;

	s->n_tcp = 0;
	for (int version = 0; !e && version < 2; version++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/net/tcp%s", pid, version ? "6" : "");
		f = fopen(path, "re");
		while (f && !e && fgets(line, sizeof(line), f))
			e = add_tcp(s, line);
		if (f)
			fclose(f);
	}
	if (s->n_tcp)
		qsort(s->tcp, s->n_tcp, sizeof(*s->tcp), by_connection);
	for (size_t i = 1; i < s->n_tcp; i++)
		if (!by_connection(&s->tcp[i - 1], &s->tcp[i]))
			join_sockets(s, s->tcp[i - 1].inode, s->tcp[i].inode);
	return e;
}

static ino_t namespace_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* Once for each network namespace. */
static int join_all_tcp(struct scan *s)
{
	ino_t *known = calloc(s->n, sizeof(*known));
	size_t n = 0;
	int e = known ? 0 : -ENOMEM;

	for (size_t i = 0; !e && i < s->n; i++) {
		ino_t here = namespace_of(s->task[i].pid);
		size_t at = 0;

		while (at < n && known[at] != here)
			at++;
		if (at < n || !here)
			continue;
		known[n++] = here;
		e = join_tcp(s, s->task[i].pid);
	}
	free(known);
	return e;
}

/* The sockets of one message of unix_diag. */
static void join_unix(struct scan *s, const struct nlmsghdr *h)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

	for (const struct rtattr *a = (const void *)(m + 1); RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == UNIX_DIAG_PEER)
			join_sockets(s, m->udiag_ino, *(const uint32_t *)RTA_DATA(a));
}

/* False at the end, or where the kernel has no unix_diag. */
static bool read_unix(struct scan *s, int fd)
{
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
	ssize_t len = recv(fd, reply, sizeof(reply), 0);
	unsigned int left = len > 0 ? (unsigned int)len : 0;

	for (const struct nlmsghdr *h = (const void *)reply; NLMSG_OK(h, left);
	     h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			return false;
		join_unix(s, h);
	}
	return len > 0;
}

static void join_all_unix(struct scan *s)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} ask = {
		.h = { .nlmsg_len = sizeof(ask),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.r = { .sdiag_family = AF_UNIX,
		       .udiag_states = 1 << ESTABLISHED,
		       .udiag_show = UDIAG_SHOW_PEER },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		return;
	if (send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask))
		while (read_unix(s, fd))
			;
	close(fd);
}

/* What it has written, by its CPU time; neither may be known. */
static struct np_known messages(const struct np_task *t)
{
	double cpu_s = 0, busy = t->busy.source == NP_PROVENANCE_NONE ? t->cores : t->busy.value;
	unsigned long long bytes;
	struct np_proc_stat st;
	char path[64], *text, *line;

	snprintf(path, sizeof(path), "/proc/%d/io", t->pid);
	text = np_read_file(path);
	line = text ? strstr(text, "wchar: ") : NULL;
	if (line && sscanf(line, "wchar: %llu", &bytes) == 1 && !np_proc_stat(t->pid, &st))
		cpu_s = (double)st.ticks / (double)sysconf(_SC_CLK_TCK);
	free(text);
	if (!(cpu_s > 0))
		return (struct np_known) { 0 };
	return (struct np_known) { (double)bytes / cpu_s * busy, NP_PROVENANCE_KERNEL };
}

static void number(struct scan *s)
{
	unsigned int next = 0;

	/* A tree of one is no group. */
	for (size_t i = 0; i < s->n; i++)
		if (root(s, i) != i && !s->task[root(s, i)].group)
			s->task[root(s, i)].group = ++next;
	for (size_t i = 0; i < s->n; i++)
		s->task[i].group = s->task[root(s, i)].group;
	for (size_t i = 0; i < s->n; i++)
		if (s->task[i].group)
			s->task[i].messages = messages(&s->task[i]);
}

int np_task_groups(struct np_task *task, size_t n)
{
	struct scan s = { .task = task, .n = n, .parent = calloc(n + 1, sizeof(size_t)) };
	int e = s.parent ? 0 : -ENOMEM;

	for (size_t i = 0; i < n; i++)
		task[i].group = 0;
	for (size_t i = 0; !e && i < n; i++) {
		s.parent[i] = i;
		e = add_ends(&s, i);
	}
	if (!e && s.n_ends) {
		qsort(s.end, s.n_ends, sizeof(*s.end), by_inode);
		join_pipes(&s);
		e = join_all_tcp(&s);
	}
	if (!e && s.n_ends)
		join_all_unix(&s);
	if (!e)
		number(&s);
	free(s.parent);
	free(s.end);
	free(s.tcp);
	return e;
}
