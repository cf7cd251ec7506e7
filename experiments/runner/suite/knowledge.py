# SPDX-License-Identifier: GPL-2.0-only
"""What a policy is told, which is a level as others are: NAME#knows=declared#links=-20.

    knows=measured   the penalty and MPKI that were measured of each task before, and what is counted of them (default)
    knows=declared   what the suite declares of its tasks, and what is counted of them
    knows=nothing    nothing of both
    links=PERCENT    by which the plan's contention model has the bandwidths between nodes wrong (default 0)

Another word, as in none#2, makes a level of its own of the same policy.
"""

import re
import tomllib
from dataclasses import dataclass, replace

from ...errors import UsageError

KNOWS = ("measured", "declared", "nothing")
MOST = 90  # percent
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
LINK = re.compile(r"^\[\[model\.link\]\]$.*?(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
BANDWIDTH = re.compile(r"(?<=^bandwidth_mb_s = \{ value = )[\d.]+", re.MULTILINE)


@dataclass(frozen=True)
class Knowledge:
    knows: str = KNOWS[0]
    links: float = 0

    def falsify_model(self, text: str) -> str:
        """Changes each link's bandwidth in the text of a machine file by `links` percent. UsageError: a link has none of that form."""
        wrong = LINK.sub(lambda link: BANDWIDTH.sub(lambda found: f"{float(found[0]) * (1 + self.links / 100):.6g}", link[0]), text)
        if len(tomllib.loads(text).get("model", {}).get("link", [])) != len(BANDWIDTH.findall("".join(LINK.findall(text)))):
            raise UsageError("#links: the machine file has links whose bandwidth_mb_s is not as `calibrate-machine` writes it")
        return wrong


def read_knowledge(level: str) -> Knowledge:
    """Reads what a policy is to know from its level. UsageError: a word KEY=VALUE is not one of those above."""
    knowledge = Knowledge()
    for word in level.split("#")[1:]:
        key, separator, value = word.partition("=")
        if key == "knows" and value in KNOWS:
            knowledge = replace(knowledge, knows=value)
        elif key == "links" and NUMBER.fullmatch(value) and abs(float(value)) <= MOST:
            knowledge = replace(knowledge, links=float(value))
        elif separator:
            raise UsageError(f"placement {level}: '#{word}' is to be #knows={'|'.join(KNOWS)}, or #links= and a percentage from "
                             f"-{MOST} to {MOST}")
    return knowledge
