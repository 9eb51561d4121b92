"""The examples of the pages for users run, and print the lines that the pages show.

Numbers are compared too, to the last digit that is shown: another machine may round it the other
way.
"""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest

import engine
from tui.cli import COMMANDS, main

pytestmark = pytest.mark.usefixtures("commands_share_fits")

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ sparkplan "
PLACEHOLDER = "HOST"
"""A host of the reader's: no test can ask it."""

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*[a-zA-Z]\d)")
"""A number by itself or with a unit, and no part of a name such as m5.xlarge."""

LAST_DIGIT = 1.01
"""By how many of its last digit a number may differ."""

OF_TODAY = re.compile(r"\d+ days old")
"""What goes by the day on which the example runs."""


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


def frame_of(line: str) -> str:
    """A line without its numbers, and with one blank for several."""
    return " ".join(NUMBER.sub("#", OF_TODAY.sub("", line)).split())


def numbers_of(line: str) -> list[tuple[float, float]]:
    """The numbers of a line, each with what its last digit counts."""
    shown = [found.rstrip(",").replace(",", "") for found in NUMBER.findall(OF_TODAY.sub("", line))]
    return [(float(one), 10.0 ** -len(one.partition(".")[2])) for one in shown]


def is_shown(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, or its beginning where it cuts the line."""
    cut = shown.endswith("...")
    frame, whole = frame_of(shown.removesuffix("...")), frame_of(printed)
    if not (whole.startswith(frame) if cut else whole == frame):
        return False
    pairs = zip(numbers_of(shown), numbers_of(printed), strict=not cut)
    return all(
        abs(one - other) <= LAST_DIGIT * max(digit, its_digit)
        for (one, digit), (other, its_digit) in pairs
    )


def assert_shown(shown: str, printed: list[str]) -> None:
    """That a line of a page was printed."""
    alike = get_close_matches(shown, printed, n=1, cutoff=0.0)
    assert any(is_shown(shown, line) for line in printed), f"{shown!r} is now {alike}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The working folder, with the files that the pages show and then speak of."""
    table = block_with("formats.md", "", "application,instance_type,")
    (tmp_path / "runs.csv").write_text(table + "\n", encoding="utf-8")
    catalog = block_with("catalogs.md", "yaml", "region: cellar")
    (tmp_path / "cellar.yaml").write_text(catalog + "\n", encoding="utf-8")
    with chdir(tmp_path):
        yield tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("example", examples())
def test_commands_print_what_the_page_shows(
    example: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[str] = []
    for line in example.splitlines():
        if line.startswith(PROMPT):
            assert main(shlex.split(line.removeprefix(PROMPT))) == 0, line
            answer = capsys.readouterr()
            printed = (answer.out + answer.err).splitlines()
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
            for shown, line in zip(text.splitlines(), printed.splitlines(), strict=True):
                assert is_shown(shown, line), f"{shown!r} is now {line!r}"
            compared += 1
    assert compared >= 6


def test_the_model_of_the_page_answers() -> None:
    names: dict[str, Any] = {}
    exec(block_with("adding_a_model.md", "python", "class Ideal"), names)
    profile = engine.read("sort-small")
    fitted = names["Ideal"]().fit(profile, models={})
    run = profile.largest_run
    twice = engine.Cluster.of_executors(executors=2 * run.cluster.slots, executor_cores=1)
    assert fitted.predict(cluster=twice).seconds == pytest.approx(run.seconds / 2)
    nothing = engine.Profile(name="nothing")
    with pytest.raises(engine.ModelDoesNotFit, match="slots and input"):
        names["Ideal"]().fit(nothing, models={})
