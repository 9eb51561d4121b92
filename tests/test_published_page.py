"""docs/published_figures.md is true: its tests exist, and hold the figures that it says they do."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from shared import SHARED, needs_shared

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "published_figures.md"
PAPERS = {
    "OptEx": "optex",
    "Ernest": "ernest",
    "SimCost": "simcost",
    "PERIDOT": "peridot",
    "BOE and states": "boe",
}


@dataclass(frozen=True)
class Row:
    """One figure of a paper: the tests that check it, and why not all of it is checked."""

    paper: str
    figure: str
    tests: tuple[str, ...]
    why_not: str


def rows() -> list[Row]:
    found, paper = [], ""
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            paper = PAPERS[line[3:]]
        elif line.startswith("| `"):
            figure, _, checked, why_not = (cell.strip() for cell in line.split("|")[1:-1])
            tests = tuple(re.findall(r"`(tests/[^`]+)`", checked))
            found.append(Row(paper, figure.strip("`"), tests, why_not))
    return found


ROWS = rows()


@cache
def functions(path: str) -> frozenset[str]:
    """The tests of a file."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def spelt_by(path: str) -> Iterator[ast.AST]:
    """A test file, and what it imports by name from the helpers beside it."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    yield tree
    for imported in ast.walk(tree):
        if not isinstance(imported, ast.ImportFrom):
            continue
        helper = (ROOT / path).with_name(f"{imported.module}.py")
        if not helper.is_file():
            continue
        names = {alias.name for alias in imported.names}
        for node in ast.parse(helper.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and names.intersection(
                target.id for target in node.targets if isinstance(target, ast.Name)
            ):
                yield node


@cache
def numbers(path: str) -> frozenset[float]:
    """Every number that a test file spells or imports as a table of the helpers beside it."""
    nodes = [node for root in spelt_by(path) for node in ast.walk(root)]
    spelt = {
        float(node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    }
    products = {
        float(node.left.value) * float(node.right.value)
        for node in nodes
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and isinstance(node.left, ast.Constant)
        and isinstance(node.right, ast.Constant)
        and type(node.left.value) in (int, float)
        and type(node.right.value) in (int, float)
    }
    return frozenset(spelt | products)


def leaves(value: Any) -> Iterator[float]:
    """The numbers of a figure."""
    if isinstance(value, dict):
        for entry in value.values():
            yield from leaves(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from leaves(entry)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def test_the_page_has_every_paper_and_says_a_test_or_a_reason() -> None:
    assert {row.paper for row in ROWS} == set(PAPERS.values())
    assert len({(row.paper, row.figure) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row.tests or row.why_not, row.figure


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.paper}-{row.figure}")
def test_the_tests_that_it_names_exist(row: Row) -> None:
    for name in row.tests:
        path, _, function = name.partition("::")
        assert function in functions(path), name


@needs_shared
def test_no_figure_of_a_paper_is_left_out() -> None:
    published = {
        (path.stem, figure)
        for path in (SHARED / "oracles").glob("*.yaml")
        for figure in yaml.safe_load(path.read_text("utf-8"))
    }
    assert published == {(row.paper, row.figure) for row in ROWS}


@needs_shared
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.paper}-{row.figure}")
def test_what_its_tests_do_not_hold_has_a_reason(row: Row) -> None:
    if row.why_not:
        return
    path = SHARED / "oracles" / f"{row.paper}.yaml"
    figure = yaml.safe_load(path.read_text("utf-8"))[row.figure]
    held = frozenset[float]().union(*(numbers(name.partition("::")[0]) for name in row.tests))
    assert sorted({value for value in leaves(figure) if not _near(value, held)}) == []


def _near(value: float, held: frozenset[float]) -> bool:
    """Whether a number is spelt, perhaps in thousandths (milliseconds)."""
    return any(
        abs(value * factor - other) <= 1e-9 * max(1.0, abs(value * factor))
        for other in held
        for factor in (1.0, 1e-3)
    )
