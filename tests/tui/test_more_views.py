"""A view more is one file and one line: keys, tab, help, filter and room follow from them.

How many views come with the planner is nobody's business here: these stand behind eight of them.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from depth import values

from tui.views import pages

VIEW = """
from tui.views.prose import Prose
from tui.widgets.table import Column, Table


def fill(panels):
    list_of = panels.new(Table, (Column(title="hour", width=8),), id="{name}-list")
    return [panels.new(Prose, id="{name}-about"), panels.panel(list_of, "Hours of {title}")]


def show(panels, answer):
    panels.prose("{name}-about").show([[("about {name}", "base")]])
    panels.table("{name}-list").show([((f"hour {{n}}", "plain"),) for n in range(24)])
"""
EIGHT = (
    *("curves", "compositions", "frontier", "stages"),
    *("evidence", "workflow", "compare", "experiments"),
)
TITLES = ("Schedule", "Storage", "History", "Tenants")

ADDING = Path(__file__).parents[2] / "docs" / "adding_a_model.md"
PYTHON = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def screens(tmp_path):
    """Takes down a planner with so many views more than eight, after each key."""

    def take(more, size, *keys, view=None):
        lines = ""
        for title in TITLES[:more]:
            name = title.lower()
            (tmp_path / f"{name}.py").write_text(view or VIEW.format(name=name, title=title))
            lines += (
                f'    Page("{name}", "{title}", "Show what {name} is", "{name}-list", '
                f'filtered="{name}-list"),\n'
            )
        source = Path(pages.__file__).read_text()
        head, names, tail = source.partition("NAMES = ")
        pages_of = f"PAGES = (\n    *(page for page in PAGES if page.name in {EIGHT}),\n{lines})\n"
        (tmp_path / "pages.py").write_text(f"{head}{pages_of}{names}{tail}")
        script = Path(__file__).with_name("planner_with_more_views.py")
        command = [sys.executable, script, tmp_path, *map(str, size), *keys]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        return [screen.splitlines() for screen in json.loads(found.stdout)]

    return take


def test_at_80_columns_eight_views_have_a_tab_and_help_its_key(screens):
    tabs = screens(0, (80, 24), "1")[0][1]
    assert [word for word in tabs.replace("[", " ").split() if word.isdigit()] == list("12345678")
    assert "2 Types 3 Front" in tabs
    assert tabs.rstrip().endswith("? help")


@pytest.mark.parametrize("size", values((80, 24), deep=[(120, 40)]))
def test_a_ninth_view_is_one_file_and_one_line(screens, size):
    shown, asked, _, helped = screens(1, size, "9", "slash", "escape", "question_mark")
    assert "[9 Schedule]" in shown[1]
    assert all(f"{number} " in shown[1] for number in range(1, 9))
    about = next(y for y, row in enumerate(shown) if "about schedule" in row)
    assert "Hours of Schedule" in shown[about + 3], "a text takes three rows, not half the page"
    assert shown[-2].strip() == "Schedule: show what schedule is"
    assert " / filter " in shown[-1]
    assert "hour 0" in "\n".join(asked)
    assert "Schedule: show what schedule is" in "\n".join(helped)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_view_that_the_page_shows_is_one(screens, size):
    blocks = PYTHON.findall(ADDING.read_text(encoding="utf-8"))
    (block,) = [block for block in blocks if "def fill" in block]
    view = dedent(block).replace("yours", TITLES[0].lower())
    (shown,) = screens(1, size, "9", view=view)
    text = "\n".join(shown)
    assert f"[9 {TITLES[0]}]" in shown[1]
    assert "Turned down" in text
    assert re.search(r"\d+ types lost", text)


def test_views_beyond_the_number_keys_are_reached_one_by_one(screens):
    ninth, eighth, first, last = screens(
        4, (120, 40), "9", "left_square_bracket", "1", "left_square_bracket"
    )
    assert "[9 Schedule]" in ninth[1]
    assert "[8 Experiments]" in eighth[1]
    assert "[1 Curves]" in first[1]
    assert "[Tenants]" in last[1]
    assert "Hours of Tenants" in "\n".join(last)


def test_the_tab_of_what_is_shown_is_never_cut(screens):
    keys = ("1", *["right_square_bracket"] * 12)
    for rows in screens(4, (80, 24), *keys):
        assert rows[1].count("[") == rows[1].count("]") == 1, rows[1]
    assert rows[1].startswith(" [1 Curves]"), "after the last there is the first"
