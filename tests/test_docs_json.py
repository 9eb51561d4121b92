"""The page on JSON names the keys that the commands print, all of them and no others."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tui.cli import main

pytestmark = pytest.mark.usefixtures("commands_share_fits")

PAGE = (Path(__file__).parents[1] / "docs" / "json.md").read_text(encoding="utf-8")
LOG = "nightly-features --ran-on m5.xlarge"
AS_NAMED = {"composition", "spot", "executors", "layout", "vcore_seconds", "cost"}
WITH_DEADLINE = {"deadline_seconds", "deadline_met", "p_deadline"}


def answer(capsys: pytest.CaptureFixture[str], line: str) -> Any:
    assert main(shlex.split(f"{line} --json")) == 0
    return json.loads(capsys.readouterr().out)


def rows(heading: str) -> dict[str, str]:
    """First column -> second column of the table behind a line of the page."""
    table = PAGE.partition(f"{heading}\n")[2].partition("|\n\n")[0] + "|\n"
    found = re.findall(r"^\| (`.+?) \| ?(.*)\|$", table, re.MULTILINE)
    assert found, heading
    return dict(found)


def keys(heading: str) -> set[str]:
    return {key for names in rows(heading) for key in re.findall(r"`(\w+)`", names)}


def test_predict(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(answer(capsys, f"predict {LOG}")) == keys("## predict")
    more = set(answer(capsys, f"predict {LOG} --nodes 2 --deadline 2m")) - keys("## predict")
    assert more == AS_NAMED | WITH_DEADLINE
    assert all(f"`{key}`" in PAGE for key in more | {"job_profile"})


@pytest.mark.parametrize("over", ["nodes", "input-size"])
def test_curve(capsys: pytest.CaptureFixture[str], over: str) -> None:
    found = answer(capsys, f"curve {LOG} --over {over} --nodes 2 --deadline 2m")
    assert set(found) == keys("## curve")
    varied = set() if over == "nodes" else {"input_size"}
    named = set(re.findall(r"`(\w+)`", rows("## curve")["`points`"]))
    assert set(found["points"][0]) == named - {"input_size", "iterations"} | varied


def test_recommend(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"recommend {LOG} --deadline 1m")
    assert set(found) == keys("## recommend")
    told = rows("## recommend")
    for key, one in (("`goal`", found["goal"]), ("`rejected`", found["rejected"][0])):
        named = set(re.findall(r"`(\w+)`", told[key]))
        assert set(one) == named
    choice = found["recommended"]
    assert set(choice) == keys("A choice:")
    assert set(choice["cost"]) == set(re.findall(r"`(\w+)`", rows("A choice:")["`cost`"]))
    assert set(found["warnings"][0]) == {"code", "text", "remedy"}


def test_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"experiments {LOG} --deadline 2m")
    assert set(found) == keys("## experiments")
    told = rows("## experiments")
    for key, one in (
        ("known", found["known"][0]),
        ("now", found["now"]),
        ("next", found["next"][0]),
    ):
        assert set(one) == set(re.findall(r"`(\w+)`", told[f"`{key}`"])), key


def test_export(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"export {LOG} --deadline 2m --to emr")
    assert set(found) - {"export"} == keys("## recommend")
    assert "`export`: `to`, `text` and `file`." in PAGE
    assert set(found["export"]) == {"to", "text", "file"}


@pytest.mark.parametrize("command", ["catalog list", "models", "samples", "config show"])
def test_lists(capsys: pytest.CaptureFixture[str], command: str) -> None:
    found = answer(capsys, command)
    inner = [set(rows[0]) for rows in found.values() if isinstance(rows, list)]
    named = set(re.findall(r"`(\w+)`", rows("## Others")[f"`{command}`"]))
    assert named == set(found).union(*inner)


def test_a_mistake_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("predict", "curve --over nodes", "recommend --deadline 2m"):
        name, *options = command.split()
        assert main([name, "no-such-log", *options, "--json"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1
