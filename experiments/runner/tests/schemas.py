# SPDX-License-Identifier: GPL-2.0-only
"""The schemas of a run's files, for tests of what writes them."""

import json
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).parents[3] / "Documentation/reference/schema"
VALIDATOR = jsonschema.Draft202012Validator


def read_schema(name: str) -> dict[str, Any]:
    """results or manifest."""
    return json.loads((FOLDER / f"{name}-1.json").read_text())


def list_faults(name: str, value: Any) -> list[str]:
    return [f"{fault.json_path}: {fault.message}" for fault in VALIDATOR(read_schema(name)).iter_errors(value)]
