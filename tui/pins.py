"""Pinned plans: inputs with the answer that they had, kept for comparison. Pure values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import TYPE_CHECKING

from tui.state import PlanState
from tui.storage.scenario import typed_values
from tui.views import cluster_words

if TYPE_CHECKING:
    from tui.answers import Answer

MAX_PINS = 26
NOW = "now"
"""Name of the current plan among the pinned ones."""


@dataclass(frozen=True)
class Pin:
    """Inputs and their answer; what is not known is None.

    Args:
        meets: whether the goal is met; otherwise the answer is that of the nearest miss.
        composition: in words. instance: its type; None for a mix, or for nothing.
        low, high: the interval at the state's confidence, in seconds.
        cost_low_usd, cost_high_usd: the interval of the cost, likewise.
        at_spot: whether all nodes are rented at spot prices; where some are, the composition says
            which.
    """

    name: str
    state: PlanState
    meets: bool
    composition: str
    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    cost_usd: float | None = None
    p_deadline: float | None = None
    instance: str | None = None
    cost_low_usd: float | None = None
    cost_high_usd: float | None = None
    at_spot: bool = False


def pin_of(name: str, state: PlanState, answer: Answer) -> Pin:
    """A pin of the state and its answer."""
    best, meets = answer.best, answer.report.recommendation.recommended is not None
    if best is None:
        return Pin(name, state, meets, "nothing")
    return Pin(
        name,
        state,
        meets,
        cluster_words.composition(best),
        seconds=best.seconds,
        low=best.low,
        high=best.high,
        cost_usd=best.cost_usd,
        p_deadline=best.p_deadline,
        instance=best.instance,
        cost_low_usd=best.cost_low_usd,
        cost_high_usd=best.cost_high_usd,
        at_spot=bool(cluster_words.at_spot(best)),
    )


def with_pin(pins: tuple[Pin, ...], pin: Pin) -> tuple[Pin, ...]:
    """The pins with one more; one of the same name is replaced in place."""
    if any(other.name == pin.name for other in pins):
        return tuple(pin if other.name == pin.name else other for other in pins)
    return (*pins, pin)[:MAX_PINS]


def without_pin(pins: tuple[Pin, ...], name: str) -> tuple[Pin, ...]:
    return tuple(pin for pin in pins if pin.name != name)


def same_plan(pins: tuple[Pin, ...], pin: Pin) -> Pin | None:
    """The pin of the same inputs with the same answer, by whatever name; None where none is."""
    alike = (each for each in pins if replace(pin, name=each.name, state=each.state) == each)
    return next((each for each in alike if not input_differences(pin, each)), None)


def free_name(pins: tuple[Pin, ...]) -> str | None:
    """The first letter that is no pin's name; None where all are used."""
    used = {pin.name for pin in pins}
    return next((letter for letter in ascii_uppercase if letter not in used), None)


def input_differences(pin: Pin, first: Pin) -> tuple[str, ...]:
    """How the inputs differ from those of the first pin: "deadline 30m, not 45m"; "limits max-vcpus
    64 (A: not set)"."""
    here, there = (_inputs(compared.state) for compared in (pin, first))
    differences = []
    for key in {**there, **here}:
        value, other = here.get(key, "not set"), there.get(key, "not set")
        if value != other:
            set_in_both = key in here and key in there
            against = f", not {other}" if set_in_both else f" ({first.name}: {other})"
            differences.append(f"{key} {value}{against}")
    return tuple(differences)


def _inputs(state: PlanState) -> dict[str, str]:
    """The inputs as in a scenario file; the view is no input."""
    sources = {"open": ", ".join(source.rsplit("/", 1)[-1] for source in state.sources)}
    values = typed_values(state)
    return {**sources, **{key: value for key, value in values.items() if key != "view"}}
