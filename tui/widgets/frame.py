"""A grid of styled cells, the difference between two grids, and the widget that draws with them.

Textual sends a refreshed region whole. Widgets here draw into a `Frame`, compare it with the frame
on the screen and refresh only what changed: over SSH that is the difference between a slider that
follows and one that lags.

A style is a few words, resolved against the theme: "bold $text-accent", "ansi_cyan". Component
classes of a style sheet would do the same, but parsing and matching them takes an eighth of the
start-up time.

A `ScrollingFrame` has more rows than fit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.widgets.glyphs import Glyphs, choose_glyphs
from tui.widgets.text import cells, plain

TEXT: Mapping[str, str] = {
    "base": "$foreground",
    "strong": "bold $foreground",
    "muted": "$foreground-muted",
    "good": "bold $text-success",
    "bad": "bold $text-error",
    "warn": "bold $text-warning",
    "accent": "bold $text-accent",
}
"""Tones of text, named by meaning."""


def resolve(style: str, variables: Mapping[str, str], background: Color) -> Style:
    """The Rich style for `style`: attributes, then a colour.

    Args:
        style: the colour is a variable of the theme ($text-accent) or a name of Textual's.
        variables: colours of the theme by name, also as "auto 60%": what contrasts with the
            background, so opaque.
        background: what the cells lie on; may be transparent.
    """
    *attributes, name = style.split()
    value = variables[name[1:]] if name.startswith("$") else name
    base, _, share = value.partition(" ")
    opacity = float(share.rstrip("%")) / 100.0 if share else 1.0
    if base == "auto":
        colour = background.get_contrast_text(opacity)
    else:
        colour = Color.parse(base).multiply_alpha(opacity)
    shown = (background + colour).rich_color if background.a or colour.a else None
    behind = background.rich_color if background.a else None
    return Style.parse(" ".join(attributes)) + Style.from_color(shown, behind)


class Frame:
    """`height` rows of `width` cells; each cell has a character and the name of a style."""

    __slots__ = ("chars", "height", "styles", "width")

    def __init__(self, width: int, height: int, style: str) -> None:
        self.width = width
        self.height = height
        self.chars = [[" "] * width for _ in range(height)]
        self.styles = [[style] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, style: str) -> None:
        """Write printable `text` from cell (`x`, `y`) on; what lies outside is cut off."""
        if not 0 <= y < self.height:
            return
        row, styles = self.chars[y], self.styles[y]
        text_cells = cells(text)
        for offset, character in enumerate(text_cells):
            column = x + offset
            wide = offset + 1 < len(text_cells) and text_cells[offset + 1] == ""
            if 0 <= column < self.width and (character or column > 0):
                cut = wide and column + 1 >= self.width
                row[column] = " " if cut else character
                styles[column] = style
        if x < 0 and 0 < -x < len(text_cells) and text_cells[-x] == "":
            row[0] = " "

    def text(self, y: int) -> str:
        """The characters of row `y`."""
        return "".join(self.chars[y])

    def strip(self, y: int, style_of: Callable[[str], Style]) -> Strip:
        """Row `y` as a strip of few segments: each of them sends its style to the terminal."""
        row = self.chars[y]
        runs: list[tuple[str, Style]] = []
        start = 0
        for name, run in groupby(self.styles[y]):
            end = start + len(list(run))
            text, style = "".join(row[start:end]), style_of(name)
            start = end
            before = runs[-1] if runs else None
            if before and (
                style == before[1] or (not text.strip() and _blank_alike(style, before[1]))
            ):
                runs[-1] = (before[0] + text, before[1])
            elif before and not before[0].strip() and _blank_alike(before[1], style):
                runs[-1] = (before[0] + text, style)
            else:
                runs.append((text, style))
        return Strip([Segment(text, style) for text, style in runs], self.width)

    def changes(self, before: Frame) -> list[Region]:
        """Rectangles that cover every cell that differs from `before` (of the same size).

        One span per row, from its first to its last changed cell: Textual sends a span from the
        left edge of the widget, so two spans in a row would send what is left of them twice. Rows
        with the same span form one rectangle.
        """
        regions: list[Region] = []
        for y in range(self.height):
            span = self._changed_span(y, before)
            if span is None:
                continue
            start, end = span
            last = regions[-1] if regions else None
            if last and last.bottom == y and last.x == start and last.width == end - start:
                regions[-1] = Region(last.x, last.y, last.width, last.height + 1)
            else:
                regions.append(Region(start, y, end - start, 1))
        return regions

    def _changed_span(self, y: int, before: Frame) -> tuple[int, int] | None:
        """First changed column of row `y` and the one after the last; None when nothing changed."""
        chars, styles = self.chars[y], self.styles[y]
        old_chars, old_styles = before.chars[y], before.styles[y]
        if chars == old_chars and styles == old_styles:
            return None
        start, end = 0, self.width
        while chars[start] == old_chars[start] and styles[start] == old_styles[start]:
            start += 1
        while chars[end - 1] == old_chars[end - 1] and styles[end - 1] == old_styles[end - 1]:
            end -= 1
        # Half of a wide character cannot be sent.
        while start > 0 and "" in (chars[start], old_chars[start]):
            start -= 1
        while end < self.width and "" in (chars[end], old_chars[end]):
            end += 1
        return start, end


def _blank_alike(style: Style, other: Style) -> bool:
    """Whether blank cells look the same in both styles: only the background is visible."""
    return (
        style.bgcolor == other.bgcolor
        and not (style.reverse or other.reverse)
        and not (style.underline or other.underline)
        and not (style.strike or other.strike)
    )


class FrameWidget(Widget):
    """A widget that draws into a `Frame` and refreshes only the cells that changed.

    Subclasses implement `draw` and call `redraw` when their state changed. Style names are defined
    as in `tui.widgets.frame`: in general, for terminals with their own colours, and with the
    focus. `NAME-label` falls back to `NAME`.
    """

    STYLES: ClassVar[Mapping[str, str]] = TEXT
    ANSI_STYLES: ClassVar[Mapping[str, str]] = {}
    FOCUS_STYLES: ClassVar[Mapping[str, str]] = {}
    BASE_STYLE = "base"
    ALLOW_SELECT = False

    def __init__(self, *, glyphs: Glyphs | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs or choose_glyphs()
        self._frame: Frame | None = None
        self._styles_by_name: dict[str, Style] = {}
        self._background: Color | None = None

    @abstractmethod
    def draw(self, frame: Frame) -> None:
        """Fill `frame`, which has the size of the content."""

    def wheel(self, event: events.MouseEvent, rows: int) -> None:
        """Hook for the wheel, one row down (1) or up (-1); without it an outer widget scrolls."""

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.wheel(event, 1)

    def printable(self, text: str) -> str:
        """Untrusted text as it may be drawn with the glyphs of this widget."""
        return plain(text, ascii_only=self._glyphs.ascii_only)

    def redraw(self) -> list[Region]:
        """Draw again and refresh what changed; returns the refreshed regions."""
        before = self._frame
        if before is None or (before.width, before.height) != tuple(self.size):
            self._frame = None
            self.refresh()
            return [Region(0, 0, *self.size)]
        frame = self._frame = self._drawn()
        regions = frame.changes(before)
        if regions:
            self.refresh(*regions)
        return regions

    def render_line(self, y: int) -> Strip:
        """Row `y` of the content; the frame is drawn again where the size changed."""
        frame = self._frame
        if frame is None or (frame.width, frame.height) != tuple(self.size):
            frame = self._frame = self._drawn()
        if y >= frame.height:
            return Strip.blank(self.size.width, self._style_of(self.BASE_STYLE))
        return frame.strip(y, self._style_of)

    def notify_style_update(self) -> None:
        """Forget resolved styles: the theme or the style sheet changed."""
        super().notify_style_update()
        self._forget_styles()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Styles may differ with the focus."""
        super().watch_has_focus(has_focus)
        self._forget_styles()
        self.refresh()

    def _forget_styles(self) -> None:
        self._styles_by_name.clear()
        self._background = None

    def _drawn(self) -> Frame:
        frame = Frame(*self.size, self.BASE_STYLE)
        if frame.width and frame.height:
            self.draw(frame)
        return frame

    def _style_of(self, name: str) -> Style:
        """The Rich style of a style name (never None: the NO_COLOR filter fails on None)."""
        style = self._styles_by_name.get(name)
        if style is None:
            style = self._styles_by_name[name] = self._resolved(name)
        return style

    def _resolved(self, name: str) -> Style:
        if self._background is None:
            self._background = self.background_colors[1]
        if name not in self.STYLES:
            name = name.removesuffix("-label")
        style = self.STYLES[name]
        if self.app.native_ansi_color:
            style = self.ANSI_STYLES.get(name, style)
        if self.has_focus:
            style = self.FOCUS_STYLES.get(name, style)
        return resolve(style, self.app.theme_variables, self._background)


class ScrollingFrame(FrameWidget):
    """A `FrameWidget` whose `draw` begins at row `_top` and keeps it within what there is."""

    KEPT_ROWS = 1
    """Rows by which a page is less than the height: an axis, or the last row seen before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_rows(-1)", "Up", show=False),
        Binding("down,j", "scroll_rows(1)", "Down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", show=False),
        Binding("pagedown,space", "scroll_pages(1)", "Page down", show=False),
        Binding("home", "scroll_rows(-100000)", "Start", show=False),
        Binding("end", "scroll_rows(100000)", "End", show=False),
    ]

    _top = 0

    def action_scroll_rows(self, rows: int) -> None:
        self._top = max(0, self._top + rows)
        self.redraw()

    def action_scroll_pages(self, pages: int) -> None:
        """Up or down by what is visible."""
        self.action_scroll_rows(pages * max(1, self.size.height - self.KEPT_ROWS))

    def wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        self.action_scroll_rows(rows)
