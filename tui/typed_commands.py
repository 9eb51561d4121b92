"""The table of typed commands (":"): name, argument, and the action that each becomes.

One entry of `TYPED_COMMANDS` is one command. Numbers are read by the same parsers as values typed
into a slider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import engine
from tui import changes
from tui.arguments.options import parse_wait
from tui.changes import Action
from tui.input_text import job_text, limit_text, term_text, training_text
from tui.input_text.limit_text import OFF
from tui.state import (
    CATALOG_TERMS,
    MAX_TYPES,
    MEASURED_JOB,
    NO_LIMITS,
    TRAINING_PLANS,
    JobInputs,
    Limits,
    Terms,
)
from tui.storage.user_folders import expand_home, path_exists
from tui.views import pages
from tui.views.goal import Ranges, parse_nodes


@dataclass(frozen=True)
class CommandContext:
    """Valid arguments and current values for typed commands; filled by the app from what is loaded.

    Args:
        instances: types of the catalog; sources: bundled samples.
        limits, terms, job: the current values; a command changes one part of them.
        parameters: parameters of the job that the runs have; None where no runs are read.
    """

    models: tuple[str, ...] = ()
    catalogs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    ranges: Ranges = field(default_factory=Ranges)
    limits: Limits = NO_LIMITS
    terms: Terms = CATALOG_TERMS
    job: JobInputs = MEASURED_JOB
    parameters: tuple[str, ...] | None = None


CommandEffect = Action | str
"""An action on the state, or an action of the app in Textual's syntax ("view('stages')")."""


@dataclass(frozen=True)
class Command:
    """A typed command: its name, its argument ("" for none), what it does.

    Args:
        act: from the typed argument to the outcome; raises BadInput for an invalid one.
        values: arguments to offer for completion.
    """

    name: str
    takes: str
    what: str
    act: Callable[[str, CommandContext], CommandEffect]
    values: Callable[[CommandContext], Sequence[str]] = lambda names: ()


def _nodes(typed: str, names: CommandContext) -> Action:
    """ "200" or "1:200": plans always begin at one node."""
    low, colon, high = typed.rpartition(":")
    if colon and low.strip() != "1":
        raise engine.BadInput(f"{typed!r} does not begin at one node", remedy="type nodes 1:200")
    return changes.SetMaxNodes(parse_nodes(high))


def _one_of(known: Sequence[str], what: str, typed: str) -> str:
    if typed not in known:
        raise engine.UnknownName(what, typed, known)
    return typed


def _catalog(typed: str, names: CommandContext) -> Action:
    """A catalog, perhaps with a region behind it; a path may contain spaces."""
    if typed in OFF:
        return changes.SetCatalog(None)
    name, space, region = typed.rpartition(" ")
    if space and not path_exists(expand_home(typed)):
        return changes.SetCatalog(_path(name.strip()), region)
    return changes.SetCatalog(_path(typed))


def _path(typed: str) -> str:
    """A typed path with `~` expanded, which no shell does here; anything else as it is."""
    return str(expand_home(typed)) if typed.startswith("~") else typed


def _limit(word: str) -> Callable[[str, CommandContext], CommandEffect]:
    return lambda typed, names: changes.SetLimits(limit_text.with_clause(names.limits, word, typed))


def _limits(typed: str, names: CommandContext) -> CommandEffect:
    if not typed:
        return "limits"
    return changes.SetLimits(NO_LIMITS if typed in OFF else limit_text.parse_limits(typed))


def _term(word: str) -> Callable[[str, CommandContext], CommandEffect]:
    return lambda typed, names: changes.SetTerms(term_text.with_term(names.terms, word, typed))


def _term_values(word: str) -> Callable[[CommandContext], Sequence[str]]:
    known = {"platform": tuple(engine.PLATFORMS), "fill-nodes": ("on",)}.get(word, ())
    return lambda names: (*known, "off")


