"""The dialogs that the planner opens: their options, and what each answer changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
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
from tui.command_parser import completions
from tui.input_text import job_text, limit_text
from tui.screens.picker import Option, Picker, containing
from tui.storage import scenario_store
from tui.storage.user_folders import current_folder
from tui.typed_commands import CommandContext
from tui.views.composition_rows import listing
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
    """The command line with completion."""
    from tui.screens.picker import CommandLine

    context = names(app)

    def matches(typed: str) -> list[Option]:
        return [Option(line, line.strip(), what) for line, what in completions(typed, context)]

    async def run(line: str | None) -> None:
        if line is not None and line.strip():
            await app.run_command_line(line)

    dialog = CommandLine(
        "Command", matches, glyphs=app.glyphs, typed=begun, returns_typed=True,
        placeholder="deadline 45m, nodes 1:200, model ernest", empty="no command begins so",
    )  # fmt: skip
    app.push_screen(dialog, run)


def names(app: PlannerApp) -> CommandContext:
    """Valid arguments of typed commands."""
    return CommandContext(
        models=tuple(engine.MODELS_BY_NAME),
        catalogs=tuple(entry.name for entry in engine.list_catalogs()),
        categories=tuple(engine.CATEGORIES),
        instances=tuple(app.built.catalog.offers) if app.built else (),
        sources=tuple(sample.name for sample in engine.list_samples()),
        themes=tuple(sorted(app.available_themes)),
        scenarios=scenario_store.scenario_names(),
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
    """Open files, folders, samples, remote paths and history servers."""
    from tui.screens.open import ChosenSources, OpenScreen

    def apply(opened: ChosenSources) -> None:
        app.dispatch(OpenSources(opened.sources, add=opened.add))

    app.push_screen(OpenScreen(apply, glyphs=app.glyphs, here=current_folder()))


def ran_on(app: PlannerApp) -> None:
    """Choose the type on which the job was measured, from any catalog; those of the current one
    first."""
    # Offered without a plan too: the type may be what is missing, and while the evidence is read,
    # which begins anew with a type in any case.
    catalog = app.built.catalog if app.built else engine.load_catalog(engine.WhereItRan().catalog)
    options = [Option("", "as the log says", _machines_in_log(app))]
    options += [type_option(offer) for offer in _candidates_first(app, catalog)]
    options += other_catalog_types(catalog)
    now = app.state.ran_on or ""
    options.sort(key=lambda option: option.value not in ("", now))
    _pick(app, "Where did it run?", options, now, lambda name: SetRanOn(name or None))


def _machines_in_log(app: PlannerApp) -> str:
    """What holds where the user names no type."""
    if app.built is None:
        return ""
    if app.state.ran_on is not None:
        return "without a type that is named here"
    types = app.built.profile.instance_types
    return ", ".join(types[:2]) if types else "no type; a median machine is assumed"


def _candidates_first(app: PlannerApp, catalog: Catalog) -> list[Offer]:
    """All types of a catalog, the plan's candidates before those that are too small or hidden."""
    candidates = set(app.built.plan.surface.candidates.names) if app.built else set()
    return sorted(catalog.offers.values(), key=lambda offer: offer.instance.name not in candidates)


def other_catalog_types(chosen: Catalog) -> list[Option]:
    """The types of the other bundled catalogs, as TYPE@CATALOG; each type once."""
    options, seen = [], set(chosen.offers)
    for catalog in _bundled():
        for name, offer in catalog.offers.items():
            if name not in seen:
                seen.add(name)
                label = f"{name}@{catalog.name}"
                options.append(replace(type_option(offer), value=label, label=label))
    return options


@lru_cache(1)
def _bundled() -> tuple[Catalog, ...]:
    """All bundled catalogs; loading takes about 50 ms."""
    return tuple(engine.load_catalog(entry.path) for entry in engine.list_catalogs())


def category(app: PlannerApp) -> None:
    """Choose the kind of job."""
    options = [Option("", "as the log says")]
    options += [Option(name, name) for name in engine.CATEGORIES]
    now = app.state.category or ""
    _pick(app, "Kind of job", options, now, lambda name: SetCategory(name or None))


def model(app: PlannerApp) -> None:
    """Choose the model; each is shown with its summary."""
    options = [Option(entry.name, entry.name, entry.summary) for entry in engine.MODELS]
    _pick(app, "Model", options, app.state.model, SetModel)


def catalog(app: PlannerApp) -> None:
    """Choose a bundled price catalog, or that of where the job ran."""
    catalogs = {entry.name: entry for entry in engine.list_catalogs()}
    detail = f"here {app.built.catalog.name}" if app.built and app.state.catalog is None else ""
    options = [Option("", "of where it ran", detail or "by the evidence, or by w; else aws")]
    options += [Option(name, name, f"{e.region}, {e.date}") for name, e in catalogs.items()]
    now = app.state.catalog or ""
    _pick(app, "Price catalog", options, now, lambda name: SetCatalog(name or None))


def instances(app: PlannerApp) -> None:
    """Type globs of types; the matching types are shown meanwhile."""
    options = [type_option(offer) for offer in _offers(app)]

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
        empty="no type of this catalog matches" if app.built else "no type matches",
    )


def _offers(app: PlannerApp) -> list[Offer]:
    """The types to choose from. Without a plan, while the evidence is read or where the types are
    what was refused: those of the catalog that is named, else of all bundled ones."""
    if app.built is not None:
        return _candidates_first(app, app.built.catalog)
    named = app.state.catalog
    catalogs = _bundled() if named is None else (engine.load_catalog(named),)
    offers: dict[str, Offer] = {}
    for each in catalogs:
        for name, offer in each.offers.items():
            offers.setdefault(name, offer)
    return list(offers.values())


