"""The questions that the planner asks: which options there are, and what an answer changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import engine
from tui.action_list import COMMANDS
from tui.changes import (
    FilterList,
    OpenSources,
    SetCatalog,
    SetCategory,
    SetInstances,
    SetLimits,
    SetModel,
    SetRanOn,
)
from tui.command_parser import offered
from tui.input_text import job_text, limit_text
from tui.screens.picker import MAX_MATCHES, Option, Picker, containing
from tui.storage import scenario_store
from tui.typed_commands import CommandContext
from tui.views import compositions
from tui.widgets.numbers import money_text
from tui.widgets.table import text_of

if TYPE_CHECKING:
    from engine import Catalog, Offer
    from tui.app import PlannerApp


def palette(app: PlannerApp) -> None:
    options = [Option(action, what, app.key_shown(action, key)) for action, what, key in COMMANDS]

    async def run(action: str | None) -> None:
        if action is not None:
            await app.run_action(action)

    app.push_screen(Picker("Actions", containing(options), glyphs=app.glyphs), run)


def command_line(app: PlannerApp, begun: str = "") -> None:
    """A typed command; what it may become is offered while typing."""
    from tui.screens.picker import CommandLine

    known = names(app)

    def matches(typed: str) -> list[Option]:
        return [Option(line, line.strip(), what) for line, what in offered(typed, known)]

    async def run(line: str | None) -> None:
        if line is not None and line.strip():
            await app.run_command_line(line)

    dialog = CommandLine(
        "Command", matches, glyphs=app.glyphs, typed=begun, returns_typed=True,
        placeholder="deadline 45m, nodes 1:200, model ernest", empty="no command begins so",
    )  # fmt: skip
    app.push_screen(dialog, run)


def names(app: PlannerApp) -> CommandContext:
    """What the arguments of typed commands may be."""
    return CommandContext(
        models=tuple(model.name for model in engine.MODELS),
        catalogs=tuple(entry.name for entry in engine.list_catalogs()),
        categories=tuple(engine.CATEGORIES),
        instances=tuple(app.built.catalog.offers) if app.built else (),
        sources=tuple(sample.name for sample in engine.list_samples()),
        themes=tuple(sorted(app.available_themes)),
        scenarios=scenario_store.saved(),
        pins=tuple(pin.name for pin in app.pins),
        ranges=app.ranges,
        limits=app.state.limits,
        terms=app.state.terms,
        job=app.state.job,
        parameters=job_text.known_parameters(app.built.profile) if app.built else None,
    )


def themes(app: PlannerApp) -> None:
    options = [Option(name, name) for name in sorted(app.available_themes)]
    app.push_screen(
        _choice_of(app, "Theme", options, app.theme), _if_answered(app.action_set_theme)
    )


def open_sources(app: PlannerApp) -> None:
    """Files, folders, samples, remote paths and history servers."""
    from tui.screens.open import ChosenSources, OpenScreen

    def apply(opened: ChosenSources) -> None:
        app.dispatch(OpenSources(opened.sources, add=opened.add))

    app.push_screen(OpenScreen(apply, glyphs=app.glyphs, here=Path.cwd()))


def ran_on(app: PlannerApp) -> None:
    """The type that the job was measured on, out of any catalog; those of the chosen one first."""
    if app.built is None and app.busy:
        app.show_notice(no_plan(app, "the evidence is"), "warn")
        return
    # Without a plan the type may be what is missing.
    catalog = app.built.catalog if app.built else engine.load_catalog(engine.WhereItRan().catalog)
    options = [Option("", "as the log says", _machines_in_log(app))]
    options += [type_option(offer) for offer in _candidates_first(app, catalog)]
    options += other_catalog_types(catalog)
    now = app.state.ran_on or ""
    options.sort(key=lambda option: option.value not in ("", now))
    _pick(app, "Where did it run?", options, now, lambda name: SetRanOn(name or None))


def _machines_in_log(app: PlannerApp) -> str:
    """What holds where no type is named here."""
    if app.built is None:
        return ""
    if app.state.ran_on is not None:
        return "without a type that is named here"
    types = app.built.profile.instance_types
    return ", ".join(types[:2]) if types else "no type; a median machine is assumed"


def _candidates_first(app: PlannerApp, catalog: Catalog) -> list[Offer]:
    """All types of a catalog, those that the plan compares before those that are too small for it,
    or hidden for another reason."""
    compared = set(app.built.plan.surface.candidates.names) if app.built else set()
    return sorted(catalog.offers.values(), key=lambda offer: offer.instance.name not in compared)


def other_catalog_types(chosen: Catalog) -> list[Option]:
    """The types of the other bundled catalogs, as TYPE@CATALOG; each type once."""
    found, seen = [], set(chosen.offers)
    for catalog in _bundled():
        for name, offer in catalog.offers.items():
            if name not in seen:
                seen.add(name)
                label = f"{name}@{catalog.name}"
                found.append(replace(type_option(offer), value=label, label=label))
    return found


@lru_cache(1)
def _bundled() -> tuple[Catalog, ...]:
    """All bundled catalogs; about 50 ms the first time."""
    return tuple(engine.load_catalog(entry.path) for entry in engine.list_catalogs())


def category(app: PlannerApp) -> None:
    """What kind of job it is."""
    options = [Option("", "as the log says")]
    options += [Option(name, name) for name in engine.CATEGORIES]
    now = app.state.category or ""
    _pick(app, "Kind of job", options, now, lambda name: SetCategory(name or None))


def model(app: PlannerApp) -> None:
    """The models, each with what it is for."""
    options = [Option(entry.name, entry.name, entry.summary) for entry in engine.MODELS]
    _pick(app, "Model", options, app.state.model, SetModel)


def catalog(app: PlannerApp) -> None:
    """The bundled price catalogs, or that of where the job ran."""
    found = {entry.name: entry for entry in engine.list_catalogs()}
    here = f"here {app.built.catalog.name}" if app.built and app.state.catalog is None else ""
    options = [Option("", "of where it ran", here or "by the evidence, or by w; else aws")]
    options += [Option(name, name, f"{e.region}, {e.date}") for name, e in found.items()]
    now = app.state.catalog or ""
    _pick(app, "Price catalog", options, now, lambda name: SetCatalog(name or None))


def instances(app: PlannerApp) -> None:
    """Globs of types; what they match is shown while typing."""
    if app.built is None:
        app.show_notice(no_plan(app, "the prices are"), "warn")
        return
    options = [type_option(offer) for offer in _candidates_first(app, app.built.catalog)]

    def matches(typed: str) -> list[Option]:
        last = typed.rpartition(",")[2].strip()
        return [
            option
            for option in options
            if not last or fnmatchcase(option.value, last) or option.value.startswith(last)
        ]

    _ask(
        app,
        "Instance types",
        matches,
        lambda typed: app.dispatch(SetInstances(tuple(typed.replace(",", " ").split()))),
        typed=", ".join(app.state.instances),
        placeholder="r5.*, c6i.4xlarge; * for all; nothing for the default ones",
        empty="no type of this catalog matches",
    )


def no_plan(app: PlannerApp, what: str) -> str:
    """Why nothing can be chosen: `what` is still being read, or the plan was refused."""
    return f"{what} still being read" if app.busy else "there is no plan: esc says why"


def limits(app: PlannerApp, line: str | None = None) -> None:
    """All limits in one line; what may come next is shown while typing. A line that is refused is
    left to be mended, with what is wrong beside it."""
    offers = app.built.catalog.offers if app.built else {}

    def apply(typed: str) -> None:
        try:
            app.dispatch(SetLimits(limit_text.parsed(typed)))
        except engine.EngineError:
            limits(app, typed)

    _ask(
        app,
        "Limits",
        partial(limit_options, offers),
        apply,
        typed=limit_text.line_of(app.state.limits) if line is None else line,
        placeholder="own m5.xlarge=10, limit c5.*=20, max-vcpus 512, min-nodes 3",
    )


def limit_options(offers: Mapping[str, Offer], typed: str) -> list[Option]:
    """What may come next in a line of limits: a word, then a type where it takes one; else what is
    wrong with the line, or how it goes on."""
    head, _, last = typed.rpartition(",")
    lead, (word, space, begun) = " " * bool(head), last.strip().partition(" ")
    if not space:
        found = [clause for clause in limit_text.CLAUSES if clause.word.startswith(word)]
        kinds = [Option(f"{lead}{c.word} ", f"{c.word} {c.takes}", c.what) for c in found]
        if kinds:
            return kinds
    elif word in ("own", "limit", "exclude"):
        begun = begun.split(" ")[-1]
        ends = "" if word == "exclude" else "="
        names = [name for name in offers if name.startswith(begun)] if "=" not in begun else []
        stem = last.strip()[: len(last.strip()) - len(begun)]
        if names and begun not in names:
            return [
                replace(type_option(offers[name]), value=f"{lead}{stem}{name}{ends}")
                for name in names
            ]
    try:
        limit_text.parsed(typed)
    except engine.EngineError as error:
        return [Option(last, str(error))]
    return [Option(last, "a comma begins another limit; enter applies them all")]


MATCH_COLUMNS = ("time", "cost", "note")
"""Columns of the list of compositions that the filter dialog shows, by their titles."""


def filter_compositions(app: PlannerApp) -> None:
    """What the list of compositions is to hold; what is left of it is shown while typing."""
    if app.answer is None:
        app.show_notice("there is nothing to filter yet", "warn")
        return
    state, answer, marks = app.state, app.answer, app.marks

    def matches(typed: str) -> list[Option]:
        found, _ = compositions.chosen_rows(
            replace(state, listed=typed), answer, marks, most=MAX_MATCHES
        )
        titles = [column.title for column in compositions.COLUMNS]
        shown = [dict(zip(titles, map(text_of, row), strict=True)) for row in found]
        return [
            Option(
                row["composition"], row["composition"], "  ".join(row[of] for of in MATCH_COLUMNS)
            )
            for row in shown
        ]

    _ask(
        app,
        "Filter the compositions",
        matches,
        lambda typed: app.dispatch(FilterList(typed.strip())),
        typed=state.listed,
        placeholder="r5.* measured; words or globs; nothing for all",
        empty="no composition holds that",
    )


def filter_list(app: PlannerApp, name: str) -> None:
    """The rows of a list that are to be seen; which ones that are is shown while typing."""
    table = app._panels.table(name)
    named = next((i for i, column in enumerate(table.columns) if column.shrink), 0)

    def option(index: int) -> Option:
        said = [text_of(cell) for cell in table.rows[index]]
        others = [words for place, words in enumerate(said) if words and place != named]
        return Option(said[named], said[named] or "  ".join(others), "  ".join(others))

    _ask(
        app,
        "Filter the list",
        lambda typed: [option(index) for index in table.matching(typed)[:MAX_MATCHES]],
        lambda typed: table.focus().narrow(typed),
        typed=table.wanted,
        placeholder="words that a row is to have; nothing for all",
        empty="no row has that",
    )


def _ask(
    app: PlannerApp,
    title: str,
    matches: Callable[[str], list[Option]],
    apply: Callable[[str], object],
    **looks: str,
) -> None:
    """Have a line typed, while what it matches is shown; `looks` are those of `Picker`."""
    dialog = Picker(title, matches, glyphs=app.glyphs, returns_typed=True, **looks)
    app.push_screen(dialog, _if_answered(apply))


def _if_answered(apply: Callable[[str], object]) -> Callable[[str | None], None]:
    """What is done with an answer; nothing where the dialog was left without one."""

    def answered(answer: str | None) -> None:
        if answer is not None:
            apply(answer)

    return answered


def type_option(offer: Offer) -> Option:
    """A type with its shape and price, in columns."""
    shape = offer.instance
    memory = f"{shape.memory_gib:,.1f}".removesuffix(".0")
    price = f"{money_text(offer.on_demand.usd_per_hour)}/h"
    return Option(shape.name, shape.name, f"{shape.vcpus:>3g} vCPU {memory:>8} GiB {price:>10}")


def _pick(
    app: PlannerApp,
    title: str,
    options: list[Option],
    now: str,
    action: Callable[[str], SetRanOn | SetCategory | SetModel | SetCatalog],
) -> None:
    chosen = _if_answered(lambda value: app.dispatch(action(value)))
    app.push_screen(_choice_of(app, title, options, now), chosen)


def _choice_of(app: PlannerApp, title: str, options: list[Option], now: str) -> Picker:
    """One of many, of which `now` is in use: that is said, and enter alone changes nothing."""
    told = [
        replace(option, detail=f"in use: {option.detail}".removesuffix(": "))
        if option.value == now
        else option
        for option in options
    ]
    return Picker(title, containing(told), glyphs=app.glyphs, current=now)
