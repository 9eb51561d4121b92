"""The message that a chart shows instead of curves; a module of its own, as the first frame needs
no more."""

from __future__ import annotations

from tui.widgets.frame import Frame
from tui.widgets.glyphs import Glyphs
from tui.widgets.text import fit, plain, wrapped


def paint_message(frame: Frame, message: str, glyphs: Glyphs) -> None:
    """The message, made safe to print, wrapped and centred."""
    lines = wrapped(plain(message, ascii_only=glyphs.ascii_only), frame.width - 2)
    top = max(0, (frame.height - len(lines)) // 2)
    for y, line in enumerate(lines[: frame.height]):
        text = fit(line, frame.width, align="center", ellipsis=glyphs.ellipsis)
        frame.put(0, top + y, text, "message")
