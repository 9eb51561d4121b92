"""The bundled samples: what `sample_logs/index.yaml` lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engine.errors import BadInput

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

INDEX = "index.yaml"


@dataclass(frozen=True, slots=True)
class Sample:
    """One bundled sample: its name as a SOURCE, its files, and what it shows.

    `kind` is "event-log" (of real runs), "profile" (published figures) or "workflow"; `iterations`
    is the job's number of iterations, which a log does not contain.
    """

    name: str
    files: tuple[str, ...]
    category: str
    kind: str
    shows: str
    iterations: float | None = None


@cache
def list_samples() -> tuple[Sample, ...]:
    """The bundled samples, in the order of their index.

    Raises:
        BadInput: when the installation lacks the index.
    """
    import yaml

    index = _installed(INDEX, where="samples")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = yaml.load(index.read_text(encoding="utf-8"), Loader=loader)
    return tuple(
        Sample(
            name=str(entry["name"]),
            files=tuple(str(name) for name in entry["files"]),
            category=str(entry["category"]),
            kind=str(entry["kind"]),
            shows=str(entry["shows"]),
            iterations=entry.get("iterations"),
        )
        for entry in entries
    )


def sample_named(name: str) -> Sample | None:
    """The sample of that name, None where there is none."""
    return next((sample for sample in list_samples() if sample.name == name), None)


def sample_files(sample: Sample) -> list[Traversable]:
    """The files of a sample.

    Raises:
        BadInput: when the installation lacks one of them.
    """
    return [_installed(name, where=sample.name) for name in sample.files]


def _installed(name: str, *, where: str) -> Traversable:
    """A file or folder of the samples, which an installation may lack."""
    from importlib.resources import files

    entry = files("sample_logs") / name
    if not entry.is_file() and not entry.is_dir():
        raise BadInput(
            f"the file {name} of the samples is not installed",
            where=where,
            remedy="install sparkplan again",
        )
    return entry
