"""The one-line bars: header, tabs, keys; and the widget that draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.message import Message

from tui.state import PlanState
from tui.views import inputs
from tui.views.pages import NAMES, PAGES, Page, key_of
from tui.widgets.frame import Frame, FrameWidget
from tui.widgets.glyphs import Glyphs
from tui.widgets.text import fit, plain

if TYPE_CHECKING:
    from tui.answers import BuiltPlan, Evidence


class Item(NamedTuple):
    """A span of a bar.

    Args:
        action: of the app, run by a click.
        whole: drawn in full or not at all.
        leads: drawn only where the next span has room as well (a key and its word).
    """

    text: str
    tone: str = "base"
    action: str = ""
    whole: bool = True
    leads: bool = False


class Bar(FrameWidget):
    """One line of spans from the left, and others aligned to the right end.

    The right ones are left out first, unless the bar is `firm`; of the left ones the last ones go
    first.
    """

    DEFAULT_CSS = """
    Bar {
        height: 1;
        width: 1fr;
    }
    """

    @dataclass(eq=False, repr=False)
    class Pressed(Message):
        """A span with an action was clicked."""

        action: str

    def __init__(self, glyphs: Glyphs, *, firm: bool = False, id: str | None = None) -> None:
        super().__init__(glyphs=glyphs, id=id)
        self._firm = firm
        self._left: tuple[Item, ...] = ()
        self._right: tuple[Sequence[Item], ...] = ()
        self._places: list[tuple[int, int, str]] = []

    def show(self, left: Sequence[Item], *right: Sequence[Item]) -> None:
        """Show other spans; of several variants of the right ones, the first that fits is drawn, of
        a firm bar the last in any case."""
        if (tuple(left), right) != (self._left, self._right):
            self._left, self._right = tuple(left), right
            self.redraw()

    @property
    def places(self) -> tuple[tuple[int, int, str], ...]:
        """(first cell, cell after the last, action) of the spans that can be clicked."""
        return tuple(self._places)

    def draw(self, frame: Frame) -> None:
        """Draw the left spans from the first cell, the right ones up to the last."""
        self._places = []
        left_end = frame.width
        for right in self._right:
            always = self._firm and right is self._right[-1]
            left_length = 0 if always else self._length(self._left) + 1
            length = self._length(right)
            if length and left_length + length <= frame.width:
                self._draw_items(frame, frame.width - length, right, frame.width)
                left_end = frame.width - length - 1
                break
        self._draw_items(frame, 0, self._left, left_end)

    def _length(self, items: Sequence[Item]) -> int:
        return sum(cell_len(self.printable(item.text)) for item in items)

    def _draw_items(self, frame: Frame, x: int, items: Sequence[Item], end: int) -> None:
        for index, item in enumerate(items):
            shown = self.printable(item.text)
            needed = cell_len(shown)
            if item.leads:
                needed += self._length(items[index + 1 : index + 2])
            if x + needed > end:
                ellipsis = self._glyphs.ellipsis
                if not item.whole and end - x > 4:
                    frame.put(x, 0, fit(shown, end - x, ellipsis=ellipsis), item.tone)
                elif any(not other.whole for other in items[index:]):
                    frame.put(max(0, min(x, end - cell_len(ellipsis))), 0, ellipsis, item.tone)
                return
            frame.put(x, 0, shown, item.tone)
            if item.action:
                self._places.append((x, x + cell_len(shown), item.action))
            x += cell_len(shown)

    def on_click(self, event: events.Click) -> None:
        """Run the action under the mouse."""
        for start, end, action in self._places:
            if start <= event.x < end:
                event.stop()
                self.post_message(self.Pressed(action))


MIN_PLANNED = 40
"""Least width of the header's left part beside which the right end is always drawn."""

MIN_NAME = 16
"""Least width of a job's name in the header."""


def header(
    state: PlanState,
    built: BuiltPlan | None,
    busy: str,
    *,
    width: int,
    read: Evidence | None = None,
    ascii_only: bool = False,
) -> tuple[list[Item], list[Item]]:
    """The job and its evidence; at the right the prices, or the work in progress, in the longest
    variant that fits. Where none fits, the kind of job is left out, then the job's name is cut.

    Args:
        read: the evidence, where it is read and its plan not built yet.
        ascii_only: whether names are shown in ASCII, where they may be longer.
    """
    evidence = built or read
    profile = evidence.profile if evidence else None
    left, kinds = [Item(" sparkplan ", "accent")], list[Item]()
    source = plain(inputs.source(state, evidence), ascii_only=ascii_only)
    left.append(Item(f" {source}", "strong", "open", whole=False))
    if profile is not None:
        kind = state.category or profile.category
        kinds = [Item(f" · {kind}", "muted")] if kind else []
        left += kinds
        job_text = inputs.job(built)
        left += [Item(f" · {job_text}", "base", "job", whole=False)] if job_text else []
        where = inputs.ran_on(state, profile)
        left += [Item(f" · ran on {where}", "muted", "ran_on", whole=False)] if where else []
    if busy:
        forms = (f"{busy} ... ", f"{busy.partition(',')[0]} ... ", f"{busy.split()[0]} ... ")
        return _with_right_end(left, [], [Item(form, "warn") for form in forms], width)
    return _with_right_end(
        left, kinds, [Item(form, "muted") for form in _price_variants(state, built)], width
    )


