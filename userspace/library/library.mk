# SPDX-License-Identifier: GPL-2.0-only
# The library for other programs: shared and static, its headers, numaplace.pc. Documentation/reference/library.md.

# Callers allocate the structures of the headers, which may grow in every minor version before 1.0.
LIBRARY_SONAME := libnumaplace.so.$(basename $(VERSION))

LIBRARY_HEADERS := $(addprefix policies/,policy.h plan/plan.h model/model.h model/fields.def) \
	$(addprefix userspace/lib/,base/error.h base/cpulist.h host/topology.h host/tasks.h counters/counters.h \
		files/snapshot.h policy/policy_name.h predict/predict.h plan/task_limits.h plan/request.h \
		plan/plan_file.h)
LIBRARY_SYMBOLS := userspace/library/numaplace.map
LIBRARY := $(BUILD)/library
LIBRARY_OBJ := $(US_LIB_OBJ) $(POLICIES_OBJ)

LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include

$(LIBRARY)/libnumaplace.so: $(LIBRARY_OBJ) $(LIBRARY_SYMBOLS)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname,$(LIBRARY_SONAME) -Wl,--version-script,$(LIBRARY_SYMBOLS) -Wl,--no-undefined \
		-o $@ $(LIBRARY_OBJ) $(US_LIB_LIBS)

$(LIBRARY)/libnumaplace.a: $(LIBRARY_OBJ)
	@mkdir -p $(@D)
	$(RM) $@
	$(AR) rcs $@ $^

.PHONY: library install-library uninstall-library
library: $(LIBRARY)/libnumaplace.so $(LIBRARY)/libnumaplace.a	## libnumaplace, shared and static, for other programs

# The headers lie in one folder there, and include each other from it.
install-library: library	## libnumaplace, its headers and numaplace.pc; part of install
	install -D -m 755 $(LIBRARY)/libnumaplace.so $(DESTDIR)$(LIBDIR)/libnumaplace.so.$(VERSION)
	ln -sf libnumaplace.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(LIBRARY_SONAME)
	ln -sf $(LIBRARY_SONAME) $(DESTDIR)$(LIBDIR)/libnumaplace.so
	install -D -m 644 $(LIBRARY)/libnumaplace.a $(DESTDIR)$(LIBDIR)/libnumaplace.a
	install -D -m 644 -t $(DESTDIR)$(INCLUDEDIR)/numaplace $(LIBRARY_HEADERS)
	install -m 644 -t $(DESTDIR)$(INCLUDEDIR)/numaplace experiments/lab/region/numaplace_region.h
	sed -i 's|^\(.include "\).*/|\1|' $(addprefix $(DESTDIR)$(INCLUDEDIR)/numaplace/,$(notdir $(LIBRARY_HEADERS)))
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' userspace/library/numaplace.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/numaplace.pc

uninstall-library:		## part of uninstall
	rm -rf $(DESTDIR)$(INCLUDEDIR)/numaplace
	rm -f $(DESTDIR)$(LIBDIR)/libnumaplace.* $(DESTDIR)$(LIBDIR)/pkgconfig/numaplace.pc
