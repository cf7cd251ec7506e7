// SPDX-License-Identifier: GPL-2.0-only
/* The first level, the prefetcher, the decoder, the configuration: each on its own. */
#include "fixture.h"

#define V 0x7f1234567000ull

TEST(a_line_is_hit_as_far_as_it_may_be_used)
{
	static struct np_l1 l1;
	bool writable;

	np_l1_init(&l1, 8, 6);
	CU_ASSERT(!np_l1_hit(&l1, 640, false, &writable));
	np_l1_fill(&l1, 640, false, false);
	CU_ASSERT(np_l1_hit(&l1, 640, false, &writable));
	CU_ASSERT(!writable);
	CU_ASSERT(!np_l1_hit(&l1, 640, true, &writable));
	CU_ASSERT(!np_l1_hit(&l1, 640 + 64, false, &writable)); /* of the same set */
	np_l1_fill(&l1, 640, true, true);
	CU_ASSERT(np_l1_hit(&l1, 640, true, &writable));
	CU_ASSERT(writable);
	np_l1_drop(&l1, 640);
	CU_ASSERT(!np_l1_hit(&l1, 640, false, &writable));
}

TEST(an_instruction_finds_its_line_again)
{
	static struct np_l1 l1;

	np_l1_init(&l1, 8, 6);
	CU_ASSERT(!np_l1_again(&l1, 3, V, false));
	np_l1_remember(&l1, 3, V, false);
	CU_ASSERT(np_l1_again(&l1, 3, V + 63, false));
	CU_ASSERT(!np_l1_again(&l1, 3, V, true));
	CU_ASSERT(!np_l1_again(&l1, 3, V + 64, false));
	CU_ASSERT(!np_l1_again(&l1, 3, V - 64, false));
	CU_ASSERT(!np_l1_again(&l1, 4, V, false));
	np_l1_remember(&l1, 3, V, true);
	CU_ASSERT(np_l1_again(&l1, 3, V, true));
	CU_ASSERT(np_l1_again(&l1, 3, V, false));
	np_l1_new_epoch(&l1);
	CU_ASSERT(!np_l1_again(&l1, 3, V, false));
	np_l1_remember(&l1, 3, V, true);
	np_l1_fill(&l1, 640, true, true);
	np_l1_drop(&l1, 640);
	CU_ASSERT(!np_l1_again(&l1, 3, V, false));
}

TEST(a_line_that_another_instruction_has_used)
{
	static struct np_l1 l1;

	np_l1_init(&l1, 8, 6);
	CU_ASSERT(!np_l1_shared(&l1, 4, V, false));
	np_l1_remember(&l1, 3, V, false);
	CU_ASSERT(!np_l1_shared(&l1, 4, V, true));
	CU_ASSERT(!np_l1_shared(&l1, 4, V + 64, false));
	CU_ASSERT(!np_l1_shared(&l1, 4, V - 64, false));
	CU_ASSERT(np_l1_shared(&l1, 4, V + 63, false));
	CU_ASSERT(np_l1_again(&l1, 4, V, false));
	CU_ASSERT(!np_l1_again(&l1, 4, V, true));
	np_l1_remember(&l1, 3, V, true);
	CU_ASSERT(np_l1_shared(&l1, 5, V, true));
	np_l1_new_epoch(&l1);
	CU_ASSERT(!np_l1_shared(&l1, 4, V, false));
}

/* One line's way is taken after 8 others of its set; an eighth of 8 lines is recorded. */
TEST(a_small_cache_records_few_lines)
{
	static struct np_l1 l1;

	np_l1_init(&l1, 8, NP_PAGE_SHIFT);
	np_l1_remember(&l1, 3, V, true);
	np_l1_remember(&l1, 3, V + (1 << NP_PAGE_SHIFT), true);
	CU_ASSERT(!np_l1_shared(&l1, 4, V, false));
	CU_ASSERT(np_l1_shared(&l1, 4, V + (1 << NP_PAGE_SHIFT), false));
}

