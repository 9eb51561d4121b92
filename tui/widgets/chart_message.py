"""What a chart says where it draws no curves; apart from these, as this is all at the start."""

from __future__ import annotations

from rich.cells import cell_len

from tui.widgets.frame import Frame
from tui.widgets.glyphs import Glyphs
from tui.widgets.text import fit, plain


def paint_message(frame: Frame, message: str, glyphs: Glyphs) -> None:
    """The message, made safe to print, wrapped and centred."""
    lines: list[str] = []
    for word in plain(message, ascii_only=glyphs.ascii_only).split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= frame.width - 2:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    top = max(0, (frame.height - len(lines)) // 2)
    for y, line in enumerate(lines[: frame.height]):
        text = fit(line, frame.width, align="center", ellipsis=glyphs.ellipsis)
        frame.put(0, top + y, text, "message")
