"""Where the time of the best composition goes: its phases, and the stages of the replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import format as text
from tui.views import words
from tui.views.prose import Line, Prose
from tui.widgets.table import Column, Row, Table

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Prediction
    from tui.panels import Panels
    from tui.session import Answer

PHASE_COLUMNS = (
    Column(title="phase", shrink=True, least=12),
    Column(title="time", width=9, align="right"),
    Column(title="share", width=6, align="right"),
    Column(title="", width=24, priority=1),
)

STAGE_COLUMNS = (
    Column(title="stage", width=5, align="right"),
    Column(title="what", shrink=True, least=16),
    Column(title="tasks", width=7, align="right"),
    Column(title="waves", width=6, align="right", priority=2),
    Column(title="starts", width=9, align="right", priority=1),
    Column(title="takes", width=9, align="right"),
    Column(title="bound by", width=9, priority=1),
)

BAR_CELLS = 24


def fill(panels: Panels) -> list[Widget]:
    """A line, the phases, the stages."""
    return [
        panels.new(Prose, id="stages-about"),
        panels.panel(panels.new(Table, PHASE_COLUMNS, id="phases"), "Phases"),
        panels.panel(panels.new(Table, STAGE_COLUMNS, id="stage-list"), "Stages"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """The explanation of the best composition, as far as the model gives one."""
    explained = answer.explained
    panels.prose("stages-about").show(about(answer))
    phases = phase_rows(explained, bar=panels.glyphs.filled) if explained else []
    listed = stage_rows(explained) if explained else []
    panels.table("phases").show(phases, message="this model tells no phases")
    panels.widget("phases-panel").styles.height = max(1, len(phases)) + 3
    panels.table("stage-list").show(listed, message="this model predicts no single stages")


def about(answer: Answer) -> list[Line]:
    """What is explained here, in a line."""
    best = answer.best
    if best is None:
        return [[("Nothing can be predicted.", "muted")]]
    return [
        [
            (words.composition(best), "strong"),
            (f" takes {text.seconds(best.seconds)}", "base"),
            (_bound(answer), "base"),
            (_explained_as(answer), "muted"),
        ]
    ]


def _explained_as(answer: Answer) -> str:
    """What is explained in place of unlike nodes."""
    if answer.alike is None:
        return ""
    return f" Shown: {text.composition(dict(answer.alike))}, of about the same capacity."


def _bound(answer: Answer) -> str:
    explained = answer.explained
    return f", bound by {explained.bottleneck}." if explained and explained.bottleneck else "."


def phase_rows(explained: Prediction, *, bar: str) -> list[Row]:
    """Phases with their shares, as figures and as bars of `bar` characters."""
    return [
        (
            name,
            text.seconds(seconds),
            text.percent(seconds / explained.seconds),
            (bar * round(BAR_CELLS * min(1.0, seconds / explained.seconds)), "muted"),
        )
        for name, seconds in (explained.phases or {}).items()
    ]


def stage_rows(explained: Prediction) -> list[Row]:
    """The stages of the predicted run, in the order of their ids."""
    return [
        (
            str(stage.stage_id),
            stage.name,
            f"{stage.tasks:,}",
            f"{stage.waves:.1f}",
            text.seconds(stage.start_seconds),
            text.seconds(stage.end_seconds - stage.start_seconds),
            stage.bottleneck or "",
        )
        for stage in explained.stages
    ]