/* Misses prefetched of 3000, in `streams` interleaved sequences. */
static unsigned int prefetched(int step, unsigned int streams)
{
	struct np_prefetcher s = { 0 };
	unsigned int n = 0;

	for (int i = 0; i < 3000; i++)
		n += np_prefetch_miss(&s,
				      1000000ll * (1 + i % streams) + (int)(i / streams) * step);
	return n;
}

TEST(equal_steps_are_prefetched)
{
	CU_ASSERT(prefetched(1, 1) >= 2990);
	CU_ASSERT(prefetched(-1, 1) >= 2990);
	CU_ASSERT(prefetched(4, 3) >= 2980);
	CU_ASSERT(prefetched(1, NP_PREFETCH_STREAMS) >= 2900);
	CU_ASSERT_EQUAL(prefetched(1, NP_PREFETCH_STREAMS + 1), 0);
	CU_ASSERT_EQUAL(prefetched(NP_PREFETCH_REACH + 1, 1), 0);
}

TEST(random_lines_are_not_prefetched)
{
	struct np_prefetcher s = { 0 };
	unsigned int n = 0;

	srand(3);
	for (int i = 0; i < 100000; i++)
		n += np_prefetch_miss(&s, rand() % 1000000);
	CU_ASSERT(n < 100);
}

