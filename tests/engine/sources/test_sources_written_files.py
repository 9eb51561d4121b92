"""Who wrote the files that stages read, on a real log of tables that a job writes and reads."""

import json
import re
from pathlib import Path

import pytest
from pitfall_logs import DATA, changed, one, text_of

from engine import read
from engine.profile import Run
from engine.sources.formats.profile_text import format_profile
from engine.sources.logs.written_files import Write, WriteHistory, WrittenFiles

LOG = DATA / "written.zstd"
FOLDERS = 9
"""That two tasks wrote 20,000 rows of each file into, by one of their columns."""


def told(run: Run) -> list[tuple[float | None, float | None]]:
    """Files and folders of each write that another stage reads or that has folders."""
    return [
        (stage.written_files, stage.written_folders)
        for stage in run.stages
        if stage.written_files is not None
    ]


def test_a_reader_names_the_stage_that_wrote_its_files() -> None:
    run = one(LOG)
    by_id = {stage.stage_id: stage for stage in run.stages}
    readers = [stage for stage in run.stages if stage.files_by is not None]
    assert told(run) == [(2.0, 0.0), (18.0, FOLDERS), (9.0, FOLDERS), (54.0, 0.0)]
    for stage in readers:
        writer = by_id[stage.files_by or 0]
        assert writer.output_bytes is not None
        assert writer.completed_seconds <= stage.submitted_seconds
    *whole, some = readers
    assert [stage.files_read for stage in whole] == [2.0, 18.0, 9.0, 54.0]
    assert some.files_by == whole[1].files_by
    assert some.files_read == 6.0, "three of nine folders"


def test_paths_are_not_kept() -> None:
    text = format_profile(read(LOG))
    assert "files_by: 0" in text
    assert "written_folders: 9" in text
    assert "file:/" not in text


def test_a_table_that_lies_elsewhere_was_written_by_nobody(tmp_path: Path) -> None:
    run = changed(LOG, tmp_path, r"(Location\":\"InMemoryFileIndex\(1 paths\)\[file:)", r"\1/other")
    assert all(stage.files_by is None for stage in run.stages)
    assert told(run) == [(18.0, FOLDERS), (9.0, FOLDERS)], "tables in folders alone"


def test_files_that_were_there_before_leave_it_open(tmp_path: Path) -> None:
    """The run wrote three of the 18 files that one stage reads, half of the six of another."""
    run = changed(LOG, tmp_path, r"(\[\[\d+,)18(\],\[\d+,\d+\],\[\d+,80000\])", r"\g<1>3\2")
    readers = [stage.files_read for stage in run.stages if stage.files_by is not None]
    assert readers == [2.0, 9.0, 54.0]
    assert [files for files, _ in told(run)] == [2.0, 3.0, 9.0, 54.0]


@pytest.mark.parametrize("text", ["Execute InsertIntoHadoopFsRelationCommand", "12", ""])
def test_a_write_without_a_place_is_none(tmp_path: Path, text: str) -> None:
    pattern = r'"simpleString":"Execute InsertIntoHadoopFsRelationCommand [^"\\]*'
    run = changed(LOG, tmp_path, pattern + r'(\\.[^"\\]*)*"', f'"simpleString":"{text}"')
    assert told(run) == []
    assert run.stages


@pytest.mark.parametrize(("mode", "writer"), [("Append", 18.0), ("Overwrite", 9.0)])
def test_what_was_replaced_is_read_by_nobody(tmp_path: Path, mode: str, writer: float) -> None:
    """Nine files are read where 18 were written before: beside these, or in their place."""
    text = re.sub("written/(each|folders)", "written/same", text_of(LOG).decode())
    path = tmp_path / "changed"
    path.write_text(text.replace("ErrorIfExists, [", f"{mode}, ["))
    run = one(path)
    (reader,) = (stage for stage in run.stages if stage.files_read == 9.0)
    by_id = {stage.stage_id: stage for stage in run.stages}
    assert by_id[reader.files_by or 0].written_files == writer


def test_folders_that_were_replaced_leave_those_of_the_write_before() -> None:
    """20 files in 10 folders, of which three were written again: no plan says that it was so."""
    run = one(DATA / "rewritten.zstd")
    (reader,) = (stage for stage in run.stages if stage.files_read == 20.0)
    assert told(run) == [(20.0, 10.0), (6.0, 3.0)]
    assert reader.files_by == run.stages[0].stage_id


