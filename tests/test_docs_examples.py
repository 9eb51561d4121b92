"""The examples of the pages for users run, and print lines like those that the pages show.

Figures move with every change of a model: compared are the words of a line, not its numbers.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import engine
from tui.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ sparkplan "
PLACEHOLDER = "HOST"
"""A host of the reader's: no test can ask it."""

UNITS = {"s", "ms", "min", "h", "%", "kB", "MB", "GB", "less", "more", "than"}
"""Words that come and go with the size of a number."""


def blocks(page: Path, language: str) -> list[str]:
    """The texts of a page's blocks of one language, without their indent."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [
        "\n".join(line.removeprefix(indent) for line in text.splitlines())
        for indent, name, text in found
        if name == language
    ]


def block_with(page: str, language: str, words: str) -> str:
    """The only block of a page with these words."""
    (text,) = [text for text in blocks(ROOT / "docs" / page, language) if words in text]
    return text


def examples() -> list[Any]:
    """The blocks of all pages that show commands, those that ask a reader's host apart."""
    return [
        pytest.param(text, id=f"{page.stem}-{number}")
        for page in PAGES
        for number, text in enumerate(blocks(page, ""), 1)
        if PROMPT in text and PLACEHOLDER not in text
    ]


def words_of(line: str) -> list[str]:
    """A line without its numbers, their units and the names that hold one."""
    kept = [word.strip("(),;:") for word in line.split() if not re.search(r"\d", word)]
    return [word for word in kept if re.search(r"\w", word) and word not in UNITS]


def assert_shown(line: str, printed: list[list[str]]) -> None:
    """That a line of a page was printed, or begins one that was where the page cuts it."""
    words = words_of(line.removesuffix("..."))
    cut = len(words) if line.endswith("...") else None
    assert words in [each[:cut] for each in printed], line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the files that the pages show and then speak of."""
    table = block_with("formats.md", "", "application,instance_type,")
    (tmp_path / "runs.csv").write_text(table + "\n", encoding="utf-8")
    catalog = block_with("catalogs.md", "yaml", "region: cellar")
    (tmp_path / "cellar.yaml").write_text(catalog + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("example", examples())
def test_commands_print_what_the_page_shows(
    example: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[list[str]] = []
    for line in example.splitlines():
        if line.startswith(PROMPT):
            assert main(shlex.split(line.removeprefix(PROMPT))) == 0, line
            answer = capsys.readouterr()
            printed = [words_of(each) for each in (answer.out + answer.err).splitlines()]
        elif line.strip() not in ("", "..."):
            assert_shown(line, printed)


def test_the_pages_show_commands() -> None:
    assert len(examples()) >= 10


def written_commands() -> list[tuple[str, ...]]:
    """The words of every command in a block, those for files of the reader's too."""
    texts = [text for page in PAGES for text in blocks(page, "")]
    lines = [line for text in texts for line in text.replace("\\\n", " ").splitlines()]
    commands = [line.removeprefix("$ ").partition(" #")[0] for line in lines]
    found = [tuple(shlex.split(line)[1:]) for line in commands if line.startswith("sparkplan ")]
    return sorted(set(found))


def test_options_that_the_pages_write_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    found = written_commands()
    assert len(found) >= 40
    for words in found:
        command = [word for word in words[:2] if word in COMMANDS or word == "refresh"]
        with pytest.raises(SystemExit) as ended:
            main([*command, "--help"])
        assert ended.value.code == 0
        known = set(re.findall(r"--?[a-z][\w-]*", capsys.readouterr().out))
        wanted = {word for word in words if re.fullmatch(r"--?[a-z][\w-]*", word)}
        assert wanted <= known, " ".join(words)


def test_python_prints_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    exec(example, {})
    times, best = capsys.readouterr().out.splitlines()
    seconds, low, high = map(float, times.split())
    assert 0 < low < seconds < high
    main(["recommend", "nightly-features", "--ran-on", "m5.xlarge", "--deadline", "2m", "--json"])
    answer = json.loads(capsys.readouterr().out)["recommended"]
    assert best == f"{answer['composition']} {answer['cost_usd']}"


def test_the_page_on_python_shows_what_its_examples_print(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One after the other, as a notebook would."""
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for _, language, text in BLOCK.findall((ROOT / "docs" / "python.md").read_text("utf-8")):
        if language == "python":
            exec(text, names)
            printed = capsys.readouterr().out
        else:
            assert [words_of(line) for line in text.splitlines()] == [
                words_of(line) for line in printed.splitlines()
            ]
            compared += 1
    assert compared >= 6


def test_the_model_of_the_page_answers() -> None:
    names: dict[str, Any] = {}
    exec(block_with("adding_a_model.md", "python", "class Ideal"), names)
    profile = engine.read("sort-small")
    fitted = names["Ideal"]().fit(profile, models={})
    run = profile.largest_run
    assert run is not None
    assert run.cluster.slots is not None
    twice = engine.Cluster.of_executors(executors=2 * run.cluster.slots, executor_cores=1)
    assert fitted.predict(cluster=twice).seconds == pytest.approx(run.seconds / 2)
    nothing = engine.Profile(name="nothing")
    with pytest.raises(engine.ModelDoesNotFit, match="slots and input"):
        names["Ideal"]().fit(nothing, models={})
