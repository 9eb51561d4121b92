"""Real logs below `tests/data`: of many jobs a smaller run and a larger, each of which predicts the
other."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from engine import read
from engine.models.replay.replayed_run import Replay
from engine.profile import Run
from engine.stage_run import StageRun

DATA = Path(__file__).parents[2] / "data"


@cache
def logged(name: str) -> Run:
    """The run of a log."""
    return read(DATA / f"{name}.zstd").runs[0]


def log_pair(name: str) -> tuple[Run, Run]:
    """The smaller and the larger run of a job."""
    return logged(name), logged(f"{name}_more")


def tasks_of(
    run: Run, slots: int | None, ratio: float, stages: Sequence[StageRun] | None = None
) -> list[int]:
    """Predicted tasks of a run's stages, of all or of these, on so many slots at `ratio` times its
    input."""
    assert slots is not None
    tasks = Replay.of(run).replayed(slots, ratio=ratio).tasks
    wanted = run.stages if stages is None else stages
    return [int(tasks[run.stages.index(stage)]) for stage in wanted]
