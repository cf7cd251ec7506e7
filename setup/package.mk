# SPDX-License-Identifier: GPL-2.0-only
# Debian packages: a copy of the tree becomes a source package, with debian/ from setup/debian-package.

DEB := $(BUILD)/deb
DEB_SOURCE := $(DEB)/numaplace-$(VERSION)
DEB_LEFT_OUT := .git .venv build results __pycache__ *.o *.ko *.whl
DEB_BUILD ?= --build=full

.PHONY: deb deb-source check-package check-package12 check-package13 check-installed12 check-installed13
deb-source:			## the Debian source package, in build/deb
	rm -rf $(DEB_SOURCE)
	mkdir -p $(DEB_SOURCE)
	tar -cf - $(DEB_LEFT_OUT:%=--exclude='%') . | tar -C $(DEB_SOURCE) -xf -
	cp -r setup/debian-package $(DEB_SOURCE)/debian
	printf 'numaplace (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n' $(VERSION) $(VERSION) \
		"$$(sed -n 's/^Maintainer: //p' setup/debian-package/control)" \
		"$$(date -R -d @$$(git log -1 --format=%ct 2>/dev/null || date +%s))" >$(DEB_SOURCE)/debian/changelog
	cd $(DEB) && dpkg-source --build $(notdir $(DEB_SOURCE))

deb: deb-source			## the Debian packages, in build/deb; DEB_BUILD=--build=binary leaves the source package out
	cd $(DEB_SOURCE) && dpkg-buildpackage --no-sign $(DEB_BUILD)

check-package: check-package12 check-package13	## the packages built, installed, used, upgraded and purged in bare Debian 12 and 13 roots, as root
check-package12 check-package13: check-package%:
	@setup/debian $* setup/check-package
	@$(MAKE) --no-print-directory check-installed$*

check-installed12 check-installed13: check-installed%:	# part of it: documents, demo and wheel by a user without the tree
	@setup/debian $* setup/check-installed
