/* SPDX-License-Identifier: GPL-2.0-only */
/* A program to be acted upon by the tests inside the lab; target.c lists its commands. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUGE_SIZE   (2UL << 20)
#define SMALL_STACK (HUGE_SIZE / 8)

/*
 * The first words of a page are the threads' counters, the last of them that of all; then a
 * pattern.
 */
#define COUNTERS 64
#define COMMON	 (COUNTERS - 1)

/* The pages that the tests look at. n_words: how many words of each are used. */
extern char *memory;
extern size_t page_size, n_pages, n_words;

void die(const char *what) __attribute__((noreturn));

/* kinds.c: memory of a kind, and what must be in it */
#define NODE_BY_POLICY (-1)
void make_memory(const char *kind, int node);
size_t hold_by_pipe(size_t n, size_t of); /* n of every of pages; returns how many */
void set_policy(int mode, unsigned long nodes);
void bind_memory(unsigned long node);
void unbind(void);
char *map_aligned(size_t length, int flags, int fd);
void fill_pages(size_t first, size_t n);
size_t wrong_page(size_t first, size_t n); /* the first with wrong contents, or first + n */
void sync_memory(void);

/* threads.c: threads that count, read or sleep */
void use_small_stacks(void);
void start_counting(unsigned long n);
void start_reading(unsigned long n);
void start_reading_processes(unsigned long n);
void start_sleeping(void);
void start_sleepers(unsigned long n);
void start_spinning(unsigned long n);
void start_storm(void);
void start_allocating(void);
void say_allocations(void);
void say_thread_policy(unsigned long index);
void say_policy(int mode, unsigned long nodes);
void own_policy(int *mode, unsigned long *nodes);
void say_counters(void);
void say_readers(void);
void stop_counting(void);

/* disturb.c: changes of mappings while pages move */
void churn(unsigned long times);
void disturb(const char *how, size_t times);
void start_child(bool reads, bool outlives);
void start_brief_child(unsigned long us);
void start_tree(unsigned int depth, unsigned int width);

/* waits.c */
void start_reading_random(void);
void start_measuring(void);
void say_longest(void);
void start_napping(void);
void say_naps(void);
void start_handling(unsigned long number);
void say_signals(void);
void look_by_vfork(unsigned long times);

/* uffd.c */
void watch_faults(const char *what);
void say_faults(void);

/* uring.c */
void use_ring(const char *how);

#endif
