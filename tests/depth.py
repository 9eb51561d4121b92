"""How many cases a test draws: a few in `make test`, many in `make test-deep`.

What holds for every case is asserted of each that is drawn. The ordinary run draws as many as find
what breaks often, so that it ends within a quarter of an hour on two cores. The deep one is for a
release, or for a change to what such a test is of.
"""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

Value = TypeVar("Value")
Other = TypeVar("Other")

DEEP = os.environ.get("SPARKPLAN_TESTS") == "deep"


def cases(ordinary: int, *, deep: int) -> int:
    """How many cases to draw: as many as the run asks for."""
    return deep if DEEP else ordinary


def values(*ordinary: Value, deep: Iterable[Value]) -> list[Value]:
    """The values of a parameter: each kind once in the ordinary run, what is like them (`deep`) in
    the deep one too."""
    return [*ordinary, *(deep if DEEP else ())]


def crossed(more: Sequence[Value], fewer: Sequence[Other]) -> list[tuple[Value, Other]]:
    """Pairs of the values of two parameters: in the ordinary run a diagonal, which has each value
    of both at least once; all of them in the deep one."""
    return [
        (one, other)
        for row, one in enumerate(more)
        for place, other in enumerate(fewer)
        if DEEP or (row - place) % len(fewer) == 0
    ]
