# SPDX-License-Identifier: GPL-2.0-only
# Work stealing on oneTBB.

STEALING_OBJ := $(addprefix $(EXP_OBJ)/stealing/,np_steal.o runtime.o cilksort.o heat.o transpose.o matmul.o)
STEALING_FLAGS := -std=gnu++20 -O3 -g -Wall -Wextra -Werror -ffp-contract=off

$(EXP_OBJ)/stealing/%.o: experiments/workloads/stealing/%.cc experiments/workloads/stealing/stealing.mk
	@mkdir -p $(@D)
	$(CXX) $(STEALING_FLAGS) $(EXP_DEFINES) -MMD -MP -c -o $@ $<

$(BUILD)/np-steal: $(STEALING_OBJ) $(EXP_OBJ)/pages.o $(EXP_OBJ)/emit.o
	$(CXX) -o $@ $^ -pthread -ltbb -lnuma -ljansson

-include $(STEALING_OBJ:.o=.d)

.PHONY: tools
tools: $(BUILD)/np-steal
