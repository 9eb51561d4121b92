"""Rewrites Textual's terminal output so that only cells that differ are sent.

Textual sends every refreshed span of a row from the left edge of its widget, each run of cells with
its full colours and a reset, and at start-up or when a screen opens several whole frames one after
another. `LeanOutput` parses those escape sequences, remembers what the terminal shows, and writes
the shortest equivalent: over a slow line this is most of what a user waits for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tui.widgets.text import cells

_TOKEN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<move>\d+)H"
    r"|\x1b\[(?P<sgr>[\d;]*)m"
    r"|(?P<text>[^\x00-\x1f\x7f]+)"
    r"|(?P<newline>\n)"
    r"|(?P<link>\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))"
    r"|(?P<other>\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]|[\s\S])"
)
# Sequences after which the screen no longer holds what was drawn: clear, reset, other buffer.
_CLEARS = re.compile(r"\x1b\[[0-3]?[JK]|\x1bc|\x1b\[\?(?:47|1047|1049)[hl]|\x1b\[!p")
# The first character that terminals may draw two cells wide (or not at all).
_WIDE = "\u2e80"
_LINK_END = "\x1b]8;;\x1b\\"
# Attributes that show on a blank: underline, blink, reverse, strike, double underline, overline.
_ON_BLANK = frozenset({"4", "5", "6", "7", "9", "21", "53"})


class SgrStyle(NamedTuple):
    """Style of a cell: attributes, foreground and background as SGR parameters, hyperlink."""

    attributes: frozenset[str] = frozenset()
    foreground: str = "39"
    background: str = "49"
    link: str = ""


_PLAIN = SgrStyle()


@lru_cache(maxsize=4096)
def parse_sgr(sgr: str, link: str) -> SgrStyle:
    """The style that SGR parameters set, from a reset state on."""
    attributes: set[str] = set()
    foreground, background = "39", "49"
    parts = iter(sgr.split(";"))
    for part in parts:
        if part in ("", "0"):
            attributes, foreground, background = set(), "39", "49"
        elif part in ("38", "48"):
            mode = next(parts, "5")
            values = [part, mode, *(next(parts, "0") for _ in range(3 if mode == "2" else 1))]
            if part == "38":
                foreground = ";".join(values)
            else:
                background = ";".join(values)
        elif (number := int(part)) in range(30, 40) or number in range(90, 98):
            foreground = part
        elif number in range(40, 50) or number in range(100, 108):
            background = part
        else:
            attributes.add(part)
    return SgrStyle(frozenset(attributes), foreground, background, link)


@lru_cache(maxsize=4096)
def blank_style(look: SgrStyle) -> SgrStyle:
    """The part of a style that is visible on a blank cell."""
    attributes = look.attributes & _ON_BLANK
    return SgrStyle(attributes, look.foreground if attributes else "39", look.background, look.link)


@lru_cache(maxsize=16384)
def transition(old: SgrStyle, new: SgrStyle) -> str:
    """The shortest sequence from one style to another."""
    link = "" if old.link == new.link else new.link or _LINK_END
    if new[:3] == _PLAIN[:3]:
        return link + ("\x1b[m" if old[:3] != _PLAIN[:3] else "")
    changes: list[str] = []
    if not old.attributes <= new.attributes:
        changes, old = ["0"], _PLAIN
    changes += sorted(new.attributes - old.attributes)
    if old.foreground != new.foreground:
        changes.append(new.foreground)
    if old.background != new.background:
        changes.append(new.background)
    return link + (f"\x1b[{';'.join(changes)}m" if changes else "")


class LeanOutput:
    """Remembers the cells on the terminal and turns full output into differences.

    `size` is the columns and rows of the terminal, None where unknown. Output for a larger terminal
    ends up in unpredictable cells: after it all are unknown.
    """

    def __init__(self) -> None:
        self.size: tuple[int, int] | None = None
        self._overran = False
        self.forget()

    def forget(self) -> None:
        """Mark the terminal's content as unknown: everything will be sent again."""
        self._chars: list[list[str]] = []
        self._looks: list[list[SgrStyle | None]] = []
        # Where the incoming text would go, where the terminal's cursor is, and its style.
        self._place: tuple[int, int] | None = None
        self._cursor: tuple[int, int] | None = None
        self._look = _PLAIN
        self._out: list[str] = []

    def rewrite(self, data: str) -> str:
        """The sequences with the same effect as `data` on the terminal in its present state."""
        self._out = []
        sgr = link = ""
        for match in _TOKEN.finditer(data):
            kind, token = match.lastgroup, match.group()
            if kind == "move":
                self._place = (int(match["row"]) - 1, int(match["move"]) - 1)
            elif kind == "sgr":
                sgr = match["sgr"]
            elif kind == "link":
                link = "" if token.startswith("\x1b]8;;") else token
            elif kind == "text":
                self._text(token, parse_sgr(sgr, link))
            elif kind == "newline" and self._place is not None:
                self._place = (self._place[0] + 1, 0)
            else:
                self._pass(token)
        self._settle()
        out = "".join(self._out)
        if self._overran:
            self._overran = False
            self.forget()
        return out

    def repaint(self) -> str:
        """Everything that should be on the terminal, after clearing it."""
        self._out = ["\x1b[m\x1b[2J"]
        target, self._cursor, self._look = self._place, None, _PLAIN
        for y, (row, looks) in enumerate(zip(self._chars, self._looks, strict=True)):
            for x, (character, look) in enumerate(zip(row, looks, strict=True)):
                if look is not None and character:
                    self._send(y, x, [character], look)
        self._place = target
        self._settle()
        return "".join(self._out)

    def _text(self, text: str, look: SgrStyle) -> None:
        """Send the cells of `text` that differ from those on the terminal."""
        if self._place is None:
            self._out.append(transition(self._look, look) + text)
            self._look = look
            return
        y, x = self._place
        text_cells = cells(text)
        end = x + len(text_cells)
        self._overran |= self.size is not None and (end > self.size[0] or y >= self.size[1])
        blank = blank_style(look)
        looks: list[SgrStyle | None] = [
            blank if character == " " else look for character in text_cells
        ]
        row, row_looks = self._row(y, end)
        if row[x:end] != text_cells or row_looks[x:end] != looks:
            self._differences(y, x, text_cells, looks, look)
        self._place = (y, end)

    def _row(self, y: int, width: int) -> tuple[list[str], list[SgrStyle | None]]:
        """Row `y` of the memory, at least `width` cells long; unknown cells have no style."""
        while len(self._chars) <= y:
            self._chars.append([])
            self._looks.append([])
        missing = width - len(self._chars[y])
        if missing > 0:
            self._chars[y] += [""] * missing
            self._looks[y] += [None] * missing
        return self._chars[y], self._looks[y]

    def _differences(
        self, y: int, x: int, text_cells: list[str], looks: list[SgrStyle | None], look: SgrStyle
    ) -> None:
        """Send each run of cells that differ, and remember them."""
        row, row_looks = self._chars[y], self._looks[y]
        end = x + len(text_cells)
        if len(text_cells) == 1 or "" in text_cells or "" in row[x:end]:
            # Half of a wide character cannot be drawn over: such a run is sent whole.
            runs = [(0, len(text_cells))]
        else:
            old = zip(row[x:end], row_looks[x:end], strict=True)
            new = zip(text_cells, looks, strict=True)
            runs = _runs([cell != other for cell, other in zip(new, old, strict=True)])
        for start, end in runs:
            self._send(y, x + start, text_cells[start:end], look)
            row[x + start : x + end] = text_cells[start:end]
            row_looks[x + start : x + end] = looks[start:end]

    def _send(self, y: int, x: int, text_cells: list[str], look: SgrStyle) -> None:
        """Move, set the style and write the cells."""
        self._move(y, x)
        text = "".join(text_cells)
        if self._look is not look and not (text.isspace() and self._blank_alike(look)):
            self._out.append(transition(self._look, look))
            self._look = look
        self._out.append(text)
        # Terminals disagree on which characters are wide: after one the cursor position is unknown.
        self._cursor = (y, x + len(text_cells)) if text.isascii() or max(text) < _WIDE else None

    def _blank_alike(self, look: SgrStyle) -> bool:
        """Whether a blank looks the same in `look` as in the current style."""
        return blank_style(self._look) == blank_style(look)

    def _move(self, y: int, x: int) -> None:
        """The shortest move to a cell: rewrite cells up to it, move right, or move absolutely."""
        if self._cursor == (y, x):
            return
        if self._cursor is None or self._cursor[0] != y or self._cursor[1] > x:
            self._out.append(f"\x1b[{y + 1};{x + 1}H")
            return
        start = self._cursor[1]
        between = "".join(self._chars[y][start:x])
        same_style = all(look == self._look for look in self._looks[y][start:x])
        if same_style and between.isascii() and len(between) == x - start <= 4:
            self._out.append(between)
        else:
            self._out.append(f"\x1b[{x - start}C" if x - start > 1 else "\x1b[C")

    def _pass(self, token: str) -> None:
        """Send a sequence that is not about cells unchanged."""
        if self._look != _PLAIN:
            self._out.append(transition(self._look, _PLAIN))
            self._look = _PLAIN
        if _CLEARS.fullmatch(token):
            out = self._out
            self.forget()
            self._out = out
        self._cursor = None
        self._out.append(token)

    def _settle(self) -> None:
        """End with the default style, and the cursor at its final position."""
        if self._look != _PLAIN:
            self._out.append(transition(self._look, _PLAIN))
            self._look = _PLAIN
        if self._place is not None and self._cursor is not None and self._cursor != self._place:
            self._move(*self._place)
            self._cursor = self._place


def _runs(changed: list[bool]) -> list[tuple[int, int]]:
    """Start and end of each run of changed cells; a gap of one cell is bridged."""
    runs: list[tuple[int, int]] = []
    for index, differs in enumerate(changed):
        if differs and runs and index - runs[-1][1] <= 1:
            runs[-1] = (runs[-1][0], index + 1)
        elif differs:
            runs.append((index, index + 1))
    return runs
