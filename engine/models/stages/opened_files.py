"""The work of opening files, whose number need not follow the data.

A reader opens each of its files (`FileScanRDD`), and a writer of folders a file in each folder that
it has rows of (`DynamicPartitionDataSingleWriter`), however little these hold. Of a table that the
run wrote in folders more data makes larger files, not more, if each task has rows of all folders.

In: a stage, and the stage that wrote the files that it reads. Out: how many files it opens and how
their number grows, and their share of its work. Explained in
docs/models/sparkplan_rules_replay.md#files-that-are-opened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.models.stages.disturbance import computes_in_python
from engine.models.stages.set_up import SET_UP_SECONDS, reading_seconds, share_of_data
from engine.stage_run import StageRun

FILE_SECONDS = 0.003
"""Prior median of the time to open one file, and to begin and end it. CPU time for each file more
of the same rows, of 100 and 400 files in Spark 3.5.9 on warm code: written 3.1 to 5.3 ms, read 1.3
to 2.8 ms (JSON, CSV, Parquet, ORC)."""


@dataclass(frozen=True, slots=True)
class OpenedFiles:
    """The files of tables with folders that the tasks of a stage open.

    Args:
        share: share of the stage's work that goes to opening them, beyond one for each task.
        power: their number grows with the data to this power, and with the number of tasks that
            write them to the power 1 - `power` (Heaps' law, each task being a sample).
    """

    share: float
    power: float

    def growth(self, ratio: float, tasks: float) -> float:
        """Growth of their number at `ratio` times the data, if those who write them are `tasks`
        times as many."""
        return math.pow(ratio, self.power) * math.pow(tasks, 1.0 - self.power)


def opened_files(stage: StageRun, writer: StageRun) -> OpenedFiles | None:
    """What a stage opens of the files of `writer`: the stage that wrote what it reads, or itself.
    None if their number follows the data, as far as is known, or is no more than that of tasks."""
    power = files_power(writer)
    files = (stage.written_files if writer is stage else stage.files_read) or 0.0
    beyond = files / stage.tasks - 1.0
    seconds, reading = _task_seconds(stage), reading_seconds(stage)
    if power is None or power >= 1.0 or beyond <= 0.0 or seconds <= 0.0 or reading <= 0.0:
        return None
    opening = 1.0 - share_of_data(seconds, reading, typical_seconds=beyond * FILE_SECONDS)
    return OpenedFiles(min(opening, beyond * SET_UP_SECONDS / seconds), power)


def _task_seconds(stage: StageRun) -> float:
    """Mean time that a task computes; that it runs, if it computes in Python or the log does not
    say. A task that waits for a core or a store is taken to wait in all of its parts alike."""
    computed = stage.cpu_seconds.mean if stage.cpu_seconds else None
    known = computed and not computes_in_python(stage)
    return (computed if known else stage.task_seconds.mean) or 0.0


def files_power(writer: StageRun) -> float | None:
    """Power of the data with which the files of a table grow in number that `writer` wrote in
    folders: 0 if each of its tasks has rows of all folders, and 1 if each has its own.

    None if it wrote no folders, alone or after rows were brought together by folder, so that tasks
    cannot show it, or if files are cut by rows (`maxRecordsPerFile`).
    """
    files, folders, tasks = writer.written_files, writer.written_folders, writer.tasks
    if not files or not folders or tasks < 2 or not folders < files <= tasks * folders:
        return None
    return min(1.0, math.log(tasks * folders / files) / math.log(tasks))
