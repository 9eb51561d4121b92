"""The states of a workflow report as text rows: one row per stage that runs in a state.

Shared by `sparkplan workflow` and the Workflow view, which add their own heading and styles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tui import format as text

if TYPE_CHECKING:
    from engine import StageInState, WorkflowReport, WorkflowState

LETTERS = {"cpu": "c", "disk": "d", "network": "n"}
NO_LETTER = "-"


class StateRow(NamedTuple):
    """One stage in one state, formatted.

    Args:
        number, start, end: of the state; empty in all of its rows but the first.
        name: "job: stage"; empty where only the driver works, as are `tasks` and `task_time`.
        tasks: how many tasks of the stage run at once.
        stage: None where only the driver works.
    """

    number: str
    start: str
    end: str
    name: str = ""
    tasks: str = ""
    task_time: str = ""
    stage: StageInState | None = None


def state_rows(
    report: WorkflowReport, *, included: Callable[[WorkflowState], bool] = lambda state: True
) -> Iterator[StateRow]:
    """A row for each stage in each state, in order of time.

    Args:
        included: whether a state is listed; states keep their numbers where others are left out.
    """
    for number, state in enumerate(report.states, 1):
        if not included(state):
            continue
        head = (str(number), text.seconds(state.start_seconds), text.seconds(state.end_seconds))
        if not state.running:
            yield StateRow(*head)
        for index, stage in enumerate(state.running):
            yield StateRow(
                *(head if index == 0 else ("", "", "")),
                name=f"{stage.job}: {stage.stage}",
                tasks=f"{stage.parallelism:,}",
                task_time=text.seconds(stage.task_seconds),
                stage=stage,
            )


def bottleneck_letter(stage: StageInState) -> str:
    """The bottleneck of a stage as one character: a capital where the resource is fully used."""
    letter = LETTERS.get(stage.bottleneck or "", NO_LETTER)
    return letter.upper() if stage.contended else letter