def _limit_values(word: str) -> Callable[[CommandContext], Sequence[str]]:
    """Arguments to offer: types and globs are followed by "=" and a number."""
    if word in ("own", "limit"):
        return lambda names: [f"{name}=" for name in names.instances]
    if word == "own-master":
        return lambda names: ("on", "off")
    if word == "arch":
        return lambda names: ("x86_64", "arm64", "off")
    return lambda names: names.instances if word == "exclude" else ("off",)


def _mix(typed: str, names: CommandContext) -> Action:
    if typed not in _TYPES:
        raise engine.BadInput(
            f"{typed!r} is not a number of types", remedy=f"type 1 to {MAX_TYPES}"
        )
    return changes.SetMix(int(typed))


def _spot(typed: str, names: CommandContext) -> CommandEffect:
    if not typed:
        return "spot"
    if typed not in _SWITCH:
        raise engine.UnknownName(
            "state of spot prices", typed, _SWITCH,
            remedy="a share of the nodes is max-spot 50%, with spot on",
        )  # fmt: skip
    return changes.SetSpot(typed == "on")


def _training(typed: str, names: CommandContext) -> Action:
    if typed in OFF:
        return changes.SetTrainingBudget(None)
    amount, unit = training_text.budget_of(typed)
    return changes.SetTrainingBudget(amount, unit)


def _samples(typed: str, names: CommandContext) -> Action:
    return changes.SetSamples(
        () if typed in OFF else training_text.fractions_of(typed, _SAMPLE_STEPS)
    )


def _plan(typed: str, names: CommandContext) -> Action:
    _one_of(TRAINING_PLANS, "plan", typed)
    return changes.SetTrainingPlan(next(plan for plan in TRAINING_PLANS if plan == typed))


def _view(typed: str, names: CommandContext) -> CommandEffect:
    matches = [view for view in pages.NAMES if view.startswith(typed)]
    if len(matches) != 1:
        raise engine.UnknownName("view", typed, pages.NAMES)
    return f"view({matches[0]!r})"


def _chart(typed: str, names: CommandContext) -> CommandEffect:
    if typed.lower().endswith(_CHART_FILES):
        return f"save_chart({typed!r})"
    if typed not in _CHARTS:
        raise engine.BadInput(
            f"there is no chart {typed!r}", remedy="type time, cost, or a file .svg or .csv"
        )
    return changes.ShowChart("cost" if typed == "cost" else "time")


def _zoom(typed: str, names: CommandContext) -> CommandEffect:
    """ "4:32" nodes, "10m:1h" of time, "$1:$4" of cost; "in", "out", "all"."""
    if typed in _ZOOMS:
        return f"zoom({typed!r})"
    low, colon, high = (part.strip() for part in typed.partition(":"))
    if not (low and colon and high):
        raise engine.BadInput(
            f"{typed!r} is no part of an axis", remedy="type 4:32, 10m:1h, $1:$4, in, out or all"
        )
    axis, ends = _axis_and_range(low, high)
    if not 0 < ends[0] < ends[1]:
        raise engine.BadInput(f"{typed!r} runs backwards", remedy="type the smaller one first")
    return f"zoom_to({axis!r}, {ends[0]!r}, {ends[1]!r})"


def _axis_and_range(low: str, high: str) -> tuple[str, tuple[float, float]]:
    """The axis of a range, recognised by its units, and its two values."""
    if "$" in low + high or "usd" in f"{low}{high}".lower():
        return "cost", (engine.parse_usd(low), engine.parse_usd(high))
    if low.isdigit() and high.isdigit():
        return "nodes", (float(low), float(high))
    return "time", (engine.parse_seconds(low), engine.parse_seconds(high))


def _axis(typed: str, names: CommandContext) -> CommandEffect:
    axis, _, kind = typed.partition(" ")
    if axis not in ("x", "y") or kind.strip() not in ("", "log", "linear"):
        raise engine.BadInput(
            f"{typed!r} is no kind of axis", remedy="type x log, x linear, y log or y linear"
        )
    return f"log({axis!r}, {kind.strip()!r})"


