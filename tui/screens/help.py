"""Help: on the focused widget, the keys, and the words in one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from tui.screens.dialog import Dialog
from tui.screens.picker import LEAVE
from tui.views.bars import Bar, keys
from tui.views.pages import PAGES, key_of
from tui.views.prose import Line, Prose
from tui.widgets.glyphs import Glyphs
from tui.widgets.text import plain

_NUMBERED = [page for page in PAGES if key_of(page.name)]
_NUMBERS = f"1 to {len(_NUMBERED)}"

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Sliders",
        (
            ("← →", "one step; with shift or ctrl, or page up/down, a big one"),
            ("↑ ↓", "the slider above, below"),
            ("home end", "least, most"),
            ("⏎", 'type a value: "45m", "1h30m", "$12.50", "2TB", "3x", "95%"'),
            ("delete", "switch the deadline or the budget off"),
            ("mouse", "click or drag the track, turn the wheel, click the value to type"),
        ),
    ),
    (
        "Charts",
        (
            ("v", "the crosshair, and the keyboard there; again: the other chart"),
            ("← →", "at the crosshair: one step; with shift or ctrl a big one; home, end"),
            ("+ - a", "zoom in, zoom out, all of it again; also the wheel, with ctrl for y"),
            ("< >", "look left and right in a zoomed chart; ↑ ↓ up and down; or drag the plot"),
            ("X Y", "the horizontal, the vertical axis linear or logarithmic"),
            ("d", "draw the type under the cursor as well; pinned ones always are"),
            ("E", "save the chart: a picture (.svg) or every number (.csv)"),
            ("mouse", "point to read; drag the deadline or the budget line to move its slider"),
            (":zoom", "a part of an axis: 4:32 nodes, 10m:1h, $1:$4; :at 12, :axis y linear"),
        ),
    ),
    (
        "Lists",
        (
            ("↑ ↓", "choose a row; home, end, page up, page down; also the wheel, or a click"),
            ("← →", "what a column means (also with the mouse), in the line of help"),
            ("/", "only rows with these words; esc: all of them again"),
            ("t c i", "in the compositions: sort by time, cost, probability; or click on a title;"),
            ("", "again: by the goal"),
            ("↑ ↓", "below the charts: the curve of the chosen type is drawn dashed as well"),
            ("⏎", "in the frontier: the deadline becomes the time that this cluster promises;"),
            ("", "in the inputs: change it; in Compare: go back to it (or a double click)"),
        ),
    ),
    (
        "Everywhere",
        (
            ("tab", "next control; shift+tab the one before"),
            ("f", "jump: a letter beside every control and tab; typing it goes there"),
            (_NUMBERS, ", ".join(page.title.lower() for page in _NUMBERED)),
            ("[ ]", "the view before, the view after"),
            ("t c", "time chart, cost chart (where there is room for one)"),
            ("o", "open event logs, folders, profiles, tables, samples, history servers"),
            ("w", "say where the job ran, when the log does not"),
            ("/", "filter the list that is looked at; among the inputs: the types considered"),
            ("b", "bounds: nodes that you own, quotas, at least and at most so many nodes"),
            ("x", "how many types a cluster may have: one, two or three"),
            ("$", "price catalog"),
            ("s", "on-demand or spot prices"),
            ("m", "model"),
            ("g", "kind of job"),
            (
                "J",
                "the job's parameters and iterations: :param k=9, :iterations 20 (off: as it ran)",
            ),
            ("e", "export: text to paste, with preview"),
            ("y", "copy the recommendation; in the experiments: the line that makes the runs"),
            ("mouse", "with shift (option on a Mac) it selects text to copy, as without a planner"),
            ("+ -", "in the experiments: the budget for training runs (also :training $5)"),
            ("r", "training runs by Ernest, PERIDOT or SimCost (also :plan simcost)"),
            ("u", "undo the last change of an input; ctrl+y does it again"),
            ("p", "pin the plan; Compare shows the pinned ones, enter goes back, delete forgets"),
            (":", 'type a command: "deadline 45m", "nodes 200", "model ernest"'),
            ("esc", "close a notice or a dialog (as a click beside it does); cancel reading a log"),
            ("ctrl+p", "every action by name"),
            ("n", "the notices of this session"),
            (":save", 'keep every input: ":save month-end"; ":load month-end" takes it back'),
            (":resume", "go on with the session that was left last"),
            (":tour", "two minutes through the planner, step by step"),
            ("ctrl+z", "to the shell, also while typing; fg comes back"),
            ("ctrl+q", "quit (also ctrl+c); the session is kept"),
        ),
    ),
)

WORDS: tuple[tuple[str, str], ...] = (
    (
        "deadline",
        "the job must be done within this time, as surely as the confidence says; it begins with "
        "the job: how long a cluster takes to come up is not in it",
    ),
    ("confidence", "the least probability of being in time; also that of the interval shown"),
    ("interval", "9 in 10 runs: of ten runs, nine are expected to end within it"),
    ("budget", "the most that one run may cost, by the predicted time"),
    ("data size", "size of the input that is planned for"),
    ("composition", "how many nodes of which types (workers, the master not among them)"),
    ("mix", "a cluster of unlike nodes, recommended where no cluster of one type is better"),
    (
        "limits",
        "own TYPE=N, limit GLOB=N, max-vcpus N, min-nodes N, exclude GLOB, max-spot SHARE, "
        "arch NAME",
    ),
    ("frontier", "clusters of one type that no other beats in both time and cost"),
    (
        "recommended",
        "the cheapest composition that meets the goal; with a budget alone the fastest",
    ),
    ("in time", "the probability that a run ends within the deadline"),
    ("speed transferred", "the type was not measured: its speed per core follows from CPU scores"),
    ("source type unknown", "it is not known where the log was written: press w to name the type"),
    ("hidden types", "other architectures, under 8 GiB, excluded, or not offered by the service"),
    ("estimated", "a spot price without a published figure is a labelled estimate"),
    (
        "bottleneck",
        "what decides how long it takes. cpu; io: reading and writing; shuffle: data of other "
        "nodes; gc: cleaning memory up; memory: a cache that does not fit; tasks: fewer than "
        "slots; skew: one long task; launch: starting tasks; waves: tasks in turns on the slots, "
        "where it is not known what each waits for; driver: no stage runs",
    ),
    ("next run", "the one whose outcome is expected to save most, by choosing better, per dollar"),
    (
        "training runs",
        "samples of the input that determine the model's coefficients best (A-optimal)",
    ),
    ("leave-one-out", "the error on each measured run, by a model fitted to the others"),
)


def lines(section: str = "", here: Sequence[str] = (), *, ascii_only: bool = False) -> list[Line]:
    """The whole text: what there is to say `here`, the keys of `section`, then all others. Keys are
    formatted in their final form: the ASCII form of an arrow is wider, and descriptions stay in one
    column."""
    text_lines: list[Line] = []
    if here:
        here_lines: list[Line] = [[(f"  {line}", "base")] for line in here]
        text_lines += [[("Here", "accent")], *here_lines, [("", "base")]]
    for title, pairs in sorted(KEYS, key=lambda entry: entry[0] != section):
        text_lines.append([(title, "accent")])
        text_lines += [_pair(plain(key, ascii_only=ascii_only), what) for key, what in pairs]
        text_lines.append([("", "base")])
    text_lines.append([("Words", "accent")])
    return [*text_lines, *(_pair(word, what, width=20) for word, what in WORDS)]


def _pair(key: str, what: str, *, width: int = 9) -> Line:
    return [(f"  {key:<{width}} ", "strong"), (what, "base")]


class HelpScreen(Dialog[None]):
    """Keys and words; any of esc, ?, q and n leaves."""

    TITLE_TEXT = "Help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,n", "leave", "Leave", show=False, priority=True)
    ]

    def __init__(self, *, glyphs: Glyphs, section: str = "", here: Sequence[str] = ()) -> None:
        super().__init__(glyphs)
        self._section, self._here = section, tuple(here)

    def compose(self) -> ComposeResult:
        """The text and the keys of this screen."""
        with Container(id="dialog", classes="-tall"):
            yield Prose(self.text(), focusable=True, glyphs=self._glyphs, id="help")
            yield Bar(self._glyphs, firm=True, id="dialog-keys")

    def text(self) -> list[Line]:
        return lines(self._section, self._here, ascii_only=self._glyphs.ascii_only)

    def on_mount(self) -> None:
        self.query_one("#dialog").border_title = self.TITLE_TEXT
        self.query_one("#dialog-keys", Bar).show(keys([("↑ ↓", "scroll", "")]), keys(LEAVE))
