"""Every action of the app by name, with its description for the palette and its key."""

from __future__ import annotations

from tui.views.pages import PAGES, key_of

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("open", "Open logs, profiles, tables or samples", "o"),
    ("ran_on", "Say where the job ran", "w"),
    ("instances", "Choose the instance types that are considered", "/"),
    ("filter", "Filter the list that is looked at", "/"),
    ("sort('time')", "Sort the compositions by time", "t"),
    ("sort('cost')", "Sort the compositions by cost", "c"),
    ("sort('odds')", "Sort the compositions by the probability of being in time", "i"),
    ("catalog", "Choose the price catalog", "$"),
    ("limits", "Say what is owned, and how much of what may be rented", "b"),
    ("mix", "Allow one, two or three types per cluster", "x"),
    ("spot", "Switch between on-demand and spot prices", "s"),
    ("model", "Choose the model", "m"),
    ("job", "Say what parameters and iterations the job gets", "J"),
    ("category", "Say what kind of job it is", "g"),
    ("export", "Export the recommendation as text to paste", "e"),
    ("copy", "Copy the recommendation in a sentence (in Experiments: the line to paste)", "y"),
    ("training(1)", "Raise the budget for training runs", "+"),
    ("training(-1)", "Lower the budget for training runs", "-"),
    ("training_plan", "Choose training runs by another rule: Ernest, PERIDOT, SimCost", "r"),
    *((f"view({page.name!r})", page.what, key_of(page.name)) for page in PAGES),
    ("previous_view", "Show the view before", "["),
    ("next_view", "Show the view after", "]"),
    ("pin", "Pin the plan as it is, to compare it", "p"),
    ("unpin", "Forget the pinned plan under the cursor", "del"),
    ("chart('time')", "Show the time chart", "t"),
    ("chart('cost')", "Show the cost chart", "c"),
    ("crosshair", "Read the charts at a number of nodes", "v"),
    ("zoom('in')", "Zoom into the chart", "+"),
    ("zoom('out')", "Zoom out of the chart", "-"),
    ("zoom('all')", "Show the whole chart again", "a"),
    ("pan('left')", "Look at the left of a zoomed chart", "<"),
    ("pan('right')", "Look at the right of a zoomed chart", ">"),
    ("log('x')", "Make the horizontal axis linear or logarithmic", "X"),
    ("log('y')", "Make the vertical axis linear or logarithmic", "Y"),
    ("draw", "Draw the curve of the type under the cursor as well", "d"),
    ("save_chart", "Save the chart as a picture (SVG) or as numbers (CSV)", "E"),
    ("theme", "Choose the theme", ""),
    ("undo", "Undo the last change of an input", "u"),
    ("redo", "Redo what was undone", "^y"),
    ("jump", "Jump to a control: a letter beside each", "f"),
    ("command", "Type a command", ":"),
    ("scenario_save", "Save every input as a scenario", ""),
    ("scenario_load", "Open a saved scenario", ""),
    ("resume", "Go on with the session that was left last", ""),
    ("notices", "Show the notices of this session", "n"),
    ("help", "Explain keys and words", "?"),
    ("tour", "Take the tour: two minutes on the bundled sample", ""),
    ("suspend", "Go to the shell; fg comes back", "^z"),
    ("quit", "Quit", "^q"),
)
"""(action of the app, what it does, its key)."""

KEYS = {"?": "?,f1", "+": "+,=", "del": "delete", "^q": "ctrl+q,ctrl+c"}
"""Textual's names of keys, where there are several or `textual_keys` could not tell them."""


def textual_keys(shown: str) -> str:
    """Textual's names of a displayed key, with commas: "ctrl+y" of "^y"."""
    return KEYS.get(shown) or (f"ctrl+{shown[1:]}" if shown[:1] == "^" else shown)


FIRST = ("suspend", "quit")
"""Actions whose keys work wherever the focus is."""

ELSEWHERE = ("instances", "sort(", "training(")
"""Prefixes of actions whose keys are bound by a single view."""
