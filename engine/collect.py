"""Makes training runs through spark-submit: one event log per planned experiment, in one folder.

The folder is then a SOURCE like any other. Other files in it start with a dot and are skipped when
the folder is read: the manifest, the output of each run, and the folder where a run in progress
writes. A log gets its name only when its run has succeeded, and no log is ever overwritten.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from engine.errors import BadInput, ServiceUnavailable
from engine.experiments.commands import Job, TrainingRun, command_of
from engine.experiments.submission import run_to_end
from engine.sources.distilling.hosts import SlowHost, slow_hosts
from engine.sources.training_manifest import MANIFEST, changed_files, code_hashes, read_manifest

_LOCK = ".sparkplan-collect.lock"
_OUTPUT = ".output"

Status = Literal["done", "kept", "failed", "planned"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run.

    Args:
        status: "kept" if the log was already there, "planned" in a dry run.
        seconds: wall-clock time of spark-submit; None if it did not run.
        reason: why the run failed, in one line.
        slow: slow hosts, which would mislead the model (Ernest 4.3).
        changed: program files that differ from those behind a kept log (Ernest 5).
        code: hash of each file of the program that is found here.
    """

    run: TrainingRun
    status: Status
    command: tuple[str, ...]
    seconds: float | None = None
    reason: str | None = None
    slow: tuple[SlowHost, ...] = ()
    changed: tuple[str, ...] = ()
    code: Mapping[str, str] | None = None


def collect_runs(
    runs: Sequence[TrainingRun],
    job: Job,
    folder: Path,
    *,
    dry_run: bool = False,
    keep_going: bool = False,
    timeout_seconds: float | None = None,
) -> Iterator[Outcome]:
    """Makes the runs that the folder does not hold yet, one after the other.

    Stops after the first failed run unless `keep_going`; the same call then resumes. The commands
    of a dry run, to be run by hand, write their logs into the folder itself, which must exist.

    Raises:
        BadInput: when the folder cannot be used, or another collection is writing to it.
    """
    folder = folder.absolute()
    if dry_run:
        for run in runs:
            command = command_of(run, job, folder)
            kept = (folder / run.name).exists()
            yield _kept(run, command, folder) if kept else Outcome(run, "planned", command)
        return
    with _locked(folder):
        read_manifest(folder)
        for run in runs:
            outcome = _made(run, job, folder, timeout_seconds)
            _record(folder, outcome)
            yield outcome
            if outcome.status == "failed" and not keep_going:
                return


def _workplace(folder: Path, run: TrainingRun) -> Path:
    return folder / f".running-{run.name}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lets only one collection write to a folder; the system drops the lock with the process."""
    try:
        (folder / _OUTPUT).mkdir(parents=True, exist_ok=True)
        handle = open(folder / _LOCK, "w")  # noqa: SIM115 - closed below, after the lock's time
    except OSError as error:
        raise BadInput(error.strerror or "cannot be written to", where=str(folder)) from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput("another collection is writing here", where=str(folder)) from None
        yield


def _made(run: TrainingRun, job: Job, folder: Path, timeout_seconds: float | None) -> Outcome:
    target, workplace = folder / run.name, _workplace(folder, run)
    command = command_of(run, job, workplace)
    if target.exists():
        return _kept(run, command, folder)
    shutil.rmtree(workplace, ignore_errors=True)
    workplace.mkdir()
    code = code_hashes(command[1:])
    start = time.monotonic()
    try:
        reason = run_to_end(command, folder / _OUTPUT / f"{run.name}.txt", timeout_seconds)
        seconds = time.monotonic() - start
        if reason is None:
            reason = _put_in_place(workplace, target)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    if reason is not None:
        return Outcome(run, "failed", command, seconds, reason, code=code)
    return Outcome(run, "done", command, seconds, slow=slow_hosts(target), code=code)


def _kept(run: TrainingRun, command: tuple[str, ...], folder: Path) -> Outcome:
    """The outcome of a run whose log is already there, with changes in the program since then."""
    entry = read_manifest(folder).get(run.name)
    before = entry.get("code") if isinstance(entry, Mapping) else None
    return Outcome(run, "kept", command, changed=changed_files(before, code_hashes(command[1:])))


def _put_in_place(workplace: Path, target: Path) -> str | None:
    """Moves the finished event log to its name; returns why there is none, or None."""
    logs = sorted(path for path in workplace.iterdir() if not path.name.startswith("."))
    finished = [path for path in logs if path.is_file() and path.suffix != ".inprogress"]
    if len(finished) != 1:
        if logs and not finished:
            return "the event log is not finished: the application did not stop its SparkContext"
        return f"the run left {len(finished) or 'no'} event log{'s' if finished else ''}"
    try:
        # A link fails where the name is taken: an existing log is never overwritten.
        os.link(finished[0], target)
    except FileExistsError:
        return f"{target.name} appeared meanwhile and was left as it is"
    except OSError as error:
        return f"the event log could not be moved: {error.strerror}"
    return None


def _record(folder: Path, outcome: Outcome) -> None:
    """Adds an outcome to the manifest, which is replaced as a whole."""
    path = folder / MANIFEST
    entries = read_manifest(folder)
    if outcome.status == "kept" and outcome.run.name in entries:
        return
    experiment = outcome.run.experiment
    entries.pop(outcome.run.name, None)  # The run that was made last stands last.
    entries[outcome.run.name] = {
        "status": "done" if outcome.status == "kept" else outcome.status,
        "nodes": experiment.nodes,
        "instance": experiment.instance,
        "fraction": experiment.fraction,
        "values": dict(outcome.run.values),
        "command": list(outcome.command),
        "seconds": outcome.seconds,
        "reason": outcome.reason,
        "slow_hosts": [asdict(slow) for slow in outcome.slow],
        "code": None if outcome.code is None else dict(outcome.code),
    }
    text = json.dumps({"runs": entries}, indent=1, ensure_ascii=False)
    temporary = path.with_suffix(".new")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ServiceUnavailable(error.strerror or "cannot be written", where=str(path)) from None
