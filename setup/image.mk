# SPDX-License-Identifier: GPL-2.0-only
# The lab as an OCI image, with one kernel: KERNEL is its tag.

.PHONY: image check-image
image: KERNEL = 6.12
image:				## build/numaplace-lab.oci.tar, the lab as an OCI image, as root; KERNEL=6.1 for that kernel
	@setup/image $(KERNEL) $(BUILD)

check-image: setup-check		## the image that make image has left, in podman: no network, no rights, a root that cannot be written
	@setup/check-image $(BUILD)
