"""A rasteriser for curves: several dots per cell; the dots of all curves in a cell are ORed.

Plot libraries let the last curve win a cell, so that of two close curves one disappears; here both
stay visible and only the colour of the cell is shared. Positions are fractions of the canvas: x
runs from 0 (left) to 1 (right), y from 0 (bottom) to 1 (top).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from tui.widgets.glyphs import Dots

# Bit of each dot in a cell by row and column; braille numbers its dots so.
_BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_HALF = ((1,), (2,))
_THIRDS = ((1,), (2,), (4,))
_BITS: dict[Dots, tuple[tuple[int, ...], ...]] = {
    "braille": _BRAILLE,
    "half": _HALF,
    "ascii": _THIRDS,
}
_CHARS: dict[Dots, str] = {
    "braille": "".join(chr(0x2800 + bits) for bits in range(256)),
    "half": " ▀▄█",
    "ascii": " '-'.:.|",
}

Dash = tuple[int, int]
"""Dots drawn, then dots skipped, along the line."""

_WIDE = 0.5
"""A band over a larger share of the canvas is shaded thinly."""


class Canvas:
    """`width` x `height` cells of dots in two layers: curves, and rules (thresholds) below them.

    A third layer, the shade of bands, shows only in cells without dots, so it never hides a curve.
    """

    def __init__(self, width: int, height: int, dots: Dots = "braille") -> None:
        self.width = width
        self.height = height
        self.dots = dots
        self._bits_of = _BITS[dots]
        self.dots_per_column = len(self._bits_of[0])
        self.dots_per_row = len(self._bits_of)
        self.columns = width * self.dots_per_column
        self.rows = height * self.dots_per_row
        size = width * height
        self._curves = [0] * size
        self._rules = [0] * size
        # Style of each cell with dots; empty cells cost nothing to read.
        self._ink: dict[int, str] = {}
        self._shade: dict[int, int] = {}
        self._shade_ink: dict[int, str] = {}

    def column_of(self, position: float) -> int:
        return round(position * (self.columns - 1))

    def row_of(self, position: float) -> int:
        """The dot row (from the top) at `position`."""
        return round((1.0 - position) * (self.rows - 1))

    def cell_of(self, x: float, y: float) -> tuple[int, int]:
        """Column and row of the cell that holds the point (`x`, `y`)."""
        return self.column_of(x) // self.dots_per_column, self.row_of(y) // self.dots_per_row

    def curve(
        self, xs: Sequence[float], ys: Sequence[float], style: str, dash: Dash | None = None
    ) -> None:
        """Draw the polyline through the points; a point that is not finite interrupts it."""
        if not math.isfinite(sum(xs) + sum(ys)):
            for piece_xs, piece_ys in _finite_pieces(xs, ys):
                self.curve(piece_xs, piece_ys, style, dash)
            return
        last_column, last_row = self.columns - 1, self.rows - 1
        floor, bottom = math.floor, last_row + 0.5
        columns = [floor(x * last_column + 0.5) for x in xs]
        rows = [floor(bottom - y * last_row) for y in ys]
        dots = self._polyline(columns, rows)
        if dash:
            on, period = dash[0], dash[0] + dash[1]
            dots = [dot for index, dot in enumerate(dots) if index % period < on]
        self._set(dots, style)

    def _polyline(self, columns: list[int], rows: list[int]) -> list[tuple[int, int]]:
        """The dots of a connected line through dots."""
        dots: list[tuple[int, int]] = []
        column0 = row0 = -9
        for column, row in zip(columns, rows, strict=True):
            across, down = column - column0, row - row0
            if across == 0 == down:
                continue
            if not dots or (-2 < across < 2 and -2 < down < 2):
                dots.append((column, row))
            else:
                piece = self._segment((column0, row0), (column, row))
                dots += piece[1:] if piece[:1] == dots[-1:] else piece
            column0, row0 = column, row
        return dots

    def _segment(self, start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
        """The dots from one dot to another, one per step of the longer direction, clipped."""
        (x0, y0), (x1, y1) = start, end
        if abs(x1 - x0) >= abs(y1 - y0):
            slope = (y1 - y0) / (x1 - x0)
            steps = range(max(0, min(x0, x1)), min(self.columns - 1, max(x0, x1)) + 1)
            across = [(step, round(y0 + (step - x0) * slope)) for step in steps]
            return across if x0 < x1 else across[::-1]
        slope = (x1 - x0) / (y1 - y0)
        steps = range(max(0, min(y0, y1)), min(self.rows - 1, max(y0, y1)) + 1)
        down = [(round(x0 + (step - y0) * slope), step) for step in steps]
        return down if y0 < y1 else down[::-1]

    def _set(self, dots: list[tuple[int, int]], style: str) -> None:
        """Set dots (column, row) of the curve layer; those outside are dropped."""
        curves, ink, width = self._curves, self._ink, self.width
        columns, rows, bits_of = self.columns, self.rows, self._bits_of
        across, down = self.dots_per_column, self.dots_per_row
        for column, row in dots:
            if 0 <= column < columns and 0 <= row < rows:
                cell = row // down * width + column // across
                curves[cell] |= bits_of[row % down][column % across]
                ink[cell] = style

    def horizontal(self, y: float, style: str) -> None:
        """A dashed rule over the whole width at height `y`, below all curves."""
        row = self.row_of(y)  # four dots and a gap of two
        self._rule(((column, row) for column in range(self.columns) if column % 6 < 4), style)

    def vertical(self, x: float, style: str) -> None:
        """A dashed rule over the whole height at `x`, below all curves."""
        column = self.column_of(x)  # two dots and a gap of two
        self._rule(((column, row) for row in range(self.rows) if row % 4 < 2), style)

    def _rule(self, dots: Iterable[tuple[int, int]], style: str) -> None:
        """Set dots (column, row) of the layer of rules; those outside are dropped."""
        for column, row in dots:
            if 0 <= column < self.columns and 0 <= row < self.rows:
                x, across = divmod(column, self.dots_per_column)
                y, down = divmod(row, self.dots_per_row)
                cell = y * self.width + x
                self._rules[cell] |= self._bits_of[down][across]
                if not self._curves[cell]:
                    self._ink[cell] = style

    def band(
        self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], style: str
    ) -> None:
        """Shade between `lows` and `highs` with sparse dots (NaN: no band there). A band over most
        of the canvas is shaded thinly: without colours, the curve would be lost among its dots."""
        columns = list(self._band_columns(xs, lows, highs))
        dots = sum(max(0, bottom + 1 - top) for _, top, bottom in columns)
        thin = dots > _WIDE * self.rows * self.columns / self._band_step
        for column, top, bottom in columns:
            self._shade_column(column, top, bottom, style, thin=thin)

    @property
    def _band_step(self) -> int:
        return 2 if self.dots_per_column > 1 else 1

    def _band_columns(
        self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float]
    ) -> Iterator[tuple[int, int, int]]:
        """Column, top and bottom dot row of a band, inside the canvas."""
        index, last = 0, len(xs) - 2
        if last < 0:
            return
        for column in range(0, self.columns, self._band_step):
            x = column / (self.columns - 1)
            while index < last and xs[index + 1] < x:
                index += 1
            width = xs[index + 1] - xs[index]
            if not (xs[index] <= x <= xs[index + 1] and width > 0):
                continue
            share = (x - xs[index]) / width
            low = lows[index] + share * (lows[index + 1] - lows[index])
            high = highs[index] + share * (highs[index + 1] - highs[index])
            if math.isfinite(low) and math.isfinite(high):
                top = max(0, math.ceil((1.0 - high) * (self.rows - 1)))
                bottom = min(self.rows - 1, math.floor((1.0 - low) * (self.rows - 1)))
                yield column, top, bottom

    def _shade_column(self, column: int, top: int, bottom: int, style: str, *, thin: bool) -> None:
        """Every second dot of one column, staggered; `thin`, one dot in every fourth cell."""
        cell_x, dot_x = divmod(column, self.dots_per_column)
        stagger = column // self.dots_per_column % 2
        for row in range(top + (top + stagger) % 2, bottom + 1, 2):
            cell_y, dot_y = divmod(row, self.dots_per_row)
            cell = cell_y * self.width + cell_x
            if thin and (cell in self._shade or cell_x % 4 != cell_y % 2 * 2):
                continue
            self._shade[cell] = self._shade.get(cell, 0) | self._bits_of[dot_y][dot_x]
            self._shade_ink[cell] = style

    def weights(self, y: int) -> list[float]:
        """For each cell of row `y` the cost of covering it: 1 with a curve, 1/2 with a rule."""
        row = slice(y * self.width, (y + 1) * self.width)
        layers = zip(self._curves[row], self._rules[row], strict=True)
        return [(curve > 0) + 0.5 * (rule > 0) for curve, rule in layers]

    def cells(self) -> Iterator[tuple[int, int, str, str]]:
        """Every non-empty cell: column, row, character, style name."""
        chars, width, ink = _CHARS[self.dots], self.width, self._ink
        for cell, style in ink.items():
            bits = self._curves[cell] | self._rules[cell]
            yield cell % width, cell // width, chars[bits], style
        for cell, style in self._shade_ink.items():
            if cell not in ink and (shade := self._shaded(cell)):
                yield cell % width, cell // width, shade, style

    def _shaded(self, cell: int) -> str:
        """The character of a band's cell; in ASCII, where curves consist of the same marks, a colon
        in every second cell."""
        if self.dots != "ascii":
            return _CHARS[self.dots][self._shade[cell]]
        return ":" if (cell // self.width + cell % self.width) % 2 else ""


def _finite_pieces(
    xs: Sequence[float], ys: Sequence[float]
) -> Iterator[tuple[list[float], list[float]]]:
    """The pieces of a curve between points that are not finite."""
    piece: list[tuple[float, float]] = []
    for x, y in [*zip(xs, ys, strict=True), (math.nan, math.nan)]:
        if math.isfinite(x) and math.isfinite(y):
            piece.append((x, y))
        elif piece:
            yield [point[0] for point in piece], [point[1] for point in piece]
            piece = []
