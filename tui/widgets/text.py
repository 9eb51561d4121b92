"""Untrusted text made printable and measured in cells: no markup or control character gets
through."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal

from rich.cells import cell_len, get_character_cell_size

from tui.widgets.ascii_forms import in_ascii

_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})
_UNITS = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})|\^[@-_?]|.", re.DOTALL)
"""A character, or the code or caret form by which `plain` shows it."""

Align = Literal["left", "right", "center"]

MIN_ENDS = 8
"""Least width at which both ends of a text are shown instead of its beginning."""


def _visible(character: str, *, ascii_only: bool) -> str:
    """One character as one or more printable ones."""
    code = ord(character)
    if code < 0x20:
        return f"^{chr(code + 0x40)}" if ascii_only else chr(0x2400 + code)
    if code == 0x7F:
        return "^?" if ascii_only else "␡"
    if code < 0x7F:
        return character
    if unicodedata.category(character) in _ESCAPED_CATEGORIES:
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    if not ascii_only:
        return character
    return in_ascii(character)


def plain(text: str, *, ascii_only: bool = False) -> str:
    r"""`text` on one line, with everything that could act on a terminal made visible.

    Control characters become their pictures (ESC is `␛`, or `^[` in ASCII), direction overrides and
    other invisible characters their code (`\u202e`). Square brackets stay: this text is never
    parsed as markup.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character, ascii_only=ascii_only) for character in text)


def cells(text: str) -> list[str]:
    """The content of each cell of `text`: a wide character is followed by an empty string.

    Characters without width (combining marks) join the character before them.
    """
    if text.isascii():
        return list(text)
    content: list[str] = []
    for character in text:
        width = get_character_cell_size(character)
        if width == 0:
            if content:
                content[-2 if not content[-1] else -1] += character
            continue
        content.append(character)
        if width == 2:
            content.append("")
    return content


def units(text: str) -> Iterator[tuple[str, int]]:
    r"""What is never cut in the middle, with its width in cells: a character, or one that stands as
    its code (`\u540d`, half of which would be another name)."""
    if "\\" not in text and "^" not in text:
        return ((character, get_character_cell_size(character)) for character in text)
    return ((unit, cell_len(unit)) for unit in _UNITS.findall(text))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words of at most `width` cells; a longer word has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def fit(text: str, width: int, *, align: Align = "left", ellipsis: str = "…") -> str:
    """`text` cut or padded to exactly `width` cells; what was cut is replaced by `ellipsis`.

    Args:
        text: printable text (see `plain`).
        width: cells.
        align: `left`, `right` or `center`.
        ellipsis: one cell wide.
    """
    if width <= 0:
        return ""
    length = cell_len(text)
    if length > width:
        kept, used = [], 0
        for unit, size in units(text):
            if used + size > width - 1:
                break
            kept.append(unit)
            used += size
        text = "".join(kept) + ellipsis
        length = used + 1
    padding = width - length
    if align == "right":
        return " " * padding + text
    if align == "center":
        return " " * (padding // 2) + text + " " * (padding - padding // 2)
    return text + " " * padding


def fit_ends(text: str, width: int, *, ellipsis: str = "…") -> str:
    """Like `fit`, left-aligned, but a text that is too long loses its middle: names that begin
    alike, such as the ids of one cluster's applications, differ at the end."""
    if cell_len(text) <= width or width < MIN_ENDS:
        return fit(text, width, ellipsis=ellipsis)
    ending = (width - 1) // 2
    tail, used = [], 0
    for unit, size in reversed(list(units(text))):
        if used + size > ending:
            break
        tail.append(unit)
        used += size
    # A wide character that has no room leaves a blank, which belongs behind the whole.
    head = fit(text, width - used, ellipsis=ellipsis).rstrip(" ")
    return fit(head + "".join(reversed(tail)), width, ellipsis=ellipsis)


def cut_alike(texts: Iterable[str], width: int) -> frozenset[str]:
    """Those of `texts` that `fit` cuts to the same cells as another, different one."""
    cut: dict[str, list[str]] = {}
    for text in set(texts):
        if cell_len(text) > width:
            cut.setdefault(fit(text, width), []).append(text)
    return frozenset(text for group in cut.values() if len(group) > 1 for text in group)
