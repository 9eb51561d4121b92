"""The views of the planner, in the order of their number keys: one line each.

A view NAME is the module `tui.views.NAME` with two functions: `fill(panels)` makes its widgets when
it is first looked at, and `show(panels, answer)` shows an answer on them. Its key, tab, palette
entry and typed command follow from its line here. Panels share the rows of a page, a text beside
them gets three; other heights are said in `app.tcss`.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """One view.

    Args:
        name, title: of the module, and on its tab; `short` is the title where columns are few.
        what: description for the palette.
        focus: id of the widget that gets the focus.
        filtered: id of the list that `/` filters, wherever the focus is in the view; "" where it
            chooses the candidate types.
        blank: ids of the charts, texts and lists that say why while there is no plan.
    """

    name: str
    title: str
    what: str
    focus: str
    short: str = ""
    filtered: str = ""
    blank: tuple[str, ...] = ()


FRONTIER_LIST = "frontier-list"

PAGES = (
    Page(
        *("curves", "Curves", "Show the curves of time and cost", "deadline"),
        blank=("time", "cost", "sentence"),
    ),
    Page(
        *("compositions", "Compositions", "Show all compositions and why others lost", "full"),
        short="Types",
        filtered="full",
        blank=("full",),
    ),
    Page(
        *("frontier", "Frontier", "Show what more time or money buys", FRONTIER_LIST),
        short="Front",
        filtered=FRONTIER_LIST,
        blank=("frontier-chart", "point"),
    ),
    Page(
        *("stages", "Stages", "Show where the time goes", "stage-list"),
        filtered="stage-list",
        blank=("stages-about",),
    ),
    Page(
        *("evidence", "Evidence", "Show what the answer rests on", "models"),
        filtered="models",
        blank=("models",),
    ),
    Page(
        *("workflow", "Workflow", "Show the jobs by state, and what bounds each", "gantt"),
        short="Flow",
        filtered="states",
        blank=("workflow-about",),
    ),
    Page(
        *("compare", "Compare", "Compare pinned scenarios", "pins"),
        filtered="pins",
        blank=("pins",),
    ),
    Page(
        *("experiments", "Experiments", "Show what to run next to be surer", "training-runs"),
        short="Runs",
        filtered="training-runs",
        blank=("experiments-about",),
    ),
)

NAMES = tuple(page.name for page in PAGES)

NUMBER_KEYS = 9
"""Views with a number key; those after them are reached by `[` and `]`, by their tab, by name in
the palette, and by `:view`."""


def key_of(name: str) -> str:
    """The number key of a view; "" where it has none."""
    number = NAMES.index(name) + 1
    return str(number) if number <= NUMBER_KEYS else ""


def page(name: str) -> Page:
    """The view of that name."""
    return PAGES[NAMES.index(name)]