TEST(instructions_are_recognised)
{
	static const struct {
		enum np_decoded kind;
		const char *code;
		size_t len;
	} table[] = {
		{ NP_DECODE_MARKER, "\x0f\x1f\x80\x01\x00\x70\x6e", 7 },
		{ NP_DECODE_MARKER, "\x0f\x1f\x80\x05\x00\x70\x6e", 7 },
		{ NP_DECODE_OTHER, "\x0f\x1f\x80\x00\x00\x70\x6e", 7 },
		{ NP_DECODE_OTHER, "\x0f\x1f\x80\x06\x00\x70\x6e", 7 },
		{ NP_DECODE_OTHER, "\x0f\x1f\x80\x00\x00\x00\x00", 7 },	  /* the compiler's nopl */
		{ NP_DECODE_NONTEMPORAL, "\x0f\xc3\x07", 3 },		  /* movnti %eax,(%rdi) */
		{ NP_DECODE_NONTEMPORAL, "\x48\x0f\xc3\x47\x08", 5 },	  /* movnti %rax,8(%rdi) */
		{ NP_DECODE_NONTEMPORAL, "\x0f\x2b\x07", 3 },		  /* movntps */
		{ NP_DECODE_NONTEMPORAL, "\x66\x0f\xe7\x07", 4 },	  /* movntdq */
		{ NP_DECODE_NONTEMPORAL, "\xc5\xfd\xe7\x07", 4 },	  /* vmovntdq %ymm0 */
		{ NP_DECODE_NONTEMPORAL, "\xc5\xfc\x2b\x07", 4 },	  /* vmovntps %ymm0 */
		{ NP_DECODE_NONTEMPORAL, "\xc4\xc1\x7d\xe7\x00", 5 },	  /* vmovntdq %ymm0,(%r8) */
		{ NP_DECODE_NONTEMPORAL, "\x62\xf1\x7d\x48\xe7\x07", 6 }, /* vmovntdq %zmm0 */
		{ NP_DECODE_OTHER, "\xf3\x0f\xe6\xc0", 4 },		  /* cvtdq2pd */
		{ NP_DECODE_OTHER, "\xc5\xfd\x7f\x07", 4 },		  /* vmovdqa store */
		{ NP_DECODE_OTHER, "\x48\x89\x07", 3 },			  /* mov %rax,(%rdi) */
		{ NP_DECODE_OTHER, "\xc3", 1 },				  /* ret */
		{ NP_DECODE_NEW_TRANSLATIONS, "\x0f\x22\xd8", 3 },	  /* mov %rax,%cr3 */
		{ NP_DECODE_NEW_TRANSLATIONS, "\x41\x0f\x22\xd8", 4 },	  /* mov %r8,%cr3 */
		{ NP_DECODE_NEW_TRANSLATIONS, "\x0f\x22\xe0", 3 },	  /* mov %rax,%cr4 */
		{ NP_DECODE_OTHER, "\x0f\x22\xd0", 3 },			  /* mov %rax,%cr2 */
		{ NP_DECODE_OTHER, "\x0f\x20\xd8", 3 },			  /* mov %cr3,%rax */
		{ NP_DECODE_NEW_TRANSLATIONS, "\x0f\x01\x3f", 3 },	  /* invlpg (%rdi) */
		{ NP_DECODE_OTHER, "\x0f\x01\xf9", 3 },			  /* rdtscp */
		{ NP_DECODE_NEW_TRANSLATIONS, "\x66\x0f\x38\x82\x07", 5 }, /* invpcid */
		{ NP_DECODE_PAUSE, "\xf3\x90", 2 },
		{ NP_DECODE_HALT, "\xf4", 1 },
		{ NP_DECODE_OTHER, "\x0f\xf4\xc1", 3 }, /* pmuludq */
		{ NP_DECODE_OTHER, "\x90", 1 },
		{ NP_DECODE_OTHER, "\x66\x66\x66\x66", 4 }, /* prefixes alone */
		{ NP_DECODE_OTHER, "\x62\xf1\x7d", 3 },	    /* cut short */
		{ NP_DECODE_OTHER, "\x0f", 1 },
		{ NP_DECODE_OTHER, "", 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		CU_ASSERT_EQUAL(np_decode_kind((const uint8_t *)table[i].code, table[i].len),
				table[i].kind);
}

TEST(a_load_of_cr3_names_its_register)
{
	static const struct {
		int number;
		const char *code;
		size_t len;
	} table[] = {
		{ 0, "\x0f\x22\xd8", 3 },      /* mov %rax,%cr3 */
		{ 3, "\x0f\x22\xdb", 3 },      /* mov %rbx,%cr3 */
		{ 8, "\x41\x0f\x22\xd8", 4 },  /* mov %r8,%cr3 */
		{ 15, "\x41\x0f\x22\xdf", 4 }, /* mov %r15,%cr3 */
		{ -1, "\x0f\x22\xe0", 3 },     /* mov %rax,%cr4 */
		{ -1, "\x0f\x20\xd8", 3 },     /* mov %cr3,%rax */
		{ -1, "\x0f\x01\x3f", 3 },     /* invlpg (%rdi) */
		{ -1, "", 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		CU_ASSERT_EQUAL(np_decode_cr3((const uint8_t *)table[i].code, table[i].len),
				table[i].number);
}

TEST(repeated_instructions_are_recognised)
{
	static const struct {
		unsigned int accesses; /* 0: not one */
		const char *code;
		size_t len;
	} table[] = {
		{ 2, "\xf3\x48\xa5", 3 },	  /* rep movsq */
		{ 2, "\xf3\xa4", 2 },		  /* rep movsb */
		{ 2, "\x66\xf3\xa5", 3 },	  /* rep movsw */
		{ 2, "\xf3\x66\xa5", 3 },	  /* rep movsw */
		{ 1, "\xf3\x48\xab", 3 },	  /* rep stosq */
		{ 1, "\xf3\x67\xaa", 3 },	  /* rep stosb (%edi) */
		{ 1, "\xf3\xac", 2 },		  /* rep lodsb */
		{ 2, "\xf3\xa6", 2 },		  /* repe cmpsb */
		{ 1, "\xf2\xae", 2 },		  /* repne scasb */
		{ 1, "\xf3\x6d", 2 },		  /* rep insl */
		{ 1, "\xf3\x6f", 2 },		  /* rep outsl */
		{ 0, "\x48\xa5", 2 },		  /* movsq */
		{ 0, "\xf3\x0f\xa4\xc0\x01", 5 }, /* shld */
		{ 0, "\xf3\xc3", 2 },		  /* rep ret */
		{ 0, "\xf3", 1 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const uint8_t *code = (const uint8_t *)table[i].code;

		CU_ASSERT_EQUAL(np_decode_kind(code, table[i].len) == NP_DECODE_REP,
				table[i].accesses > 0);
		CU_ASSERT_EQUAL(np_decode_round(code, table[i].len),
				table[i].accesses ? table[i].accesses : 1);
	}
}

/* Rounds that are counted beside the block's, entered for each round or once for all. */
static unsigned int rounds_beside(unsigned int rounds, unsigned int accesses,
				  unsigned int per_entry)
{
	struct np_rounds r = { 0 };
	unsigned int beside = 0;

	for (unsigned int round = 0; round < rounds; round++) {
		if (round % per_entry == 0)
			np_rounds_begin(&r, accesses);
		for (unsigned int i = 0; i < accesses; i++)
			beside += np_rounds_next(&r, accesses);
	}
	return beside;
}

TEST(each_round_is_an_instruction)
{
	for (unsigned int accesses = 1; accesses <= 2; accesses++) {
		CU_ASSERT_EQUAL(rounds_beside(512, accesses, 1), 0);
		CU_ASSERT_EQUAL(rounds_beside(512, accesses, 512), 511);
		CU_ASSERT_EQUAL(rounds_beside(1024, accesses, 256), 1020);
		CU_ASSERT_EQUAL(rounds_beside(1, accesses, 1), 0);
	}
}

TEST(addresses_find_their_node_around_a_hole)
{
	struct np_config c;
	char err[256];
	uint64_t line;

	CU_ASSERT_EQUAL_FATAL(read_text(CONFIG, &c, err, sizeof(err)), 0);
	CU_ASSERT_EQUAL(np_config_node(&c, 0, &line), 0);
	CU_ASSERT_EQUAL(line, 0);
	CU_ASSERT_EQUAL(np_config_node(&c, 0xffffff, &line), 0);
	CU_ASSERT_EQUAL(line, NODE_LINES - 1);
	CU_ASSERT_EQUAL(np_config_node(&c, 0x1000000, &line), -1);
	CU_ASSERT_EQUAL(np_config_node(&c, 0x100000000, &line), 1);
	CU_ASSERT_EQUAL(line, NODE_LINES);
	CU_ASSERT_EQUAL(np_config_line_node(&c, NODE_LINES - 1), 0);
	CU_ASSERT_EQUAL(np_config_line_node(&c, NODE_LINES), 1);
}

/* One line that ends with `why`. */
static void refused(const char *text, const char *why)
{
	struct np_config c;
	char err[512] = "";

	CU_ASSERT_EQUAL(read_text(text, &c, err, sizeof(err)), -1);
	if (!strstr(err, why) || strchr(err, '\n')) {
		printf("\n'%s' instead of '%s'", err, why);
		CU_FAIL("the reason");
	}
}

TEST(broken_files_are_refused_with_the_line)
{
	refused("nonsense\n", ":1: 'nonsense' is not key=value");
	refused("# a comment\n\nspeed=3\n", ":3: there is no setting 'speed' with 1 numbers");
	refused("cpu_node=0,99\n", ":1: cpu_node: 99 is not a node from 0 to 31");
	refused("cpu_node=\n", ":1: cpu_node needs the node of each");
	refused("core=-1 2\n", ":1: core: not up to 5 numbers");
	refused("core=2000\n", "there is no setting 'core' with 1 numbers");
	refused("core=2000 99\n", "core needs 1 to 100000 MHz");
	refused("line=60\n", "line must be 16, 32, 64, 128 or 256 bytes");
	refused("l1=5000\n", "l1 needs 4096 to 65536 bytes");
	refused("llc=4096 99 1\n", "a cache needs 4096 to 1e9 bytes, 1 to 64 ways");
	refused("ram=0 0x1000 0x1000\n", "start < end in whole pages");
	refused("ram=0 0x1000 0x3000\nram=1 0x2000 0x4000\n", ":2: ram ranges must be sorted");
	refused("quantum=1\n", "100 to 1e9 ns");
	refused("", "needs shared");
	refused(CONFIG "# more\nnode 1 core_outstanding=x\n", ": line 15: ");
	refused(CONFIG "ram=2 0x200000000 0x200001000\n", "no node line for node 2");
	refused(CONFIG "l2=4096 64 1\nl2=4096 65 1\n", "1 to 64 ways");
	refused("tlb=64 32 4097 0 3\n", "a TLB has up to 4096 entries");
	refused("tlb=64 32.5 512 0 3\n", "a TLB has up to 4096 entries");
	refused("tlb=64 0 512 0 3\n", "entries for large pages in its first level");
}
