"""Files are written whole or not at all; what is no file is left in its place."""

import os
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.files import read_text, write_text


def test_a_named_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    """As a device does: replacing `/dev/null` would break every program of the machine."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "all of it\n")
    reader.join(timeout=60)
    assert read == ["all of it\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_link_goes_on_pointing_to_its_file(tmp_path: Path) -> None:
    file, link = tmp_path / "there" / "plan.yaml", tmp_path / "plan.yaml"
    file.parent.mkdir()
    file.write_text("old")
    link.symlink_to(file)
    write_text(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_what_a_check_refuses_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("old")

    def refuse(path: Path) -> None:
        assert path.read_text() == "new"
        raise BadInput("no plan")

    with pytest.raises(BadInput, match="no plan"):
        write_text(file, "new", check=refuse)
    assert file.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        write_text(tmp_path, "new")
    assert str(tmp_path) in str(error.value)


def test_names_of_open_files_are_told_from_files_in_memory() -> None:
    """`/dev/stdout` is written to, whatever stands behind it; a file in `/dev/shm` is one."""
    shared = Path("/dev/shm")
    if not shared.is_dir():
        pytest.skip("no file system in memory")
    with tempfile.NamedTemporaryFile(dir=shared) as file:
        before = os.stat(file.name).st_ino
        write_text(file.name, "whole")
        assert os.stat(file.name).st_ino != before
        assert Path(file.name).read_text() == "whole"
    with tempfile.TemporaryFile("w+") as open_file:
        write_text(f"/proc/self/fd/{open_file.fileno()}", "straight")
        open_file.seek(0)
        assert open_file.read() == "straight"


def test_a_file_without_a_name_is_none() -> None:
    with pytest.raises(BadInput, match="no file is named; add its name"):
        write_text("", "text")


@pytest.mark.parametrize("letter", ["x", "界"])
@pytest.mark.parametrize("name", ["{}.yaml", "long.{}"])
def test_a_name_as_long_as_file_systems_allow_is_written(
    tmp_path: Path, name: str, letter: str
) -> None:
    """The name of the temporary file beside it must not be longer still."""
    most = 255 - len(".yaml")
    file = tmp_path / name.format(letter * (most // len(letter.encode())))
    write_text(file, "new")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_name_with_a_nul_is_refused_in_a_line() -> None:
    """The system's calls raise a ValueError that names no file."""
    with pytest.raises(BadInput, match="no file has a NUL in its name; check the path"):
        write_text("a\0b", "text")
    with pytest.raises(BadInput, match="no file has a NUL in its name; check the path"):
        read_text(Path("a\0b"), most_bytes=10)
