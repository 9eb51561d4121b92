"""Pinned scenarios as YAML, below the scenario that they are compared with: each with all its
inputs and the answer that it had, so that two files can be compared line by line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import engine
from tui.mixing import USUAL_TYPES
from tui.pins import MAX_PINS, NOW, Pin
from tui.state import PlanState
from tui.storage.scenario import KEYS, format_scenario, lines_of, read_top, scalar, state_of

VERSION = 3
"""Of the format: the second says what costs lie between, the third has a `mix` only where one was
asked for; a file without it has no pins."""

PIN_KEYS = ("name", *(key for key in KEYS if key != "view"), "answer")
NUMBERS = {
    "seconds": "seconds",
    "low": "low",
    "high": "high",
    "usd": "cost_usd",
    "usd-low": "cost_low_usd",
    "usd-high": "cost_high_usd",
    "in-time": "p_deadline",
}
"""What each number of an answer is called in a file, and what as a field of a `Pin`."""

ANSWER_KEYS = ("meets", "composition", "instance", "at-spot", *NUMBERS)


class SavedPlan(NamedTuple):
    """What a file holds: a scenario, and the pinned ones."""

    state: PlanState
    pins: tuple[Pin, ...] = ()


def format_saved_plan(kept: SavedPlan, *, folder: Path) -> str:
    """The text of a file that lies in `folder`."""
    text = format_scenario(kept.state, folder=folder, version=VERSION)
    if not kept.pins:
        return text
    lines = ["pins:"]
    for pin in kept.pins:
        inputs = [line for line in lines_of(pin.state, folder) if not line.startswith("view:")]
        below = [f"name: {scalar(pin.name)}", *inputs, "answer:", *_answer(pin)]
        lines += [("  - " if number == 0 else "    ") + line for number, line in enumerate(below)]
    return text + "\n".join(lines) + "\n"


def _answer(pin: Pin) -> list[str]:
    """What was said, every digit of it; what was not known is left out."""
    found = [f"meets: {'on' if pin.meets else 'off'}", f"composition: {scalar(pin.composition)}"]
    found += [f"instance: {scalar(pin.instance)}"] if pin.instance is not None else []
    found.append(f"at-spot: {'on' if pin.at_spot else 'off'}")
    values = {key: getattr(pin, field) for key, field in NUMBERS.items()}
    found += [f"{key}: {value!r}" for key, value in values.items() if value is not None]
    return [f"  {line}" for line in found]


def read_saved_plan(path: Path) -> SavedPlan:
    """The scenario of a file and the pinned ones.

    Raises:
        BadInput: with file, line and key for what is unknown, missing or without meaning.
    """
    top = read_top(path)
    version: int | None = VERSION
    if "version" in top.entries:
        version = top.get("version", lambda text: int(text) if text.isdecimal() else None)
    if version is None or not 1 <= version <= VERSION:
        raise engine.BadInput(
            f"version {top.entries['version']} is none that this sparkplan knows",
            where=top.where_of("version"),
            remedy=f"it reads up to version {VERSION}; install a newer one",
        )
    kept = SavedPlan(state_of(top, folder=path.parent), _pins(top, path.parent))
    return kept if version >= VERSION else _unasked(kept)


def _unasked(kept: SavedPlan) -> SavedPlan:
    """Before the third version the usual mix was written as if it had been asked for, also for
    services that start none."""

    def usual(state: PlanState) -> PlanState:
        return replace(state, mix=None) if state.mix == USUAL_TYPES else state

    pins = tuple(replace(pin, state=usual(pin.state)) for pin in kept.pins)
    return SavedPlan(usual(kept.state), pins)


def _pins(top: engine.Section, folder: Path) -> tuple[Pin, ...]:
    found: list[Pin] = []
    for section in top.sections("pins"):
        found.append(_pin(section, folder, found))
    return tuple(found)


def _pin(section: engine.Section, folder: Path, others: Sequence[Pin]) -> Pin:
    section.check_keys(PIN_KEYS)
    name = section.need("name", str)
    if name == NOW or any(other.name == name for other in others) or len(others) >= MAX_PINS:
        raise engine.BadInput(
            f"{name!r} cannot be the name of this pin",
            where=section.where_of("name"),
            remedy=f"give each a name of its own, not {NOW!r}, and no more than {MAX_PINS}",
        )
    # What a pin rested on may be gone: what it said then is kept all the same.
    state = state_of(section, folder=folder, there=False)
    answer = section.section("answer")
    if answer is None:
        raise engine.BadInput("answer is missing", where=section.where())
    answer.check_keys(ANSWER_KEYS)
    numbers = {field: answer.get(key, _number) for key, field in NUMBERS.items()}
    composition, instance = answer.need("composition", str), answer.get("instance", str)
    meets, said = answer.need("meets", _switch), answer.get("at-spot", _switch)
    # The first version did not say it: with spot on and no limit to it, all nodes were.
    at_spot = state.spot and state.limits.max_spot is None if said is None else said
    return Pin(name, state, meets, composition, instance=instance, at_spot=at_spot, **numbers)


def _number(typed: str) -> float:
    value = float(typed)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError("must be a number of at least 0")
    return value


def _switch(typed: str) -> bool:
    if typed not in ("on", "off"):
        raise ValueError("must be on or off")
    return typed == "on"
