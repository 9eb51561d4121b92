"""The measured and the predicted run on one time scale: stages with their waves, driver time, idle
cores and the critical path. Letters and fills repeat what colours say."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import engine
from tui.widgets.frame import Frame
from tui.widgets.gantt import Gantt, GanttData, GanttRow, Span
from tui.widgets.glyphs import Glyphs

if TYPE_CHECKING:
    from engine import StageSpan, Timeline

MEASURED, PREDICTED = "measured", "predicted"
LABEL_CELLS = len(PREDICTED)
_EDGE_CELLS = 2
_BELOW_ROWS = 3
_ALL_ROWS = 10_000

STAGE, SKEWED, DRIVER, IDLE = 1, 2, 4, 5
"""Colour slots of the chart."""

WAVE, SKEW, SHORT = "|", "!", "*"

MIN_WAVE_CELLS = 3
"""Wave boundaries are drawn where each wave has at least this width; closer ones would hide the
bar."""

MIN_GAP_CELLS = 0.5
"""Driver time shorter than this is not drawn: in a whole cell it would look longer than it is."""

_CLOCK_SHARE = 1e-6
"""Share of the run time: stages that overlap by less are taken as consecutive."""


class StageGantt(Gantt):
    """Two runs above each other; the detail depends on the size."""

    def __init__(self, *, glyphs: Glyphs, id: str | None = None) -> None:
        super().__init__(glyphs=glyphs, id=id)
        self._measured: Timeline | None = None
        self._predicted: Timeline | None = None
        self._deadline: float | None = None

    def show_runs(
        self,
        measured: Timeline | None,
        predicted: Timeline | None,
        *,
        deadline_seconds: float | None = None,
    ) -> None:
        """Show other runs; None where a run has no stages."""
        self._measured, self._predicted = measured, predicted
        self._deadline = deadline_seconds
        self.redraw()

    @property
    def wanted_height(self) -> int:
        """Rows of all lanes, of the axis and of the legend."""
        whole = gantt_data(
            self._measured, self._predicted, cells=1, rows=_ALL_ROWS, glyphs=self._glyphs
        )
        return len(whole.rows) + _BELOW_ROWS

    def draw(self, frame: Frame) -> None:
        """Draw the chart for this size."""
        self._data = gantt_data(
            self._measured,
            self._predicted,
            deadline_seconds=self._deadline,
            cells=frame.width - LABEL_CELLS - _EDGE_CELLS,
            rows=frame.height - _BELOW_ROWS,
            glyphs=self._glyphs,
        )
        super().draw(frame)


def gantt_data(
    measured: Timeline | None,
    predicted: Timeline | None,
    *,
    deadline_seconds: float | None = None,
    cells: int,
    rows: int,
    glyphs: Glyphs,
) -> GanttData:
    """Bars for `cells` cells of time and about `rows` rows.

    The first row of a run is its critical path with the driver time between; stages that ran in
    parallel with it come below, idle cores last.
    """
    runs = [(name, run) for name, run in ((MEASURED, measured), (PREDICTED, predicted)) if run]
    if not runs:
        return GanttData(message="neither the evidence nor the model has stages")
    end = max(run.seconds for _, run in runs)
    bars: list[GanttRow] = []
    for index, (name, run) in enumerate(runs):
        rows_left = (rows - len(bars)) // (len(runs) - index)
        bars += _run_rows(name, run, end=end, cells=max(1, cells), rows_left=rows_left)
    within = deadline_seconds is not None and deadline_seconds < end
    marks = (deadline_seconds,) if within and deadline_seconds else ()
    density = max(1, cells) / end
    legend = legend_of(bars, glyphs, cells_per_second=density, deadline=bool(marks))
    return GanttData(tuple(bars), end, marks, legend)


def legend_of(
    rows: list[GanttRow], glyphs: Glyphs, *, cells_per_second: float, deadline: bool
) -> tuple[tuple[str, int, str], ...]:
    """The legend: the symbols that occur in these rows."""
    spans = [span for row in rows for span in row.spans]
    letters = {
        span.letter
        for span in spans
        if not span.caption or (span.end - span.start) * cells_per_second <= len(span.caption) + 1
    }
    skewed = any(span.kind == SKEWED for span in spans)
    entries = [
        (glyphs.filled, STAGE, "critical", any(span.strong for span in spans)),
        (glyphs.track, STAGE, "stage", any(not s.strong and s.kind == STAGE for s in spans)),
        (WAVE, STAGE, "wave", WAVE in letters),
        (SHORT, STAGE, "short", SHORT in letters),
        (SKEW, SKEWED, "skew", skewed),
        ("d", DRIVER, "driver", "d" in letters),
        ("9", IDLE, "idle/10", any(span.kind == IDLE for span in spans)),
        (glyphs.vertical, DRIVER, "deadline", deadline),
    ]
    return tuple((letter, kind, word) for letter, kind, word, occurs in entries if occurs)


def _run_rows(
    name: str, run: Timeline, *, end: float, cells: int, rows_left: int
) -> list[GanttRow]:
    """One run: the critical path, other stages in as many lanes as fit, idle cores."""
    path = _clipped([stage for stage in run.stages if stage.critical])
    spans = [span for stage in path for span in _stage_spans(stage, end=end, cells=cells)]
    spans += [
        Span(first, last, DRIVER, "d")
        for first, last in run.driver
        if (last - first) * cells >= MIN_GAP_CELLS * end
    ]
    rows = [GanttRow(name, tuple(sorted(spans, key=lambda span: span.start)))]
    others = lanes([stage for stage in run.stages if not stage.critical], run.seconds)
    max_lanes = max(1, rows_left - 2)
    for index, lane in enumerate(others[:max_lanes]):
        hidden = sum(map(len, others[max_lanes:])) if index == max_lanes - 1 else 0
        beside = [span for stage in lane for span in _stage_spans(stage, end=end, cells=cells)]
        rows.append(GanttRow(f"  +{hidden} more" if hidden else "  beside", tuple(beside)))
    idle = _idle_spans(run, end=end, cells=cells)
    return [*rows, GanttRow("  idle", idle)] if idle else rows


def _clipped(path: list[StageSpan]) -> list[StageSpan]:
    """Each stage ends where the next begins: a stage may begin while the last tasks of the one that
    it waited for still run."""
    ends = [stage.start_seconds for stage in path[1:]] + [math.inf]
    return [
        replace(stage, end_seconds=min(stage.end_seconds, max(stage.start_seconds, end)))
        for stage, end in zip(path, ends, strict=True)
    ]


def lanes(stages: list[StageSpan], seconds: float) -> list[list[StageSpan]]:
    """Stages in as few lanes as possible without overlap (first fit), in order of start."""
    packed: list[list[StageSpan]] = []
    for stage in sorted(stages, key=lambda stage: stage.start_seconds):
        start = stage.start_seconds + _CLOCK_SHARE * seconds
        for lane in packed:
            if lane[-1].end_seconds <= start:
                lane.append(stage)
                break
        else:
            packed.append([stage])
    return packed


def _stage_spans(stage: StageSpan, *, end: float, cells: int) -> list[Span]:
    """A bar that begins with the stage's number, divided at the ends of waves where these are
    visible."""
    skewed = stage.bottleneck == "skew"
    kind = SKEWED if skewed else STAGE
    caption = f"{stage.stage_id}{SKEW if skewed else ''}"
    letter = SKEW if skewed else SHORT
    first, strong = stage.start_seconds, stage.critical
    wave = stage.seconds / stage.waves if stage.waves and stage.waves > 1.0 else stage.seconds
    if wave * cells < MIN_WAVE_CELLS * end:
        wave = stage.seconds
    spans: list[Span] = []
    while first < stage.end_seconds - 1e-9 * end or not spans:
        last = min(first + wave, stage.end_seconds)
        if spans:
            spans.append(Span(first, last, kind, WAVE, strong=strong))
        else:
            spans.append(Span(first, last, kind, letter, caption, strong))
        if last <= first:
            break
        first = last
    return spans


def _idle_spans(run: Timeline, *, end: float, cells: int) -> tuple[Span, ...]:
    """One digit per cell: tenths of the cores that are idle; nothing where that is not known."""
    shown = max(1, round(run.seconds / end * cells))
    moments = [end * cell / cells for cell in range(shown + 1)]
    moments[-1] = max(run.seconds, moments[-2] + 1e-9 * end)
    shares = run.idle_shares(moments)
    return tuple(
        Span(first, last, IDLE, str(min(9, int(share * 10.0 + 1e-9))) if share >= 0.1 else ".")
        for first, last, share in zip(moments[:-1], moments[1:], shares, strict=True)
        if share is not None
    )


def runs_of(
    profile: engine.Profile, prediction: engine.Prediction | None
) -> tuple[Timeline | None, Timeline | None]:
    """The timelines of the largest measured run and of the predicted one."""
    largest = profile.largest_run
    return (
        engine.measured_timeline(largest) if largest else None,
        engine.predicted_timeline(prediction) if prediction else None,
    )
