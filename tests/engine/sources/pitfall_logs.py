"""Logs of real runs in which something went wrong, and what is asked of them.

The logs in tests/data were made by `make_logs.py`; others are public ones, read where they are.
"""

import re
from pathlib import Path

from shared import SHARED

from engine.profile import Run
from engine.sources import read
from engine.sources.access import codecs
from engine.stage_run import StageRun

DATA = Path(__file__).parents[2] / "data"
PUBLIC = SHARED / "eventlogs"


def text_of(path: Path) -> bytes:
    return b"".join(codecs.open_path(path).chunks())


def one(*sources: Path) -> Run:
    (run,) = read(*sources).runs
    return run


def changed(log: Path, folder: Path, pattern: str, by: str) -> Run:
    """What a log tells once all that the pattern matches is replaced."""
    text, times = re.subn(pattern, by, text_of(log).decode())
    assert times
    path = folder / "changed"
    path.write_text(text)
    return one(path)


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


def notice(run: Run, code: str) -> str:
    (text,) = (notice.text for notice in run.notices if notice.code == code)
    return text


def stages_of(run: Run) -> dict[int, StageRun]:
    return {stage.stage_id: stage for stage in run.stages}


PLAIN = text_of(DATA / "plain.zstd")
RETRIES = text_of(DATA / "retries.zstd")
