"""Sources that cannot be meant, and files among the logs of a folder that are none."""

import os
import threading
from pathlib import Path

import pytest
import sparklog as log

from engine.errors import BadInput
from engine.sources import read, reader
from engine.sources.logs import eventlog
from engine.sources.source_checks import unrecognised_error


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no-such-log.zstd", "no such file"),
        ("http://user:secret@host:18080", "SPARKPLAN_HISTORY_TOKEN"),
        ("ernest-rcv", "did you mean ernest-rcv1"),
        ("/dev/null", "is not a file"),
    ],
)
def test_sources_that_are_not_there(source: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        read(source)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("format: sparkplan-profile/1\nname: x\nruns: []\n", "profile"),
        ("nodes,input_size,seconds\n1,1GB,9\n", "run table"),
        ("format: sparkplan-workflow/1\njobs: []\n", "workflow"),
    ],
)
def test_what_a_folder_skips_is_called_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, kind: str
) -> None:
    """Each is a source by itself; and the folder that one stands in has a name too."""
    log.write(tmp_path / "app-1", log.one_stage(tasks=2))
    (tmp_path / "other").write_text(text)
    monkeypatch.chdir(tmp_path)
    (notice,) = read(".").notices
    assert notice.text == (
        f"1 of 2 files in {tmp_path.name} was skipped (first: other: is a {kind}, and of folders "
        "and zips event logs alone are read)"
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.yaml",
            "# mine\n---\njobs: []\n",
            "a.yaml:3: is YAML without `format:`; begin a profile ",
        ),
        ("a.yml", "#\n", "a.yml:1: is YAML without `format:`"),
        (
            "a.yaml",
            "#\nformat: 3\n",
            "a.yaml:2: unknown format '3' (choices: sparkplan-profile/1, ",
        ),
        ("a", "format: sparkplan-profil/1\n", "a:1: unknown format 'sparkplan-profil/1'; did you "),
        (
            "a.yaml",
            "shapes_of: x\n",
            "a.yaml: is a price catalog; name it as the catalog, not as a job",
        ),
        ("a.txt", "format: text/plain\n", "a.txt: is not an event log, a profile or a run table; "),
        (
            "a.csv",
            "# nodes,input_size,seconds\n2,1GB,100\n4,1GB,60\n",
            "a.csv:1: the heading of a run table is a comment; remove the # before it",
        ),
        ("a.txt", "ERROR: no\n", "a.txt: is not an event log, a profile or a run table; "),
        (
            "a.csv",
            "Nightly runs;;\n\nNodes;Input Size;Seconds\n2;10;100\n",
            "a.csv:3: the heading of a run table stands below other lines; delete the lines above",
        ),
    ],
)
def test_what_is_nearly_a_source_is_told_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as caught:
        read(name)
    assert str(caught.value).startswith(said)


def test_a_folder_of_other_files_costs_little_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong is worked out for the first alone, and nothing is made ready for any; a
    reading that passes them over has come to its end all the same."""
    made = {"logs": 0, "reasons": 0}

    class Counted(eventlog.EventLog):
        def __init__(self) -> None:
            made["logs"] += 1
            super().__init__()

    def counted(start: bytes, where: str, *, kind: str | None) -> BadInput:
        made["reasons"] += 1
        return unrecognised_error(start, where, kind=kind)

    monkeypatch.setattr(eventlog, "EventLog", Counted)
    monkeypatch.setattr(reader, "unrecognised_error", counted)
    for number in range(20):
        (tmp_path / f"a{number}.txt").write_text("a line of text\n" * 20_000)
    log.write(tmp_path / "b", log.one_stage(tasks=2))
    told: list[tuple[int, int | None]] = []
    (notice,) = read(tmp_path, progress=lambda done, total: told.append((done, total))).notices
    assert "20 of 21 files" in notice.text
    assert made == {"logs": 1, "reasons": 1}
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert told[-1] == (size, size)


def test_a_workflow_from_a_pipe_is_told_to_be_a_file(tmp_path: Path) -> None:
    """It was told to be given alone to the command that it was given to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "format: sparkplan-workflow/1\njobs: []\n"
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    with pytest.raises(BadInput, match="is a workflow, not a job; save it as a file, beside which"):
        read(pipe)
    writer.join()
