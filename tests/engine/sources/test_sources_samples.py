"""The bundled samples of an installation that lacks some of their files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
from engine.sources import samples

INDEX = """\
- {name: kept, files: [kept.csv], category: core, kind: event-log, shows: a run}
- {name: lost, files: [lost.zstd], category: core, kind: event-log, shows: a run}
"""
RUNS = "nodes,input_size,seconds\n1,10,4\n2,10,3\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of samples in place of those of this installation."""
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    samples.list_samples.cache_clear()
    yield tmp_path
    samples.list_samples.cache_clear()


def test_an_installation_without_an_index_of_samples_says_so(installed: Path) -> None:
    """It seemed to bring no samples, and `sparkplan samples` printed nothing."""
    for ask in (engine.list_samples, lambda: engine.read("kept")):
        with pytest.raises(engine.BadInput, match=r"index\.yaml of the samples is not installed"):
            ask()
    own = installed / "own.csv"
    own.write_text(RUNS)
    assert len(engine.read(str(own)).runs) == 2


def test_an_installation_without_the_file_of_a_sample_says_so(installed: Path) -> None:
    (installed / "index.yaml").write_text(INDEX)
    (installed / "kept.csv").write_text(RUNS)
    assert [sample.name for sample in engine.list_samples()] == ["kept", "lost"]
    assert len(engine.read("kept").runs) == 2
    with pytest.raises(engine.BadInput, match=r"^lost: the file lost.zstd .* is not installed"):
        engine.read("lost")
