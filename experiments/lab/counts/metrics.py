# SPDX-License-Identifier: GPL-2.0-only
"""Metrics of accesses, and what a test says of them: --fail-if 'remote_share > 10% or dram[1] > 1e6'.

An expression is Python's, with comparisons, and, or, not, + - * /, numbers, N% for N / 100, and the metrics.
"""

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from experiments.lab.counts.profile import Profile, Refused, Selection

PER_NODE = ("dram", "pages")
SINGLE = ("remote_dram", "remote_share", "remote_cache", "loads", "stores")
ARITHMETIC: dict[type, Callable] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
COMPARED: dict[type, tuple[str, Callable]] = {
    ast.Lt: ("<", operator.lt), ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne)}


@dataclass(frozen=True)
class Metrics:
    """Holds the counts of user code. A line is one of the last-level cache's, a page 4 KiB."""
    loads: int
    stores: int
    dram: tuple[int, ...]   # lines read, by the node whose DRAM had them
    pages: tuple[int, ...]  # of which lines were read, by node
    remote_dram: int        # lines read of another node than the CPU's
    remote_cache: int       # lines read from another node's cache

    @property
    def remote_share(self) -> float:
        return self.remote_dram / sum(self.dram) if sum(self.dram) else 0.0


def compute_metrics(profile: Profile, selection: Selection) -> Metrics:
    """Computes the metrics of the tasks that `selection` asks for."""
    tasks = list(selection.select_tasks(profile))
    nodes = range(len(profile.tasks[0].dram))
    selected = set(tasks)
    used_pages = {(use.task.tgid, use.page, use.node) for use in profile.uses if use.task in selected}
    return Metrics(loads=sum(task.loads for task in tasks), stores=sum(task.stores for task in tasks),
                   dram=tuple(sum(task.dram[node] for task in tasks) for node in nodes),
                   pages=tuple(sum(page_node == node for _, _, page_node in used_pages) for node in nodes),
                   remote_dram=sum(sum(task.dram) - task.dram[task.node] for task in tasks),
                   remote_cache=sum(task.remote_cache for task in tasks))


@dataclass
class Comparison:
    """Holds a comparison that is true, with the value that was compared."""
    text: str  # of what is compared
    value: float
    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.text} is {self.value:.6g}, and the bound is {self.bound:.6g}"


@dataclass
class Verdict:
    expression: str
    failed: bool
    true: list[Comparison] = field(default_factory=list)

    def __str__(self) -> str:
        return "; ".join(map(str, self.true)) or f"'{self.expression}' holds"


# Not the remainder of a division.
PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%(?!\s*(?!(?:and|or)\b)[\d(a-z])")


class Expression:
    """Holds an expression of --fail-if; Refused where it is wrong for a machine with so many nodes."""
    def __init__(self, text: str, nodes: int):
        """Parses `text` and checks it. nodes: how many the machine has."""
        self.text, self.nodes = text, nodes
        try:
            self.tree = ast.parse(PERCENT.sub(r"(\1/100)", text.strip()), mode="eval").body
        except SyntaxError as error:
            raise self._build_error(f"{error.msg} at character {error.offset}") from None
        self._check_logic(self.tree)

    def _build_error(self, why: str) -> Refused:
        return Refused(f"--fail-if '{self.text}': {why}: write METRIC > NUMBER with {', '.join(SINGLE)}, "
                        f"{' or '.join(f'{name}[NODE]' for name in PER_NODE)}")

    def _check_logic(self, tree: ast.AST):
        """Checks that a tree is comparisons joined by and, or, not. Refused: it is not."""
        if isinstance(tree, ast.BoolOp):
            for part in tree.values:
                self._check_logic(part)
        elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
            self._check_logic(tree.operand)
        elif isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in COMPARED:
            self._check_number(tree.left)
            self._check_number(tree.comparators[0])
        else:
            raise self._build_error(f"'{ast.unparse(tree)}' is no comparison")

    def _check_number(self, tree: ast.AST):
        """Checks that a tree is a number, a metric that the machine has, or arithmetic of these. Refused: it is not."""
        if isinstance(tree, ast.BinOp) and type(tree.op) in ARITHMETIC:
            self._check_number(tree.left)
            self._check_number(tree.right)
        elif isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name) and tree.value.id in PER_NODE:
            node = tree.slice.value if isinstance(tree.slice, ast.Constant) else None
            if type(node) is not int or not 0 <= node < self.nodes:
                raise self._build_error(f"the machine has the nodes 0 to {self.nodes - 1}, and not '{ast.unparse(tree.slice)}'")
        elif isinstance(tree, ast.Name):
            if tree.id in PER_NODE:
                raise self._build_error(f"'{tree.id}' needs a node, {tree.id}[0]")
            if tree.id not in SINGLE:
                raise self._build_error(f"there is no metric '{tree.id}'")
        elif not (isinstance(tree, ast.Constant) and type(tree.value) in (int, float)):
            raise self._build_error(f"'{ast.unparse(tree)}' is no number and no metric")

    def judge_metrics(self, metrics: Metrics) -> Verdict:
        """Evaluates the expression: the verdict is that the test fails where it is true. Refused: it divides by 0."""
        verdict = Verdict(self.text, False)
        verdict.failed = self._evaluate_logic(self.tree, metrics, verdict.true)
        return verdict

    def _evaluate_logic(self, tree: ast.AST, metrics: Metrics, true: list[Comparison]) -> bool:
        """Evaluates a tree of comparisons; returns whether it is true of the metrics. Appends true comparisons outside a not to `true`."""
        if isinstance(tree, ast.BoolOp):
            parts_true = [self._evaluate_logic(part, metrics, true) for part in tree.values]
            return all(parts_true) if isinstance(tree.op, ast.And) else any(parts_true)
        if isinstance(tree, ast.UnaryOp):
            return not self._evaluate_logic(tree.operand, metrics, [])
        sign, compare = COMPARED[type(tree.ops[0])]
        value, bound = self._evaluate_number(tree.left, metrics), self._evaluate_number(tree.comparators[0], metrics)
        if compare(value, bound):
            true.append(Comparison(ast.unparse(tree.left), value, sign, bound))
        return compare(value, bound)

    def _evaluate_number(self, tree: ast.AST, metrics: Metrics) -> float:
        """Evaluates a tree of numbers and metrics. Refused: it divides by 0."""
        if isinstance(tree, ast.BinOp):
            left, right = self._evaluate_number(tree.left, metrics), self._evaluate_number(tree.right, metrics)
            if isinstance(tree.op, ast.Div) and not right:
                raise self._build_error(f"'{ast.unparse(tree.right)}' is 0, and something is divided by it")
            return ARITHMETIC[type(tree.op)](left, right)
        if isinstance(tree, ast.Subscript):
            return getattr(metrics, tree.value.id)[tree.slice.value]
        return getattr(metrics, tree.id) if isinstance(tree, ast.Name) else tree.value
