"""A scenario: every input of the planner as YAML that people read, write and compare.

The keys are the names of the typed commands and the values their arguments, read by the same
parsers: `deadline: 45m`, `budget: $12`, `nodes: 64`. What is absent keeps its default.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import engine
from tui.changes import OpenSources, SetCatalog, ShowView
from tui.command_parser import outcome_of
from tui.input_text import job_text, term_text
from tui.input_text.limit_text import line_of
from tui.input_text.term_text import TERMS
from tui.reducer import reduce
from tui.state import TRAINING_PLANS, PlanState, Training
from tui.storage.user_folders import path_exists
from tui.typed_commands import CommandContext
from tui.views.pages import NAMES
from tui.widgets.numbers import all_digits, fewest_digits, money_text, time_text

KEYS = (
    *("open", "ran-on", "category", "catalog", *TERMS, "instances", "model"),
    *(
        "deadline",
        "budget",
        "size",
        "param",
        "iterations",
        "nodes",
        "confidence",
        "spot",
        "mix",
        "limits",
    ),
    *("training", "samples", "plan", "view"),
)
"""Every key, in the order of writing and reading: a catalog before its types."""

FILE_KEYS = ("version", *KEYS, "pins")
"""All keys of a file (see `scenario_file`)."""

HEAD = (
    "# A scenario of sparkplan: open it with sparkplan --scenario FILE, or :load in the planner.\n"
)

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./$+-")


def format_scenario(state: PlanState, *, folder: Path, version: int | None = None) -> str:
    """The text of a scenario file in `folder`."""
    lines = [] if version is None else [f"version: {version}"]
    return HEAD + "\n".join([*lines, *lines_of(state, folder)]) + "\n"


def lines_of(state: PlanState, folder: Path) -> list[str]:
    """Every input as a line of YAML."""
    sources = [_relative_source(source, folder) for source in state.sources]
    lines = ["open:", *(f"  - {scalar(source)}" for source in sources)]
    return [*lines, *(f"{key}: {scalar(value)}" for key, value in typed_values(state).items())]


def typed_values(state: PlanState) -> dict[str, str]:
    """The argument of each typed command; what is taken from the evidence is left out."""
    terms = state.terms
    values: dict[str, str | None] = {
        "ran-on": state.ran_on,
        "category": state.category,
        "catalog": state.catalog,
        "region": terms.region,
        "discount": _percent(terms.discount_fraction),
        "dbu-price": f"${terms.dbu!r}" if isinstance(terms.dbu, float | int) else terms.dbu,
        "platform": terms.platform,
        "overhead-per-core": term_text.overhead_text(terms.overhead_per_core_gib),
        "fill-nodes": "on" if terms.fill_nodes else None,
        "instances": ", ".join(state.instances) or None,
        "model": state.model,
        "deadline": _deadline(state),
        "budget": "off" if state.budget_usd is None else _money(state.budget_usd),
        "size": f"{fewest_digits(state.scale)}x",
        "param": job_text.line_of(state.job) or None,
        "iterations": None if state.job.iterations is None else fewest_digits(state.job.iterations),
        "nodes": str(state.max_nodes),
        "confidence": _percent(state.confidence),
        "spot": "on" if state.spot else "off",
        "mix": None if state.mix is None else str(state.mix),
        "limits": line_of(state.limits) or None,
        "training": _training(state.training),
        "samples": ", ".join(filter(None, map(_percent, state.training.fractions))) or None,
        "plan": None if state.training.plan == TRAINING_PLANS[0] else state.training.plan,
        "view": state.view,
    }
    return {key: value for key, value in values.items() if value is not None}


def _deadline(state: PlanState) -> str | None:
    seconds = state.deadline_seconds
    if seconds is None:
        return "off" if state.deadline_chosen else None
    return _exact(time_text(seconds), seconds, engine.parse_seconds, f"{all_digits(seconds)}s")


def _training(training: Training) -> str | None:
    amount = training.amount
    if amount is None:
        return None
    if training.unit == "usd":
        return _money(amount)
    if training.unit == "seconds":
        return _exact(time_text(amount), amount, engine.parse_seconds, f"{all_digits(amount)}s")
    return all_digits(amount)


def _money(usd: float) -> str:
    return _exact(money_text(usd), usd, engine.parse_usd, f"${all_digits(usd)}")


def _exact(shown: str, value: float, parse: Callable[[str], float], every_digit: str) -> str:
    """The readable text where it parses to the same value; else every digit."""
    try:
        return shown if parse(shown) == value else every_digit
    except engine.BadInput:
        return every_digit


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share * 100:.12g}%"


def scalar(text: str) -> str:
    """Text as a YAML scalar: bare where it is a plain word, else in double quotes.

    Raises:
        BadInput: for what is no Unicode text, such as the name of a file in another encoding.
    """
    plain = bool(text) and set(text) <= _BARE | {" ", "%"} and text == text.strip()
    if plain and text[0] not in "-%" and text.lower() != "null":
        return text
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise engine.BadInput(
            f"{text!a} is no Unicode text and cannot be kept in a scenario",
            remedy="rename the file",
        )
    return "".join(map(_escaped, json.dumps(text, ensure_ascii=False)))


def _escaped(character: str) -> str:
    """A character, by its code where YAML takes it for a line end or refuses it."""
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _relative_source(source: str, folder: Path) -> str:
    """A local path relative to the scenario's folder where it lies below; else absolute."""
    path = Path(source)
    if "://" in source or not path_exists(path):
        return source
    here = path.resolve()
    try:
        return f"./{here.relative_to(folder.resolve()).as_posix()}"
    except ValueError:
        return str(here)