@pytest.mark.parametrize(
    ("log", "pattern", "by", "again"),
    [
        # 99 files are read of which the run wrote 26, six of them to folders that it replaced.
        (DATA / "rewritten.zstd", r"\[\[171,20\]", "[[171,99]", 1),
        # 18 files are read of which the run wrote three, and replaced none.
        (LOG, r"(\[\[\d+,)18(\],\[\d+,\d+\],\[\d+,80000\])", r"\g<1>3\2", 0),
    ],
)
def test_what_was_written_to_a_place_is_added_up_once_more_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path, pattern: str, by: str, again: int
) -> None:
    """However many stages read more files than were written since it was replaced, and only where
    folders of it were."""
    wholes, of, with_links = list[bool](), WriteHistory.of, WrittenFiles.with_links

    def counted(executions: list[int], writes: dict[int, Write], *, whole: bool = True) -> object:
        wholes.append(whole)
        return of(executions, writes, whole=whole)

    monkeypatch.setattr(WriteHistory, "of", counted)
    monkeypatch.setattr(
        WrittenFiles, "with_links", lambda self, stages: with_links(self, [*stages] * 5)
    )
    changed(log, tmp_path, pattern, by)
    assert wholes.count(True) > 0
    assert wholes.count(False) == again


def test_of_several_that_append_the_one_of_most_files_stands_for_all(tmp_path: Path) -> None:
    """Nine files are read where 2, 10 and 9 were written beside each other: none has half."""
    text = re.sub(r"(written/)[a-z]+", r"\1same", text_of(LOG).decode())
    text = re.sub(r"(\[\[\d+,)18(\],\[\d+,\d+\],\[\d+,80000\])", r"\g<1>10\2", text)
    path = tmp_path / "changed"
    path.write_text(text.replace("ErrorIfExists, [", "Append, ["))
    run = one(path)
    (reader,) = (stage for stage in run.stages if stage.files_read == 9.0)
    by_id = {stage.stage_id: stage for stage in run.stages}
    assert by_id[reader.files_by or 0].written_files == 10.0


def test_parts_of_rows_that_the_program_makes_are_its_input() -> None:
    """Four files that a loop made of a range each: as many as there is input."""
    run = one(DATA / "columns.zstd")
    (reader,) = (stage for stage in run.stages if stage.files_read == 4.0)
    assert [stage.written_files for stage in run.stages[:4]] == [1.0] * 4
    assert reader.files_by is None


def test_so_they_are_where_it_shuffles_them_first(tmp_path: Path) -> None:
    """As before it writes them, to leave few files: that was taken for rows that it was given."""
    events = [json.loads(line) for line in text_of(DATA / "columns.zstd").splitlines()]
    for event in events:
        info = event.get("Stage Info", {})
        if event.get("Stage ID", info.get("Stage ID")) in (1, 2, 3):
            info["Parent IDs"] = [0]
            if event.get("Task Metrics"):
                event["Task Metrics"]["Shuffle Read Metrics"]["Local Bytes Read"] = 1000
    path = tmp_path / "changed"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    run = one(path)
    assert [(stage.parents, stage.read_bytes > 0.0) for stage in run.stages[:3]] == [
        ((), False),
        ((0,), True),
        ((0,), True),
    ]
    (reader,) = (stage for stage in run.stages if stage.files_read == 4.0)
    assert reader.files_by is None


def test_a_long_loop_that_appends_and_reads_is_read_in_passing() -> None:
    """Each scan may read the files of all earlier writers: of these the last tells the sum."""
    writes = {one: Write("/t", one == 40, one % 7) for one in range(0, 100, 2)}
    writers = WriteHistory.of(tuple(writes), writes)
    for reading in range(101):
        place = writers.before(reading)
        earlier = [one for one in writes if one < reading and (one >= 40 or reading <= 40)]
        assert (place is None) == (not earlier)
        if place is not None:
            told = {one: writes[one].files or 0 for one in earlier}
            assert writers.executions[writers.since_overwrite[place]] == earlier[0]
            assert writers.total_files[place] == sum(told.values())
            assert writers.largest_write[place] == max(told, key=lambda one: (told[one], one))


def test_a_place_is_the_same_with_a_slash_behind_it(tmp_path: Path) -> None:
    run = changed(
        LOG, tmp_path, r"(InMemoryFileIndex\(1 paths\)\[file:[^\]]*written/\w+)\]", r"\1/]"
    )
    assert told(run) == told(one(LOG))
