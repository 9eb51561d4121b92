"""The views of the planner, in the order of their number keys: one line each.

A view NAME is the module `tui.views.NAME` with two functions: `fill(panels)` makes its widgets when
it is first looked at, and `show(panels, answer)` shows an answer on them. Its key, tab, palette
entry and typed command follow from its line here. Widgets take their heights from `app.tcss`.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """A view: its name, its tab, what it answers (for the palette), and the id of the widget that
    the keyboard goes to."""

    name: str
    title: str
    what: str
    focus: str


PAGES = (
    Page("curves", "Curves", "Show the curves of time and cost", "deadline"),
    Page("compositions", "Compositions", "Show all compositions and why others lost", "full"),
    Page("frontier", "Frontier", "Show what more time or money buys", "frontier-list"),
    Page("stages", "Stages", "Show where the time goes", "stage-list"),
    Page("evidence", "Evidence", "Show what the answer rests on", "models"),
    Page("workflow", "Workflow", "Show the jobs by state, and what bounds each", "gantt"),
    Page("compare", "Compare", "Compare pinned scenarios", "pins"),
)

SHORT_TITLES = {"compositions": "Comps", "workflow": "Jobs", "experiments": "Runs"}
"""Tabs where columns are few."""

NAMES = tuple(page.name for page in PAGES)


def key_of(name: str) -> str:
    """The number key of a view."""
    return str(NAMES.index(name) + 1)


def page(name: str) -> Page:
    """The view of that name."""
    return PAGES[NAMES.index(name)]
