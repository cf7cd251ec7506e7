# SPDX-License-Identifier: GPL-2.0-only
# build/libpolicies.a, and its tests, also under the address and undefined-behaviour sanitizers.

POLICIES_SRC := $(wildcard policies/*.c)
POLICIES_TEST_SRC := $(wildcard policies/tests/*.c)
POLICIES_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -MMD -MP -Ipolicies
POLICIES_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

LIBPOLICIES := $(BUILD)/libpolicies.a
POLICIES_OBJ := $(POLICIES_SRC:%.c=$(BUILD)/%.o)
POLICIES_TEST_OBJ := $(POLICIES_TEST_SRC:%.c=$(BUILD)/%.o)
POLICIES_ASAN_OBJ := $(POLICIES_OBJ:$(BUILD)/%=$(BUILD)/asan/%)
POLICIES_TEST_ASAN_OBJ := $(POLICIES_TEST_OBJ:$(BUILD)/%=$(BUILD)/asan/%)

$(LIBPOLICIES): $(POLICIES_OBJ)
	$(RM) $@
	$(AR) rcs $@ $^

$(BUILD)/policies/%.o: policies/%.c
	@mkdir -p $(@D)
	$(CC) $(POLICIES_CFLAGS) -c -o $@ $<

$(BUILD)/asan/policies/%.o: policies/%.c
	@mkdir -p $(@D)
	$(CC) $(POLICIES_CFLAGS) $(POLICIES_SANITIZE) -c -o $@ $<

$(BUILD)/tests/test_policies: $(POLICIES_TEST_OBJ) $(LIBPOLICIES)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcunit -lm

$(BUILD)/asan/test_policies: $(POLICIES_TEST_ASAN_OBJ) $(POLICIES_ASAN_OBJ)
	@mkdir -p $(@D)
	$(CC) $(POLICIES_SANITIZE) -o $@ $^ -lcunit -lm

-include $(POLICIES_OBJ:.o=.d) $(POLICIES_TEST_OBJ:.o=.d)
-include $(POLICIES_ASAN_OBJ:.o=.d) $(POLICIES_TEST_ASAN_OBJ:.o=.d)