def _price_variants(state: PlanState, built: BuiltPlan | None) -> tuple[str, ...]:
    """Variants of the right end: model, prices, and spot where workers are rented so; longest
    first."""
    catalog, spot = built.catalog if built else None, " spot" if state.spot else ""
    prices = f"{inputs.prices(state, catalog)}{spot} "
    named = f"{catalog.name} " if catalog else "" if state.catalog else "prices "
    model = f"model {inputs.model(state, built)} · "
    whole = f"{model}{named}{prices}", f"{named}{prices}"
    if catalog is None:
        return whole  # "of where it ran" alone would say nothing
    return *whole, prices, f"{named}{catalog.date.isoformat()}{spot} "


def _with_right_end(
    left: list[Item], spare: Sequence[Item], ends: Sequence[Item], width: int
) -> tuple[list[Item], list[Item]]:
    """The first variant of the right end that fits beside the left part, perhaps without its spare
    items."""
    for items in (left, [item for item in left if item not in spare]):
        width_left = width - sum(cell_len(plain(item.text)) for item in items) - 1
        for end in ends:
            if cell_len(end.text) <= width_left:
                return items, [end]
    shown_ends = [ends[-1]] if width - cell_len(ends[-1].text) > MIN_PLANNED else []
    over = (
        sum(cell_len(plain(item.text)) for item in (*items, *shown_ends)) + len(shown_ends) - width
    )
    return [items[0], _shortened_name(items[1], over), *items[2:]], shown_ends


def _shortened_name(named: Item, over: int) -> Item:
    """The item of the job's name with `over` cells less of the name."""
    name, comma, runs = plain(named.text).rpartition(", ")
    if over <= 0 or not comma or cell_len(name) <= MIN_NAME:
        return named
    shortened = fit(name, max(MIN_NAME, cell_len(name) - over)).rstrip(" ")
    return named._replace(text=f"{shortened}{comma}{runs}")


HELP = tuple((Item(form, "muted", "help"),) for form in ("? help ", "? help"))
"""Variants of the help key at the right of the tabs."""


def tabs(state: PlanState, built: BuiltPlan | None, *, width: int) -> list[Item]:
    """The tabs of the views with their number keys; brackets mark the current one, beside its
    colour. Where there is no room, tabs move closer together, then other titles are abbreviated,
    then that of the current view; at last titles are left out, the furthest from the current tab
    first."""
    pages = visible_pages(state, built)
    tabs_width = width - len(HELP[-1][0].text) - 1
    none, others = frozenset[str](), frozenset(page.name for page in pages) - {state.view}
    for wide, short in ((True, none), (False, none), (False, others)):
        items = _tabs(state, pages, wide=wide, short=short)
        if sum(len(item.text) for item in items) <= tabs_width:
            return items
    names = [page.name for page in pages]
    names.sort(key=lambda name: -abs(NAMES.index(name) - NAMES.index(state.view)))
    for removed in range(len(names)):
        bare = frozenset(names[:removed])
        items = _tabs(state, pages, wide=False, short=others | {state.view}, bare=bare)
        if sum(len(item.text) for item in items) <= width:
            break
    return items


def visible_pages(state: PlanState, built: BuiltPlan | None) -> list[Page]:
    """The views that can be shown: that of states not where the evidence has no stages. While it
    is read they are taken to be there, so that the tabs of a log stay where they are."""
    states = built is None or built.has_states
    return [page for page in PAGES if states or page.name == state.view or page.name != "workflow"]


def _tabs(
    state: PlanState,
    pages: Sequence[Page],
    *,
    wide: bool,
    short: frozenset[str],
    bare: frozenset[str] = frozenset(),
) -> list[Item]:
    """The tabs; pages in `short` with short titles, those in `bare` with the key alone; where not
    `wide`, neighbours share the blank between them."""
    items: list[Item] = []
    for page in pages:
        shown = page.name == state.view
        title = page.short if page.name in short and page.short else page.title
        tab = " ".join(filter(None, (key_of(page.name), title)))
        if page.name in bare:
            tab = key_of(page.name) or "…"
        tab = f"[{tab}]" if shown else f"{' ' * wide}{tab}{' ' * wide}"
        tab = tab if wide else f" {tab}"
        items.append(Item(tab, "accent" if shown else "muted", f"view('{page.name}')"))
    return items


def keys(pairs: Sequence[tuple[str, str, str]]) -> list[Item]:
    """Keys and their descriptions as items that can be clicked."""
    items: list[Item] = []
    for key, what, action in pairs:
        items += [Item(f" {key}", "strong", action, leads=True), Item(f" {what} ", "muted", action)]
    return items
