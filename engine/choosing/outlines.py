"""What a list of choices is searched and sorted by, known before any of them is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from engine.caching import Lazy
from engine.choosing.recommendation import Choice
from engine.forecast import IntArray


class Outline(NamedTuple):
    """A choice in brief: see the fields of the same names of `Choice`."""

    instance: str | None
    composition: Mapping[str, int]
    spot: Mapping[str, int]
    seconds: float
    cost_usd: float | None
    p_deadline: float | None
    note: str

    @property
    def nodes(self) -> int:
        """The number of nodes in all."""
        return sum(self.composition.values())

    @classmethod
    def of(cls, choice: Choice) -> Outline:
        """The outline of a choice that has been built."""
        return cls(
            choice.instance,
            choice.composition,
            choice.spot,
            choice.seconds,
            choice.cost_usd,
            choice.p_deadline,
            choice.note,
        )


class OutlinedChoices(Lazy[Choice]):
    """Choices that are built when they are looked at, of which outlines are known all at once: a
    choice has itemised costs and warnings, and a list of hundreds shows twenty."""

    def __init__(
        self,
        keys: Sequence[int] | IntArray,
        make: Callable[[int], Choice],
        outline: Callable[[], Sequence[Outline]],
    ) -> None:
        """`outline` gives one for each key, in their order; it is asked once, on first use."""
        super().__init__(keys, make)
        self._outline = outline

    @cached_property
    def outlines(self) -> Sequence[Outline]:
        """One for each choice."""
        return self._outline()


def outlines(choices: Sequence[Choice]) -> Sequence[Outline]:
    """What choices are searched and sorted by, in their order.

    Args:
        choices: such as the alternatives or the frontier of a recommendation. Those of `recommend`
            by prices are not built for it; any others are.
    """
    if isinstance(choices, OutlinedChoices):
        return choices.outlines
    return [Outline.of(choice) for choice in choices]
