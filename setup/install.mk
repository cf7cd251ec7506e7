# SPDX-License-Identifier: GPL-2.0-only
# What works without the tree, below PREFIX: experiments/paths.py says where the programs look for it.

PREFIX ?= /usr/local
PYTHON3 ?= /usr/bin/python3
SHARE := $(DESTDIR)$(PREFIX)/share
OWN := $(DESTDIR)$(PREFIX)/lib/numaplace
PROGRAMS := np-mem np-hot np-mm np-files np-redis np-steal np-move
WHEEL := $(BUILD)/wheel/numaplace_experiments-$(VERSION)-py3-none-any.whl
WHEEL_SRC := pyproject.toml $(shell find experiments -name tests -prune -o -type f ! -name '*.[cho]' ! -name '*.cc' ! -name '*.pyc' -print)
# With these `numaplace lab setup` builds the modules for the lab's kernels.
LAB_SETUP_SRC := $(KMOD_SOURCES) $(LAB_GUEST_SRC) KERNELS setup/lab setup/modules.mk setup/common.sh setup/qemu setup/bpftool \
	setup/kernels setup/kernel-build setup/apt-elsewhere setup/root setup/in-root setup/requirements.txt

.PHONY: install uninstall wheel
wheel: $(WHEEL)			## the Python programs as a wheel, in build/wheel

# In a copy: setuptools leaves its own files where it works.
$(WHEEL): $(WHEEL_SRC) kmod/uapi/numaplace.h
	rm -rf $(@D)
	mkdir -p $(@D)/src
	cp --parents $(WHEEL_SRC) $(@D)/src
	sed -i 's/^dynamic = \["version"\]/version = "$(VERSION)"/' $(@D)/src/pyproject.toml
	cd $(@D)/src && $(PYTHON3) -c "from setuptools import build_meta; build_meta.build_wheel('..')" >build.log 2>&1 || \
		{ tail -n 3 build.log >&2; echo "wheel: not built: apt-get install python3-setuptools python3-wheel" >&2; exit 1; }

install: tools man wheel $(BUILD)/libmodel.so install-library	## everything that works without the tree, into PREFIX (/usr/local) below DESTDIR
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(addprefix $(BUILD)/,numaplace numaplace-trace $(PROGRAMS) $(PY_PROGRAMS))
	ln -sf np-mem $(DESTDIR)$(PREFIX)/bin/np-triad
	install -D -m 644 -t $(OWN) $(BUILD)/lab/plugin.so $(BUILD)/lab/plugin-7.so $(SCX) $(BUILD)/libmodel.so
	install -D -m 755 -t $(OWN) $(BUILD)/lab/watch
	rm -rf $(OWN)/python $(SHARE)/numaplace
	mkdir -p $(OWN)/python $(SHARE)/numaplace/src
	unzip -q $(WHEEL) 'experiments/*' -d $(OWN)/python
	cp -p --parents $(LAB_SETUP_SRC) $(SHARE)/numaplace/src
	install -D -m 755 -t $(SHARE)/numaplace/tracing userspace/tracing/*.bt
	install -D -m 644 -t $(SHARE)/numaplace/region experiments/lab/region/numaplace_region.*
	install -D -m 644 -t $(SHARE)/numaplace/machines experiments/lab/machines/*.toml
	install -D -m 644 -t $(SHARE)/man/man1 $(BUILD)/man/*.1
	install -D -m 644 userspace/completion/numaplace.bash $(SHARE)/bash-completion/completions/numaplace
	install -D -m 644 userspace/completion/_numaplace $(SHARE)/zsh/site-functions/_numaplace
	install -D -m 644 userspace/daemon.conf $(SHARE)/doc/numaplace/daemon.conf
	[ -e $(DESTDIR)/etc/numaplace/daemon.conf ] || install -D -m 644 -t $(DESTDIR)/etc/numaplace userspace/daemon.conf
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local|$(PREFIX)|' userspace/numaplace.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/numaplace.service

uninstall: uninstall-library	## takes back what install has put into PREFIX; what is in /etc/numaplace stays
	rm -rf $(OWN) $(SHARE)/numaplace $(SHARE)/doc/numaplace
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,numaplace numaplace-trace np-triad $(PROGRAMS) $(PY_PROGRAMS)) \
		$(SHARE)/man/man1/numaplace.1 $(SHARE)/man/man1/numaplace-*.1 \
		$(SHARE)/bash-completion/completions/numaplace $(SHARE)/zsh/site-functions/_numaplace \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/numaplace.service