def _draw(typed: str, names: CommandContext) -> CommandEffect:
    if typed in OFF:
        return "draw_types('')"
    wanted = typed.replace(",", " ").split()
    if names.instances:
        for name in wanted:
            if name not in names.instances:
                remedy = "type :draw and a space to list them"
                raise engine.UnknownName("instance type", name, names.instances, remedy=remedy)
    return f"draw_types({' '.join(wanted)!r})"


def _theme(typed: str, names: CommandContext) -> str:
    if typed not in names.themes:
        raise engine.UnknownName("theme", typed, names.themes, remedy=":theme alone lists them")
    return f"set_theme({typed!r})"


def _app_action(action: str) -> Callable[[str, CommandContext], CommandEffect]:
    return lambda typed, names: action


def _action_on(action: str) -> Callable[[str, CommandContext], CommandEffect]:
    return lambda typed, names: f"{action}({typed!r})"


_SWITCH, _CHARTS = ("on", "off"), ("time", "cost")
_CHART_FILES, _ZOOMS = (".svg", ".csv"), ("in", "out", "all")
_TYPES = tuple(str(number) for number in range(1, MAX_TYPES + 1))
EXAMPLES = {
    "deadline": "45m", "budget": "$12.50", "size": "3x", "nodes": "1:200", "param": "k=9",
    "iterations": "20", "own": "m5.xlarge=10", "limit": "c5.*=20", "max-vcpus": "512",
    "max-spot": "50%", "min-nodes": "3", "exclude": "t3.* t2.*", "mix": "2", "training": "$5",
    "samples": "1%:10%", "zoom": "4:32", "axis": "y linear", "at": "12", "draw": "c5.2xlarge",
    "confidence": "95%", "region": "us-east-1", "discount": "15%", "dbu-price": "premium-jobs",
    "platform": "kubernetes", "overhead-per-core": "512m", "dynamic-allocation": "2:20",
    "arch": "arm64", "plan": "peridot", "add": "app.zstd", "view": "frontier", "chart": "cost",
    "save": "nightly", "load": "nightly", "own-master": "on",
}  # fmt: skip
CHOICE_ACTIONS = {
    "model": "model", "catalog": "catalog", "instances": "instances", "ran-on": "ran_on",
    "category": "category", "open": "open", "theme": "theme",
}  # fmt: skip
"""Commands without an argument that open a list to choose from: the action that opens it."""
_SAMPLE_STEPS = 10

