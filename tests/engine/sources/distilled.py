"""A log written and read again, for the tests of what logs mean."""

from pathlib import Path

import sparklog as log

from engine.profile import Run
from engine.sources import read
from engine.stage_run import StageRun


def run_of(folder: Path, events: list[log.Event]) -> Run:
    (run,) = read(log.write(folder / "app", events)).runs
    return run


def stage_of(run: Run, stage_id: int) -> StageRun:
    return next(stage for stage in run.stages if stage.stage_id == stage_id)
