"""Files among the logs of a folder that are none."""

from pathlib import Path

import pytest
import sparklog as log

from engine.sources import read


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
        f"1 of 2 files in {tmp_path.name} were skipped (first: other: is a {kind}, and of folders "
        "and zips event logs alone are read)"
    )