TYPED_COMMANDS: tuple[Command, ...] = (
    Command("deadline", "TIME|off", "finish within this time",
            lambda typed, _: changes.SetDeadline(None if typed in OFF else parse_wait(typed))),
    Command("budget", "USD|off", "pay at most this much for one run",
            lambda typed, _: changes.SetBudget(None if typed in OFF else engine.parse_usd(typed))),
    Command("size", "SIZE|Nx", "input of this size",
            lambda typed, names: changes.SetScale(names.ranges.parse_size(typed))),
    Command("param", "NAME=VALUE|off", "a parameter of the job",
            lambda typed, names: changes.SetJob(
                job_text.with_parameters(names.job, typed, known=names.parameters)),
            lambda names: [*(f"{name}=" for name in names.parameters or ()), "off"]),
    Command("iterations", "K|off", "of an iterative job",
            lambda typed, names: changes.SetJob(job_text.with_iterations(names.job, typed))),
    Command("nodes", "N", "at most this many nodes", _nodes),
    Command("confidence", "P", "meet the deadline this surely",
            lambda typed, _: changes.SetConfidence(engine.parse_confidence(typed))),
    Command("model", "NAME", "predict with this model",
            lambda typed, names: changes.SetModel(_one_of(names.models, "model", typed)),
            lambda names: names.models),
    Command("catalog", "NAME|FILE [REGION]|off", "prices; off: of where it ran", _catalog,
            lambda names: [*names.catalogs, "off"]),
    *(
        Command(word, takes, what, _term(word), _term_values(word))
        for word, (takes, what) in term_text.TERMS.items()
    ),
    Command("instances", "GLOB,...|off", "candidate types",
            lambda typed, _: changes.SetInstances(
                () if typed in OFF else tuple(typed.replace(",", " ").split())),
            lambda names: names.instances),
    Command("ran-on", "TYPE|off", "where the job was measured",
            lambda typed, _: changes.SetRanOn(None if typed in OFF else typed),
            lambda names: names.instances),
    Command("category", "KIND|off", "kind of job",
            lambda typed, names: changes.SetCategory(
                None if typed in OFF else _one_of(names.categories, "kind of job", typed)),
            lambda names: names.categories),
    Command("spot", "[on|off]", "spot or on-demand prices", _spot, lambda names: _SWITCH),
    Command("mix", "N", "types per cluster at most", _mix, lambda names: _TYPES),
    *(
        Command(clause.word, f"{clause.takes}|off", clause.what, _limit(clause.word),
                _limit_values(clause.word))
        for clause in limit_text.CLAUSES
    ),
    Command("limits", "[LIMIT,...|off]", "all limits in one line", _limits, lambda names: ("off",)),
    Command("training", "USD|TIME|off", "what training runs may cost in all", _training,
            lambda names: ("off",)),
    Command("samples", "S1:S2|S,...|off", "sizes of training runs", _samples,
            lambda names: ("off",)),
    Command("plan", "|".join(TRAINING_PLANS), "whose rule chooses the training runs", _plan,
            lambda names: TRAINING_PLANS),
    Command("open", "SOURCE", "read this instead",
            lambda typed, _: changes.OpenSources((_path(typed),)),
            lambda names: names.sources),
    Command("add", "SOURCE", "read this as well",
            lambda typed, _: changes.OpenSources((_path(typed),), add=True),
            lambda names: names.sources),
    Command("view", "NAME", "look at another question", _view,
            lambda names: pages.NAMES),
    Command("chart", "time|cost|FILE.svg|FILE.csv", "which chart is seen; FILE: save them", _chart,
            lambda names: _CHARTS),
    Command("zoom", "LOW:HIGH|in|out|all", "look at a part of nodes, time or cost", _zoom,
            lambda names: _ZOOMS),
    Command("axis", "x|y [log|linear]", "an axis linear or logarithmic", _axis,
            lambda names: ("x log", "x linear", "y log", "y linear")),
    Command("at", "NODES", "what the charts say there",
            lambda typed, _: f"at({parse_nodes(typed)})"),
    Command("draw", "TYPE,...|off", "draw the curves of these types as well", _draw,
            lambda names: names.instances),
    Command("save", "NAME|FILE", "keep every input as a scenario", _action_on("scenario_save")),
    Command("load", "NAME|FILE", "open a scenario", _action_on("scenario_load"),
            lambda names: names.scenarios),
    Command("resume", "", "go on with the session that was left last", _app_action("resume")),
    Command("pin", "[NAME]", "keep this plan beside others in Compare", _action_on("pin")),
    Command("unpin", "[NAME|all]", "forget a pinned plan", _action_on("unpin"),
            lambda names: (*names.pins, "all")),
    Command("undo", "", "take back the last change", _app_action("undo")),
    Command("redo", "", "do it again", _app_action("redo")),
    Command("export", "", "text to paste", _app_action("export")),
    Command("copy", "", "the answer in a sentence", _app_action("copy")),
    Command("theme", "NAME", "colours", _theme, lambda names: names.themes),
    Command("notices", "", "what was said in this session", _app_action("notices")),
    Command("help", "", "keys and words", _app_action("help")),
    Command("tour", "", "two minutes through the planner", _app_action("tour")),
    Command("suspend", "", "to the shell; fg comes back", _app_action("suspend_process")),
    Command("quit", "", "leave", _app_action("quit")),
)  # fmt: skip
