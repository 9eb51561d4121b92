"""Scenario files with pinned plans: below the scenario, each pin with all its inputs and the answer
that it had, so that two files can be compared line by line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import engine
from tui.pins import MAX_PINS, NOW, Pin
from tui.state import PlanState
from tui.storage.scenario import KEYS, format_scenario, lines_of, read_top, scalar, state_of

VERSION = 3
"""Version of the format; a file that people write may leave it out."""

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
"""Number of an answer: key in the file -> field of `Pin`."""

ANSWER_KEYS = ("meets", "composition", "instance", "at-spot", *NUMBERS)


class SavedPlan(NamedTuple):
    """The content of a file: a scenario, and the pinned plans."""

    state: PlanState
    pins: tuple[Pin, ...] = ()


def format_saved_plan(saved: SavedPlan, *, folder: Path) -> str:
    """The text of a file in `folder`."""
    text = format_scenario(saved.state, folder=folder, version=VERSION)
    if not saved.pins:
        return text
    lines = ["pins:"]
    for pin in saved.pins:
        inputs = [line for line in lines_of(pin.state, folder) if not line.startswith("view:")]
        entry_lines = [f"name: {scalar(pin.name)}", *inputs, "answer:", *_answer(pin)]
        lines += [
            ("  - " if number == 0 else "    ") + line for number, line in enumerate(entry_lines)
        ]
    return text + "\n".join(lines) + "\n"


def _answer(pin: Pin) -> list[str]:
    """The answer of a pin with all digits; what is unknown is left out."""
    lines = [f"meets: {'on' if pin.meets else 'off'}", f"composition: {scalar(pin.composition)}"]
    lines += [f"instance: {scalar(pin.instance)}"] if pin.instance is not None else []
    lines.append(f"at-spot: {'on' if pin.at_spot else 'off'}")
    values = {key: getattr(pin, field) for key, field in NUMBERS.items()}
    lines += [f"{key}: {value!r}" for key, value in values.items() if value is not None]
    return [f"  {line}" for line in lines]


def read_saved_plan(path: Path) -> SavedPlan:
    """The scenario and the pinned plans of a file.

    Raises:
        BadInput: with file, line and key for what is unknown, missing or without meaning.
    """
    top = read_top(path)
    if top.entries.get("version", str(VERSION)) != str(VERSION):
        raise engine.BadInput(
            f"version {top.entries['version']} is none that this sparkplan knows",
            where=top.where_of("version"),
            remedy=f"it reads version {VERSION}, which a file of your own may leave out; "
            "another one is read by the sparkplan that wrote it",
        )
    return SavedPlan(state_of(top, folder=path.parent), _pins(top, path.parent))


def _pins(top: engine.Section, folder: Path) -> tuple[Pin, ...]:
    pins: list[Pin] = []
    for section in top.sections("pins"):
        pins.append(_pin(section, folder, pins))
    return tuple(pins)


def _pin(section: engine.Section, folder: Path, others: Sequence[Pin]) -> Pin:
    section.check_keys(PIN_KEYS)
    name = section.need("name", str)
    if name == NOW or any(other.name == name for other in others) or len(others) >= MAX_PINS:
        raise engine.BadInput(
            f"{name!r} cannot be the name of this pin",
            where=section.where_of("name"),
            remedy=f"give each a name of its own, not {NOW!r}, and no more than {MAX_PINS}",
        )
    # The sources of a pin may be gone: its answer is kept all the same.
    state = state_of(section, folder=folder, there=False)
    answer = section.section("answer")
    if answer is None:
        raise engine.BadInput("answer is missing", where=section.where())
    answer.check_keys(ANSWER_KEYS)
    numbers = {
        field: answer.get(key, _share if field == "p_deadline" else _number)
        for key, field in NUMBERS.items()
    }
    composition, instance = answer.need("composition", str), answer.get("instance", str)
    meets, at_spot = answer.need("meets", _switch), answer.need("at-spot", _switch)
    return Pin(name, state, meets, composition, instance=instance, at_spot=at_spot, **numbers)


def _number(typed: str) -> float:
    try:
        value = float(typed)
    except ValueError:
        value = math.nan  # such as .nan, which YAML has and Python does not
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"must be a number of at least 0, not {typed!r}")
    return value


def _share(typed: str) -> float:
    value = _number(typed)
    if value > 1.0:
        raise ValueError(f"must be a share from 0 to 1, not {typed!r}")
    return value


def _switch(typed: str) -> bool:
    if typed not in ("on", "off"):
        raise ValueError("must be on or off")
    return typed == "on"
