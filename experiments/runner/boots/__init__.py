# SPDX-License-Identifier: GPL-2.0-only
"""In which boot an observation is made, how busy its machine and the lab's host are, and repeats shared out over boots."""