def no_plan(app: PlannerApp) -> str:
    """Why nothing can be done with a plan: it is not there yet, was refused or cancelled."""
    if not app.busy and app.sticky_notice:
        return "there is no plan: esc says why"
    if not app.busy:
        return "there is no plan yet: its building was cancelled"
    being_built = app.evidence_before_plan is not None
    return "the plan is still being built" if being_built else "the evidence is still being read"


def limits(app: PlannerApp, line: str | None = None) -> None:
    """Type all limits in one line, with completion. A refused line stays, to be corrected."""
    offers = app.built.catalog.offers if app.built else {}

    def apply(typed: str) -> None:
        try:
            app.dispatch(SetLimits(limit_text.parse_limits(typed)))
        except engine.EngineError:
            limits(app, typed)

    _ask(
        app,
        "Limits",
        partial(limit_options, offers),
        apply,
        typed=limit_text.line_of(app.state.limits) if line is None else line,
        placeholder="own m5.xlarge=10, limit c5.*=20, max-vcpus 512, min-nodes 3",
        empty=limits_said,
    )


def limit_options(offers: Mapping[str, Offer], typed: str) -> list[Option]:
    """Completions of a line of limits: a word, then a type where it takes one."""
    head, _, last = typed.rpartition(",")
    lead, (word, space, prefix) = " " * bool(head), last.strip().partition(" ")
    if not space:
        clauses = [clause for clause in limit_text.CLAUSES if clause.word.startswith(word)]
        options = [Option(f"{lead}{c.word} ", f"{c.word} {c.takes}", c.what) for c in clauses]
        if options:
            return options
    elif word in ("own", "limit", "exclude"):
        prefix = prefix.split(" ")[-1]
        ends = "" if word == "exclude" else "="
        names = [name for name in offers if name.startswith(prefix)] if "=" not in prefix else []
        stem = last.strip()[: len(last.strip()) - len(prefix)]
        if names and prefix not in names:
            return [
                replace(type_option(offers[name]), value=f"{lead}{stem}{name}{ends}")
                for name in names
            ]
    return []


def limits_said(typed: str) -> str:
    """The error in a line of limits that nothing completes, or how it continues."""
    try:
        limit_text.parse_limits(typed)
    except engine.EngineError as error:
        return str(error)
    return "a comma begins another limit; enter applies them all"


def filter_compositions(app: PlannerApp) -> None:
    """Type a filter for the list of compositions; the matching rows are shown meanwhile. Before the
    first plan too: what is typed behind the key would be other keys."""

    def matches(typed: str) -> list[Option]:
        if app.answer is None:
            return []
        matching = listing(replace(app.state, listed=typed), app.answer, app.marks).briefs
        return [Option(composition, composition, figures) for composition, figures in matching]

    def empty(typed: str) -> str:
        return "no composition holds that" if app.answer else f"{no_plan(app)}; enter keeps it"

    _ask(
        app,
        "Filter the compositions",
        matches,
        lambda typed: app.dispatch(FilterList(typed.strip())),
        typed=app.state.listed,
        placeholder="r5.* measured; words or globs; nothing for all",
        empty=empty,
    )


def filter_list(app: PlannerApp, name: str) -> None:
    """Type a filter for a list; the matching rows are shown meanwhile."""
    table = app._panels.table(name)
    name_column = next((i for i, column in enumerate(table.columns) if column.shrink), 0)

    def option(index: int) -> Option:
        texts = [text_of(cell) for cell in table.rows[index]]
        other_texts = [text for index, text in enumerate(texts) if text and index != name_column]
        return Option(
            texts[name_column], texts[name_column] or "  ".join(other_texts), "  ".join(other_texts)
        )

    _ask(
        app,
        "Filter the list",
        lambda typed: [option(index) for index in table.matching(typed)],
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
    *,
    typed: str,
    placeholder: str,
    empty: str | Callable[[str], str] = "nothing matches",
) -> None:
    """Ask for a line of text, with the options that match it; the rest as for `Picker`."""
    dialog = Picker(
        title, matches, glyphs=app.glyphs, returns_typed=True,
        typed=typed, placeholder=placeholder, empty=empty,
    )  # fmt: skip
    app.push_screen(dialog, _if_answered(apply))


def _if_answered(apply: Callable[[str], object]) -> Callable[[str | None], None]:
    """A callback that applies an answer, and ignores a dialog that was left without one."""

    def answered(answer: str | None) -> None:
        if answer is not None:
            apply(answer)

    return answered


def type_option(offer: Offer) -> Option:
    """A type as an option with its shape and price in columns."""
    shape = offer.instance
    memory = f"{shape.memory_gib:,.1f}".removesuffix(".0")
    price = f"{engine.format_usd_to(offer.on_demand.usd_per_hour, HOURLY_DECIMALS)}/h"
    return Option(shape.name, shape.name, f"{shape.vcpus:>3g} vCPU {memory:>8} GiB {price:>11}")


HOURLY_DECIMALS = 4
"""Decimals of prices per hour, as providers quote them."""


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
    """A picker with the current value `now` marked; Enter alone changes nothing."""
    marked = [
        replace(option, detail=f"in use: {option.detail}".removesuffix(": "))
        if option.value == now
        else option
        for option in options
    ]
    return Picker(title, containing(marked), glyphs=app.glyphs, current=now)
