# SPDX-License-Identifier: GPL-2.0-only
import sys

from experiments.lab.cli import main

sys.exit(main())
