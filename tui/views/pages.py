"""The views of the planner, in the order of their number keys: one line each.

A view NAME is the module `tui.views.NAME` with two functions: `fill(panels)` makes its widgets when
it is first looked at, and `show(panels, answer)` shows an answer on them. Its key, tab, palette
entry and typed command follow from its line here. Widgets take their heights from `app.tcss`.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """A view.

    Args:
        name, title: of the module, and on its tab; `short` where columns are few.
        what: it answers, for the palette.
        focus: id of the widget that the keyboard goes to.
    """

    name: str
    title: str
    what: str
    focus: str
    short: str = ""


FRONTIER_LIST = "frontier-list"

PAGES = (
    Page("curves", "Curves", "Show the curves of time and cost", "deadline"),
    Page(
        "compositions", "Compositions", "Show all compositions and why others lost", "full", "Types"
    ),
    Page("frontier", "Frontier", "Show what more time or money buys", FRONTIER_LIST, "Front"),
    Page("stages", "Stages", "Show where the time goes", "stage-list"),
    Page("evidence", "Evidence", "Show what the answer rests on", "models"),
    Page("workflow", "Workflow", "Show the jobs by state, and what bounds each", "gantt", "Flow"),
    Page("compare", "Compare", "Compare pinned scenarios", "pins"),
    Page(
        "experiments", "Experiments", "Show what to run next to be surer", "training-runs", "Runs"
    ),
)

NAMES = tuple(page.name for page in PAGES)


def key_of(name: str) -> str:
    """The number key of a view."""
    return str(NAMES.index(name) + 1)


def page(name: str) -> Page:
    """The view of that name."""
    return PAGES[NAMES.index(name)]
