"""The sliders of the goal: deadline, budget, data size, most nodes, confidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message

import engine
from tui.arguments.options import parse_wait
from tui.changes import Action, SetBudget, SetConfidence, SetDeadline, SetMaxNodes, SetScale
from tui.reducer import nice_seconds
from tui.state import MAX_NODES, MAX_SCALE, MIN_SCALE, PlanState
from tui.views.bars import Bar
from tui.widgets.glyphs import Glyphs
from tui.widgets.numbers import bytes_text, money_text, number_of, number_text, shortest, time_text
from tui.widgets.scales import DiscreteScale, LogScale, Scale, Stops, discrete_stops, log_stops
from tui.widgets.slider import Slider

CONFIDENCES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
_DEADLINE_SPAN = 40.0
_BUDGET_SPAN = 30.0

_ROUNDED_BY = 0.006
"""Relative rounding error of a displayed size: a size typed as displayed at the slider's end is
accepted."""


@dataclass(frozen=True)
class Ranges:
    """The ranges of the sliders, and the unit of the data size.

    Args:
        seconds: typical time of a deadline; usd: typical cost of a budget.
        input_size: of the largest run, None where not known; `unit` is its unit.
        known: names of the goals whose range comes from evidence; before that it says nothing
            about sensible values.
    """

    seconds: float = 1800.0
    usd: float = 5.0
    input_size: float | None = None
    unit: str = "bytes"
    known: frozenset[str] = frozenset({"deadline", "budget"})

    @property
    def deadlines(self) -> tuple[float, float]:
        """Least and most seconds of the deadline slider."""
        return max(1.0, round(self.seconds / _DEADLINE_SPAN)), nice_seconds(
            max(60.0, self.seconds * _DEADLINE_SPAN)
        )

    @property
    def budgets(self) -> tuple[float, float]:
        """Least and most US dollars of the budget slider."""
        return _one_digit(self.usd / _BUDGET_SPAN), _one_digit(self.usd * _BUDGET_SPAN * 10)

    def size_text(self, scale: float) -> str:
        """The input at a multiple of the largest run: "2.1 TB", or "3x" where its size is not
        known."""
        if self.input_size is None:
            return f"{shortest(scale, 3)}x"
        amount = self.input_size * scale
        return bytes_text(float(f"{amount:.3g}")) if self.unit == "bytes" else number_text(amount)

    def parse_size(self, typed: str) -> float:
        """The multiple of the largest run that "3x", "2TB" or a number in the evidence's own unit
        means.

        Raises:
            BadInput: for anything else, and for what is beyond the slider: a state holds no more.
        """
        times = self._times(typed)
        engine.check_times(times, typed)
        clamped = min(max(times, MIN_SCALE), MAX_SCALE)
        if not math.isclose(times, clamped, rel_tol=_ROUNDED_BY):
            least, most = self.size_text(MIN_SCALE), self.size_text(MAX_SCALE)
            raise engine.BadInput(
                f"{typed!r} is {shortest(times, 3)} times the input of the runs: the planner goes "
                f"from {least} to {most}",
                remedy="add a log near that input; sparkplan predict --input-size goes further",
            )
        return clamped

    def _times(self, typed: str) -> float:
        times = engine.parse_times(typed)
        if times is not None:
            return times
        if self.input_size is None:
            raise engine.BadInput(
                f"{typed!r} is no multiple, and the input of the runs is not known here",
                remedy="type a factor such as 2x",
            )
        counted = number_of(typed) if self.unit != "bytes" else None
        if counted is not None:
            return counted / self.input_size
        if self.unit != "bytes" and engine.has_size_unit(typed):
            raise engine.BadInput(
                f"the input is counted in {self.unit}", remedy="type a plain number, or 2x"
            )
        return engine.parse_bytes(typed) / self.input_size


def _one_digit(value: float) -> float:
    return float(f"{value:.0e}")


def parse_nodes(typed: str) -> int:
    """A typed number of nodes.

    Raises:
        BadInput: for anything that no plan holds.
    """
    try:
        nodes = int(typed)
    except ValueError:
        nodes = 0
    if not 1 <= nodes <= MAX_NODES:
        raise engine.BadInput(
            f"{typed!r} is not a number of nodes", remedy=f"type 1 to {MAX_NODES}"
        )
    return nodes


def parse_budget(typed: str) -> float:
    """A typed amount in US dollars; thousands as the slider shows them ("$12k")."""
    thousands = number_of(typed.strip().removeprefix("$"))
    return engine.parse_usd(typed if thousands is None else f"{thousands:.12g}")


@dataclass(frozen=True)
class GoalSlider:
    """One slider: what it means to the state, and how its values are typed and shown.

    Args:
        value: of a state. action: sets a value. parse: a typed one. format: as it is shown.
        track: scale and stops.
        beyond: the kind of values of a goal that may be off, or beyond its track when typed; None
            for one that may not.
    """

    label: str
    value: Callable[[PlanState], float | None]
    action: Callable[[Any], Action]
    parse: Callable[[Ranges, str], float]
    format: Callable[[Ranges, float], str]
    track: Callable[[Ranges], tuple[Scale, Stops]]
    beyond: Literal["time", "money"] | None = None


def _log(low: float, high: float, kind: Literal["number", "money", "time"]) -> tuple[Scale, Stops]:
    return LogScale(low, high), log_stops(low, high, kind)


GOALS: dict[str, GoalSlider] = {
    "deadline": GoalSlider(
        "Deadline",
        lambda state: state.deadline_seconds,
        SetDeadline,
        lambda _, typed: parse_wait(typed),
        lambda _, seconds: time_text(seconds),
        lambda ranges: _log(*ranges.deadlines, "time"),
        beyond="time",
    ),
    "budget": GoalSlider(
        "Budget",
        lambda state: state.budget_usd,
        SetBudget,
        lambda _, typed: parse_budget(typed),
        lambda _, usd: money_text(usd),
        lambda ranges: _log(*ranges.budgets, "money"),
        beyond="money",
    ),
    "size": GoalSlider(
        "Data size",
        lambda state: state.scale,
        SetScale,
        Ranges.parse_size,
        Ranges.size_text,
        lambda _: _log(MIN_SCALE, MAX_SCALE, "number"),
    ),
    "nodes": GoalSlider(
        "Max nodes",
        lambda state: float(state.max_nodes),
        lambda nodes: SetMaxNodes(round(nodes)),
        lambda _, typed: float(parse_nodes(typed)),
        lambda _, nodes: f"{nodes:.0f}",
        lambda _: (
            LogScale(1.0, float(MAX_NODES)),
            log_stops(1.0, float(MAX_NODES), "count", least=1.0),
        ),
    ),
    "confidence": GoalSlider(
        "Confidence",
        lambda state: state.confidence,
        SetConfidence,
        lambda _, typed: engine.parse_confidence(typed),
        lambda _, share: f"{shortest(share * 100)} %",
        lambda _: (DiscreteScale(CONFIDENCES), discrete_stops(CONFIDENCES)),
    ),
}
"""The sliders by name, from top to bottom."""


def action_of(name: str, value: float | None) -> Action:
    """The action for a slider at a value; None is "off"."""
    if value is None and GOALS[name].beyond is None:
        raise ValueError(f"the {name} cannot be off")
    return GOALS[name].action(value)


def why_unknown(name: str) -> str:
    """Why a goal, "deadline" or "budget", can only be typed while its range is unknown."""
    what, example = ("time", "45m") if name == "deadline" else ("cost", "$5")
    return f"no {what} is known yet: press enter and type {example}"


GOAL_COLUMNS = 2
"""Sliders side by side where columns are few, as in `app.tcss`."""


class GoalPanel(Container):
    """The five sliders; posts `Moved` with the action for the new value."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "app.slider(-1)", "Slider above", show=False),
        Binding("down", "app.slider(1)", "Slider below", show=False),
    ]

    @dataclass(eq=False, repr=False)
    class Moved(Message):
        """A slider moved; a later message of the same slider replaces all that are queued."""

        name: str
        action: Action

        def can_replace(self, message: Message) -> bool:
            """Fifty queued steps cause one computation."""
            return isinstance(message, GoalPanel.Moved) and message.name == self.name

    @dataclass(eq=False, repr=False)
    class Refused(Message):
        """Typed text could not be parsed."""

        text: str

    @dataclass(eq=False, repr=False)
    class Typing(Message):
        """Typing a value into a slider has begun or ended."""

        editing: bool

    def __init__(self, state: PlanState, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._state = state
        self._glyphs = glyphs
        self._ranges = Ranges(known=frozenset())
        self._sliders: dict[str, Slider] = {}

    def compose(self) -> ComposeResult:
        """One slider per goal."""
        for name, goal in GOALS.items():
            scale, stops = goal.track(self._ranges)
            self._sliders[name] = Slider(
                goal.label,
                scale=scale,
                stops=stops,
                value=goal.value(self._state),
                parse=self._parser(name),
                format=partial(self._text, goal),
                errors=(engine.EngineError,),
                allow_off=goal.beyond is not None,
                start_unknown=name not in self._ranges.known,
                label_width=10,
                value_width=8,
                glyphs=self._glyphs,
                id=name,
            )
            yield self._sliders[name]
        yield Bar(self._glyphs, id="types")

    def slider(self, name: str) -> Slider:
        """One of the sliders; also while the app closes, and an answer comes too late."""
        return self._sliders[name]

    def show(self, state: PlanState, ranges: Ranges) -> None:
        """Show a state; ranges change only with the evidence, so that knobs keep their places. A
        goal outside its range, such as one chosen while other evidence is read, widens it."""
        before, self._ranges = self._ranges, ranges
        for name, goal in GOALS.items():
            value, slider = goal.value(state), self.slider(name)
            # A goal that is as unknown as before keeps a track that a typed value has widened.
            unknown = self._unknown(name)
            if ranges != before and not (unknown and name not in before.known):
                slider.set_range(*self._track(name, value), value, start_unknown=unknown)
            elif slider.value != value:
                if value is not None and not slider.holds(value):
                    slider.set_range(*self._track(name, value), value, start_unknown=unknown)
                slider.set_value(value)

    def on_slider_changed(self, event: Slider.Changed) -> None:
        """Post the action for the slider's value."""
        event.stop()
        name = str(event.slider.id)
        self.post_message(self.Moved(name, action_of(name, event.value)))

    def on_slider_start_unknown(self, event: Slider.StartUnknown) -> None:
        """Say why the slider does not move: only evidence gives a sensible first value."""
        event.stop()
        self.post_message(self.Refused(why_unknown(str(event.slider.id))))

    def on_slider_typing(self, event: Slider.Typing) -> None:
        """Pass it on."""
        event.stop()
        self.post_message(self.Typing(event.slider.editing))

    def _text(self, goal: GoalSlider, value: float) -> str:
        """A value as its slider shows it."""
        return goal.format(self._ranges, value)

    def _parser(self, name: str) -> Callable[[str], float]:
        """A parser of typed text whose refusals are also posted, to be shown where there is
        room."""

        def parse(typed: str) -> float:
            try:
                value = GOALS[name].parse(self._ranges, typed)
            except engine.EngineError as error:
                self.post_message(self.Refused(str(error)))
                raise
            self._widen_range(name, value)
            return value

        return parse

    def _widen_range(self, name: str, value: float) -> None:
        """Widen a track to a typed value outside it: the user knows better than a default."""
        slider = self.slider(name)
        if not slider.holds(value):
            track = self._track(name, value)
            slider.set_range(*track, slider.value, start_unknown=self._unknown(name))

    def _unknown(self, name: str) -> bool:
        """Whether no evidence says what values of a goal are sensible."""
        return GOALS[name].beyond is not None and name not in self._ranges.known

    def _track(self, name: str, value: float | None) -> tuple[Scale, Stops]:
        """The track of a slider, which holds the value of its goal."""
        goal = GOALS[name]
        scale, stops = goal.track(self._ranges)
        if goal.beyond is None or value is None or scale.low <= value <= scale.high:
            return scale, stops
        return _log(min(scale.low, value), max(scale.high, value), goal.beyond)