def read_top(path: Path) -> engine.Section:
    """The top-level section of a scenario file.

    Raises:
        BadInput: where it is no YAML, or has a key that is not known.
    """
    top = engine.read_yaml(path)
    top.check_keys(FILE_KEYS)
    return top


def state_of(section: engine.Section, *, folder: Path, there: bool = True) -> PlanState:
    """The state that a section describes. Its sources must exist, unless `there` is False."""
    names = _names()
    state = PlanState(sources=())
    for key in KEYS:
        if key in section.entries:
            where = section.where_of(key)
            value = section.entries[key]
            if key == "open":
                state = reduce(
                    state, OpenSources(_sources(value, where, folder, check_exists=there))
                )
            else:
                state = _with_key(state, key, value, where, names)
    if not state.sources:
        raise engine.BadInput(
            "open is missing: what the plan rests on",
            where=section.where(),
            remedy="write open: and a log, a profile, a table or the name of a sample",
        )
    return replace(state, pricing=0)  # naming a catalog in a file is no repeated read


def _names() -> CommandContext:
    return CommandContext(
        models=tuple(engine.MODELS_BY_NAME),
        catalogs=tuple(entry.name for entry in engine.list_catalogs()),
        categories=tuple(engine.CATEGORIES),
    )


def _with_key(
    state: PlanState, key: str, value: Any, where: str, names: CommandContext
) -> PlanState:
    """The state after one key."""
    if not isinstance(value, str) or not value.strip():
        raise engine.BadInput(
            f"{key} must be a plain value", where=where, remedy="as typed after the command"
        )
    try:
        if key in TERMS:
            return replace(state, terms=term_text.with_term(state.terms, key, value))
        outcome = outcome_of(f"{key} {value}", replace(names, job=state.job))
        catalog = outcome.catalog if isinstance(outcome, SetCatalog) else None
        if catalog is not None and catalog not in names.catalogs and not path_exists(catalog):
            raise engine.UnknownName("catalog", catalog, names.catalogs)
    except engine.EngineError as error:
        raise engine.BadInput(
            f"{key}: {error.what}", where=where, remedy=error.remedy, choices=error.choices
        ) from None
    if isinstance(outcome, str):
        shown = next(view for view in NAMES if outcome == f"view({view!r})")
        return reduce(state, ShowView(shown))
    return reduce(state, outcome)


def _sources(value: Any, where: str, folder: Path, *, check_exists: bool) -> tuple[str, ...]:
    """One source or a list of them; those that lie beside the scenario are found there."""
    listed: Sequence[Any] = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(source, str) and source for source in listed):
        raise engine.BadInput(
            "open must be a source or a list of sources",
            where=where,
            remedy="write one on each line below open:, after a dash",
        )
    sources = tuple(_resolve_source(source, folder) for source in listed)
    if "-" in sources:
        raise engine.BadInput("standard input cannot be opened again", where=where)
    if not check_exists:
        return sources
    try:
        engine.check_sources(*sources)
    except engine.BadInput as error:
        raise engine.BadInput(f"open: {error}", where=where) from None
    return sources


def _resolve_source(source: str, folder: Path) -> str:
    beside = folder / source
    relative = "://" not in source and not Path(source).is_absolute()
    return str(beside) if relative and path_exists(beside) else source
